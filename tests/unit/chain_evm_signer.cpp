#include <fcntl.h>
#include <rapidjson/document.h>
#include <rapidjson/istreamwrapper.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "text/hex.hpp"

using namespace rpcroute;
using namespace rpcroute::chain;

namespace {

// The first account of the well-known test mnemonic "test test … junk": it guards nothing.
constexpr const char* test_key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

PrivateKey key_of(std::string_view digits) {
  return PrivateKey::read(digits, "the test's key");
}

Eip1559Transaction self_transfer(const PrivateKey& key) {
  Eip1559Transaction transaction;
  transaction.chain_id = 31337;
  transaction.max_priority_fee_per_gas = 1'000'000'000;
  transaction.max_fee_per_gas = 3'000'000'000;
  transaction.gas_limit = transfer_gas;
  transaction.to = key.address();
  return transaction;
}

std::string message_of(const std::string& signer) {
  try {
    load_keys(signer);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

/// A variable that is set while the test runs.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

/// A file that is there while the test runs.
class KeyFile {
 public:
  KeyFile(const std::string& content, mode_t mode) {
    const int descriptor = mkstemp(path_);
    if (write(descriptor, content.data(), content.size()) < 0) abort();
    fchmod(descriptor, mode);
    close(descriptor);
  }
  ~KeyFile() { unlink(path_); }
  KeyFile(const KeyFile&) = delete;
  KeyFile& operator=(const KeyFile&) = delete;
  std::string signer() const { return std::string("file:") + path_; }

 private:
  char path_[32] = "/tmp/rpcroute-key-XXXXXX";
};

}  // namespace

TEST_CASE("a key gives the address that wallets give") {
  CHECK(text::to_hex(key_of(test_key).address()) == "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
  // The key and address of EIP-155's example.
  CHECK(text::to_hex(key_of(std::string(64, '4').replace(0, 64,
                                                         [] {
                                                           std::string text;
                                                           for (int i = 0; i < 32; ++i) text += "46";
                                                           return text;
                                                         }()))
                         .address()) == "0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f");
}

TEST_CASE("the hash of a probe transfer is known before it is sent, and two independent nodes agree with it") {
  const PrivateKey key = key_of(test_key);
  const Eip1559Transaction transaction = self_transfer(key);
  CHECK(text::to_hex(keccak256(signing_payload(transaction))).starts_with("0x619dd97e"));
  CHECK(text::to_hex(keccak256(signing_payload(transaction))).ends_with("3b16"));
  const SignedTransaction sent = sign_probe_transfer(transaction, key);
  CHECK(text::to_hex(sent.hash) == "0x443827cf8433c732c0b30bd86fc4697779e97f3abfbaddf16e4e55f40e74ffe1");
}

TEST_CASE("a signed transaction reads back, and its sender is recovered from the signature") {
  const PrivateKey key = key_of(test_key);
  Eip1559Transaction transaction = self_transfer(key);
  transaction.nonce = 0x0100;
  transaction.data = {0, 1, 2};
  transaction.access_list = {{key.address(), {Hash{1}, Hash{2}}}, {Address{3}, {}}};
  const auto read = read_signed_payload(sign(transaction, key).raw);
  REQUIRE(read);
  CHECK(read->first == transaction);
  CHECK(recover_sender(read->first, read->second) == key.address());
}

TEST_CASE("bytes that are no signed EIP-1559 transaction are refused") {
  const PrivateKey key = key_of(test_key);
  text::Bytes raw = sign(self_transfer(key), key).raw;
  CHECK_FALSE(read_signed_payload({}));
  CHECK_FALSE(read_signed_payload(signing_payload(self_transfer(key))));
  for (std::size_t size = 0; size < raw.size(); ++size)
    CHECK_FALSE(read_signed_payload(text::BytesView(raw).first(size)));
  raw.front() = 1;
  CHECK_FALSE(read_signed_payload(raw));
}

TEST_CASE("nothing but a transfer of nothing to oneself can be signed as a probe") {
  const PrivateKey key = key_of(test_key);
  CHECK_NOTHROW(sign_probe_transfer(self_transfer(key), key));
  auto refused = [&](auto change) {
    Eip1559Transaction transaction = self_transfer(key);
    change(transaction);
    CHECK_THROWS_AS(sign_probe_transfer(transaction, key), std::logic_error);
  };
  refused([](Eip1559Transaction& t) { t.value = 1; });
  refused([](Eip1559Transaction& t) { t.to = Address{1}; });
  refused([](Eip1559Transaction& t) { t.to.reset(); });
  refused([](Eip1559Transaction& t) { t.data = {0}; });
  refused([](Eip1559Transaction& t) { t.gas_limit = 21001; });
  refused([](Eip1559Transaction& t) { t.access_list.emplace_back(); });
}

TEST_CASE("signatures are those of RFC 6979 with a low s, short r and s included") {
  const PrivateKey key = key_of(test_key);
  Eip1559Transaction transaction = self_transfer(key);
  bool short_integer_seen = false;
  for (std::uint64_t nonce = 0; nonce < 600; ++nonce) {
    transaction.nonce = nonce;
    const SignedTransaction first = sign(transaction, key);
    CHECK(first.raw == sign(transaction, key).raw);
    const auto read = read_signed_payload(first.raw);
    REQUIRE(read);
    CHECK(recover_sender(read->first, read->second) == key.address());
    CHECK(read->second.s.bytes[0] < 0x80);
    short_integer_seen = short_integer_seen || read->second.r.bytes[0] == 0 || read->second.s.bytes[0] == 0;
  }
  CHECK(short_integer_seen);
}

TEST_CASE("signing agrees byte for byte with the published EIP-1559 vectors where they are at hand") {
  std::ifstream file(RPCROUTE_SOURCE_DIR "/../shared/data/eip1559_vectors.json");
  if (!file) return;
  rapidjson::IStreamWrapper stream(file);
  rapidjson::Document vectors;
  vectors.ParseStream(stream);
  REQUIRE(vectors.IsArray());
  for (const auto& vector : vectors.GetArray()) {
    CAPTURE(vector["name"].GetString());
    const auto& fields = vector["transaction"];
    auto has = [&](const char* name) { return fields.HasMember(name) && !fields[name].IsNull(); };
    auto number = [&](const char* name) { return has(name) ? *read_quantity256(fields[name].GetString()) : Uint256(); };
    Eip1559Transaction transaction;
    transaction.chain_id = number("chainId").saturated();
    if (has("nonce")) transaction.nonce = fields["nonce"].GetUint64();
    transaction.max_fee_per_gas = number("maxFeePerGas");
    transaction.max_priority_fee_per_gas = number("maxPriorityFeePerGas");
    transaction.gas_limit = number("gasLimit").saturated();
    if (has("to")) transaction.to = read_address(fields["to"].GetString());
    transaction.value = number("value");
    if (has("data")) transaction.data = *text::from_hex(fields["data"].GetString());
    if (has("accessList")) {
      for (const auto& entry : fields["accessList"].GetArray()) {
        AccessListEntry read{*read_address(entry["address"].GetString()), {}};
        for (const auto& k : entry["storageKeys"].GetArray()) read.storage_keys.push_back(*read_hash(k.GetString()));
        transaction.access_list.push_back(read);
      }
    }
    const PrivateKey key = key_of(vector["privateKey"].GetString());
    CHECK(text::to_hex(signing_payload(transaction)) == vector["unsignedLondon"].GetString());
    const SignedTransaction sent = sign(transaction, key);
    CHECK(text::to_hex(sent.raw) == vector["signedLondon"].GetString());
    const auto read = read_signed_payload(sent.raw);
    REQUIRE(read);
    CHECK(read->first == transaction);
    CHECK(recover_sender(read->first, read->second) == key.address());
  }
}

TEST_CASE("keys come from the named variables, with or without 0x, and one named twice counts once") {
  const Variable first("RPCROUTE_KEY", test_key);
  const Variable second("RPCROUTE_KEY_2", "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");
  const auto keys = load_keys("env:RPCROUTE_KEY, RPCROUTE_KEY_2,RPCROUTE_KEY");
  REQUIRE(keys.size() == 2);
  CHECK(text::to_hex(keys[1].address()) == "0x70997970c51812dc3a010c7d01b50e0d17dc79c8");
}

TEST_CASE("a bad key is named by its source, never by its content") {
  const std::string secret = "deadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbeefdeadbee";
  const std::string zero(64, '0');
  const std::string order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
  for (const std::string& content : {secret, secret + "z", secret + "00", zero, order}) {
    const Variable variable("RPCROUTE_KEY", content.c_str());
    const std::string message = message_of("env:RPCROUTE_KEY");
    CHECK(message.find("RPCROUTE_KEY") != std::string::npos);
    CHECK(message.find(content.substr(0, 8)) == std::string::npos);
  }
  CHECK(message_of("env:RPCROUTE_KEY").find("not set") != std::string::npos);
}

TEST_CASE("only variables of the signer are read, and an unknown kind of signer is an error") {
  const Variable key("RPCROUTE_KEY", test_key);
  const Variable other("RPCROUTE_INFURA", test_key);
  for (const char* signer : {"env:RPCROUTE_INFURA", "env:HOME", "env:", "env:RPCROUTE_KEY,RPCROUTE_INFURA",
                             "env:rpcroute_key", "env:RPCROUTE_KEY,"}) {
    CAPTURE(signer);
    CHECK(message_of(signer).starts_with("signer: variables are named"));
  }
  for (const char* signer : {"", "key:1", "RPCROUTE_KEY", test_key}) {
    CAPTURE(signer);
    CHECK(message_of(signer) == "signer: 'env:RPCROUTE_KEY', 'file:/path' or 'node' is expected");
  }
}

TEST_CASE("a key file holds one key a line and only its owner may read it") {
  const std::string content =
      std::string(test_key) + "\r\n\n  59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
  CHECK(load_keys(KeyFile(content, 0600).signer()).size() == 2);
  CHECK(load_keys(KeyFile(content, 0400).signer()).size() == 2);
  for (const mode_t mode : {0640, 0604, 0620, 0601}) {
    CHECK(message_of(KeyFile(content, mode).signer()).find("by others") != std::string::npos);
  }
  CHECK(message_of(KeyFile("", 0600).signer()).find("empty") != std::string::npos);
  CHECK(message_of(KeyFile("\n", 0600).signer()).find("no key") != std::string::npos);
  CHECK(message_of(KeyFile(std::string(test_key) + "\n0xdead\n", 0600).signer()).find("line 2") != std::string::npos);
  CHECK(message_of("file:/tmp").find("not a regular file") != std::string::npos);
  CHECK(message_of("file:/nowhere/at/all").find("cannot be opened") != std::string::npos);
}

TEST_CASE("moving secret bytes moves them, and assignment gives the old ones back") {
  SecretBytes one(3);
  one.data()[0] = 7;
  SecretBytes two(5);
  two = std::move(one);
  CHECK(two.size() == 3);
  CHECK(two.data()[0] == 7);
}
