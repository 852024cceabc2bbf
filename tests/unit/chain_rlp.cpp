#include <rapidjson/document.h>
#include <rapidjson/istreamwrapper.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "chain/keccak.hpp"
#include "chain/rlp.hpp"
#include "text/hex.hpp"

using namespace rpcroute;
using namespace rpcroute::chain;

namespace {

RlpItem text_item(std::string_view text) {
  return {false, text::Bytes(text.begin(), text.end()), {}};
}
RlpItem list_item(std::vector<RlpItem> items) {
  return {true, {}, std::move(items)};
}

RlpItem item_of(const rapidjson::Value& value) {
  if (value.IsString()) return {false, *text::from_hex({value.GetString(), value.GetStringLength()}), {}};
  RlpItem item{true, {}, {}};
  for (const auto& inner : value.GetArray()) item.items.push_back(item_of(inner));
  return item;
}

void check_both_ways(const RlpItem& item, const std::string& encoded) {
  CHECK(text::to_hex(encode_rlp(item)) == encoded);
  CHECK(decode_rlp(*text::from_hex(encoded)) == item);
}

}  // namespace

TEST_CASE("RLP encodes and decodes what the Yellow Paper's rules give") {
  check_both_ways(text_item(""), "0x80");
  check_both_ways(text_item("a"), "0x61");
  check_both_ways({false, {0x7f}, {}}, "0x7f");
  check_both_ways({false, {0x80}, {}}, "0x8180");
  check_both_ways({false, {0x00}, {}}, "0x00");
  check_both_ways(text_item("dog"), "0x83646f67");
  check_both_ways(list_item({}), "0xc0");
  check_both_ways(list_item({text_item("cat"), text_item("dog")}), "0xc88363617483646f67");
  check_both_ways(list_item({list_item({}), list_item({list_item({})})}), "0xc3c0c1c0");
  std::string sixes;
  for (int i = 0; i < 56; ++i) sixes += "66";
  check_both_ways(text_item(std::string(56, 'f')), "0xb838" + sixes);
  check_both_ways(text_item(std::string(55, 'f')), "0xb7" + sixes.substr(2));
  check_both_ways(list_item({text_item(std::string(56, 'f'))}), "0xf83ab838" + sixes);
}

TEST_CASE("RLP that no encoder writes is refused") {
  for (const char* text : {
           "0x",                        // nothing
           "0x8100",                    // a small byte behind a prefix
           "0x817f",                    // the same
           "0x83646f",                  // ends early
           "0x8080",                    // bytes left over
           "0xb80161",                  // long form for a short string
           "0xb8",                      // its length is missing
           "0xb90038",                  // padded length
           "0xbfffffffffffffffff",      // a length beyond memory
           "0xc18363",                  // a list whose item leaves it
           "0xf80161",                  // long form for a short list
           "0xffffffffffffffffffff61",  // a list beyond memory
       }) {
    CAPTURE(text);
    CHECK_FALSE(decode_rlp(*text::from_hex(text)));
  }
  CHECK_FALSE(decode_rlp(text::Bytes(100000, 0xc1)));
}

TEST_CASE("RLP agrees with the published vectors where they are at hand") {
  std::ifstream file(RPCROUTE_SOURCE_DIR "/../shared/data/rlp_vectors.json");
  if (!file) return;
  rapidjson::IStreamWrapper stream(file);
  rapidjson::Document vectors;
  vectors.ParseStream(stream);
  REQUIRE(vectors.IsArray());
  for (const auto& vector : vectors.GetArray()) {
    CAPTURE(vector["name"].GetString());
    check_both_ways(item_of(vector["decoded"]), vector["encoded"].GetString());
  }
}

TEST_CASE("Keccak-256 is Ethereum's, not the standard's SHA-3") {
  CHECK(text::to_hex(keccak256({})) == "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
}
