#include <catch2/catch.hpp>
#include <cstdint>

#include "rpc/provider.hpp"
#include "schema.hpp"

using namespace rpcroute;
using namespace rpcroute::rpc;
using rpcroute::tests::columns_of;

namespace {

Provider only(const std::string& entry) {
  const auto providers = parse_providers("[" + entry + "]");
  REQUIRE(providers.size() == 1);
  return providers.front();
}

}  // namespace

TEST_CASE("An entry that holds only an id and a URL is an EVM provider that may be a mainnet one") {
  const Provider provider = only(R"({"provider_id":"a","url":"http://127.0.0.1:8545"})");
  CHECK(provider.provider_id == "a");
  CHECK(provider.url == "http://127.0.0.1:8545");
  CHECK(provider.kind == chain::ChainKind::evm);
  CHECK(provider.is_mainnet);
  CHECK(provider.operator_name == "a");
  CHECK_FALSE(provider.chain_id);
  CHECK(provider.config_error.empty());
}

TEST_CASE("Every column of an entry is read, and those of rpc_providers that polling needs not are passed over") {
  const Provider provider = only(R"({"provider_id":"a","chain":"c","kind":"solana","chain_id":7,"is_mainnet":0,
      "url":"u","ws_url":"w","operator":"o","headers":{"X-A":"${RPCROUTE_B}"},"enabled":1,"notes":null})");
  CHECK(provider.chain == "c");
  CHECK(provider.kind == chain::ChainKind::solana);
  CHECK(provider.chain_id == std::uint64_t{7});
  CHECK_FALSE(provider.is_mainnet);
  CHECK(provider.ws_url == "w");
  CHECK(provider.operator_name == "o");
  CHECK(provider.headers == R"({"X-A":"${RPCROUTE_B}"})");
}

TEST_CASE("Headers come as an object or as the text of one, and null columns are absent ones") {
  CHECK(only(R"({"provider_id":"a","headers":"{\"A\":\"b\"}","url":null})").headers == R"({"A":"b"})");
  CHECK(only(R"({"provider_id":"a","chain":null,"chain_id":null})").config_error.empty());
}

TEST_CASE("Chain 1 is a mainnet whatever its entry says") {
  CHECK(only(R"({"provider_id":"a","chain_id":1,"is_mainnet":0})").is_mainnet);
  CHECK(only(R"({"provider_id":"a","chain_id":"0x1","is_mainnet":false})").is_mainnet);
}

TEST_CASE("What is wrong with one entry is that entry's error") {
  const auto [entry, error] = GENERATE(table<const char*, const char*>({
      {R"({"provider_id":"a","kind":"bitcoin"})", "kind must be 'evm' or 'solana', got 'bitcoin'"},
      {R"({"provider_id":"a","url":5})", "url must be a text"},
      {R"({"provider_id":"a","chain_id":-1})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":1.5})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":-1.0})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":1e300})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":9007199254740993.0})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":18446744073709551616})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":""})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":"0x"})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":"0x1g"})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":"-1"})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","chain_id":true})", "chain_id must be an unsigned integer"},
      {R"({"provider_id":"a","is_mainnet":"yes"})", "is_mainnet must be 0 or 1"},
      {R"({"provider_id":"a","is_mainnet":2.0})", "is_mainnet must be 0 or 1"},
      {R"({"provider_id":"a","enabled":0.5})", "enabled must be 0 or 1"},
      {R"({"provider_id":"a","headers":[]})", "headers must be a JSON object"},
      {R"({"provider_id":"a","headers":{"A":1}})", "every value in headers must be a text"},
  }));
  CHECK(only(entry).config_error == error);
}

TEST_CASE("Integers come in every form that a host's language gives them") {
  const std::string form =
      GENERATE("31337", "31337.0", "3.1337e4", R"("31337")", R"("31337.0")", R"(" 31337 ")", R"("0x7a69")");
  CHECK(only(R"({"provider_id":"a","chain_id":)" + form + "}").chain_id == std::uint64_t{31337});
  const std::string zero = GENERATE("0", "0.0", "-0.0", "false", R"("0")", R"("0.0")");
  CHECK_FALSE(only(R"({"provider_id":"a","is_mainnet":)" + zero + "}").is_mainnet);
  CHECK(only(R"({"provider_id":"a","chain_id":"18446744073709551615"})").chain_id == UINT64_MAX);
  CHECK(only(R"({"provider_id":"a","chain_id":9007199254740991.0})").chain_id == std::uint64_t{9007199254740991});
}

TEST_CASE("Nobody asks an entry that is not enabled, as in the table") {
  const auto providers = parse_providers(
      R"([{"provider_id":"a","enabled":0},{"provider_id":"b","enabled":1},{"provider_id":"b","enabled":false}])");
  REQUIRE(providers.size() == 1);
  CHECK(providers.front().provider_id == "b");
  CHECK(providers.front().config_error.empty());
}

TEST_CASE("A second entry of the same id is that entry's error") {
  const auto providers = parse_providers(R"([{"provider_id":"a"},{"provider_id":"a"}])");
  CHECK(providers[0].config_error.empty());
  CHECK(providers[1].config_error == "provider_id appears more than once in providers");
}

TEST_CASE("A providers argument that is no array of objects with ids is refused as a whole") {
  const std::string json =
      GENERATE("", "{}", "[", "[1]", "[{}]", R"([{"provider_id":""}])", R"([{"provider_id":7}])",
               R"([{"provider_id":"a\u0000b"}])", std::string("[]\0x", 4), std::string(1'000'000, '['));
  CHECK_THROWS_AS(parse_providers(json), std::invalid_argument);
}

TEST_CASE("The refusal names the entry") {
  CHECK_THROWS_WITH(parse_providers(R"([{"provider_id":"a"},{"url":"u"}])"), "entry 2 of providers has no provider_id");
}

TEST_CASE("A key that is no column is refused, with the columns it may have meant before the others") {
  const auto [key, nearest] = GENERATE(table<const char*, const char*>({
      {"urll", "url, ws_url, "},
      {"URL", "url, ws_url, "},
      {"wsurl", "ws_url, url, "},
      {"chainId", "chain_id, chain, "},
      {"header", "headers, "},
      {"", "url, "},
  }));
  const std::string entry =
      R"([{"provider_id":"a","enabled":0},{"provider_id":"b",")" + std::string(key) + R"(":null}])";
  CHECK_THROWS_WITH(parse_providers(entry), Catch::StartsWith("entry 2 of providers has unknown key '" +
                                                              std::string(key) + "'; known are " + nearest));
  CHECK_THROWS_WITH(parse_providers(R"([{"provider_id":"a","url":"http://a","url":"http://b"}])"),
                    "entry 1 of providers has key 'url' twice");
}

TEST_CASE("Every column of rpc_providers is a key") {
  for (const std::string& column : columns_of("rpc_providers")) {
    INFO(column);
    const std::string value = column == "provider_id" ? R"("a")" : "null";
    const std::string id = column == "provider_id" ? "" : R"(,"provider_id":"a")";
    CHECK_NOTHROW(parse_providers("[{\"" + column + "\":" + value + id + "}]"));
  }
}
