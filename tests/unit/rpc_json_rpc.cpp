#include <catch2/catch.hpp>
#include <stdexcept>

#include "rpc/json_rpc.hpp"

using namespace rpcroute::rpc;

namespace {

std::string result(std::string_view body) {
  const auto decoded = decode_response(body, 7);
  const auto* found = std::get_if<RpcResult>(&decoded);
  return found == nullptr ? "(none)" : std::string(found->json);
}

std::string problem(std::string_view body) {
  const auto decoded = decode_response(body, 7);
  const auto* found = std::get_if<NotJsonRpc>(&decoded);
  return found == nullptr ? "(none)" : found->problem;
}

RpcError error(std::string_view body) {
  const auto decoded = decode_response(body, 7);
  REQUIRE(std::holds_alternative<RpcError>(decoded));
  return std::get<RpcError>(decoded);
}

}  // namespace

TEST_CASE("A request carries its id, method and params as given") {
  CHECK(encode_request(7, "eth_getBalance", R"( ["0x0", "latest"] )") ==
        R"({"jsonrpc":"2.0","id":7,"method":"eth_getBalance","params":["0x0", "latest"]})");
  CHECK(encode_request(1, "a\"b", "{}") == R"({"jsonrpc":"2.0","id":1,"method":"a\"b","params":{}})");
}

TEST_CASE("A result is handed on as it was written, however large its numbers") {
  CHECK(result(R"({"jsonrpc":"2.0","id":7,"result":"0x1"})") == R"("0x1")");
  CHECK(result(R"( {"result" : 18446744073709551617 , "id":7} )") == "18446744073709551617");
  CHECK(result(R"({"id":7,"result":{"a":[1,"]}",{"b":"\"}"}], "c": 1e999}})") ==
        R"({"a":[1,"]}",{"b":"\"}"}], "c": 1e999})");
  CHECK(result(R"({"id":7,"result":null})") == "null");
  CHECK(result(R"({"id":7,"result":[],"error":null})") == "[]");
  CHECK(result("{\"id\":7,\"result\":" + std::string(1000, '9') + "}") == std::string(1000, '9'));
}

TEST_CASE("An id is ours as a number or as its text, and no other's") {
  CHECK(result(R"({"id":"7","result":1})") == "1");
  CHECK(result(R"({"id":7.0,"result":1})") == "1");
  CHECK(problem(R"({"id":8,"result":1})") == "the answer has another id");
  CHECK(problem(R"({"id":"07x","result":1})") == "the answer has another id");
  CHECK(problem(R"({"id":null,"result":1})") == "the answer has no id");
  CHECK(problem(R"({"result":1})") == "the answer has no id");
  CHECK(problem(R"({"id":8,"error":{"code":1,"message":"m"}})") == "the answer has another id");
}

TEST_CASE("An error may come without an id, beside a null result, and in odd shapes") {
  CHECK(error(R"({"id":null,"error":{"code":-32700,"message":"Parse error"}})").code == -32700);
  CHECK(error(R"({"id":7,"result":null,"error":{"code":1,"message":"m"}})").message == "m");
  CHECK(error(R"({"id":7,"error":"just words"})").message == "just words");
  CHECK(error(R"({"id":7,"error":{"code":"-32005","message":{"a":1}}})").code == -32005);
  CHECK_FALSE(error(R"({"id":7,"error":{"code":1.5}})").code);
  CHECK(error(R"({"id":7,"error":{}})").message.empty());
}

TEST_CASE("The words of an error are searched wherever they stand") {
  const RpcError nested = error(
      R"({"id":7,"error":{"code":-32000,"message":"Outer","data":{"a":["Over RATE Limit"],"rate":{"backoff_seconds":30}}}})");
  CHECK(nested.text.find("Outer") != std::string::npos);
  CHECK(nested.text.find("Over RATE Limit") != std::string::npos);
  CHECK(nested.backoff_seconds == 30.0);
  CHECK(nested.data == R"({"a":["Over RATE Limit"],"rate":{"backoff_seconds":30}})");
}

TEST_CASE("What is no JSON-RPC answer is told so") {
  CHECK(problem("") == "the answer is not JSON: it is empty");
  CHECK(problem("[]") == "the answer is not a JSON-RPC object");
  CHECK(problem(R"({"id":7})") == "the answer has neither result nor error");
  CHECK(problem(R"({"id":7,"result":1,"error":{"code":1}})") == "the answer has both result and error");
  CHECK(problem("{\"id\":7,\"result\":\"\xFF\"}").find("not JSON") != std::string::npos);
  CHECK(problem(std::string("{\"id\":7,\"result\":1}\0x", 21)).find("NUL") != std::string::npos);
  CHECK(problem(R"({"id":7,"result":[1e999,01]})").find("not JSON") != std::string::npos);
  CHECK(problem(R"({"id":7,"result":[1e999,1.]})").find("not JSON") != std::string::npos);
  CHECK(problem(R"({"id":7,"result":1} trailing)").find("not JSON") != std::string::npos);
  CHECK(problem("{\"id\":7,\"result\":" + std::string(1'000'000, '[') + "}").find("nested too deeply") !=
        std::string::npos);
}
