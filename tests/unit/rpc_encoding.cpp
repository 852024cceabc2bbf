#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>

#include "rpc/client.hpp"
#include "rpc/decoder.hpp"
#include "rpc_asking.hpp"

using namespace rpcroute::rpc;
using namespace rpcroute::tests;

namespace {

constexpr int gzip_format = 31;
constexpr int zlib_format = 15;
constexpr int raw_format = -15;

std::string compressed(std::string_view text, int format = gzip_format, int level = Z_DEFAULT_COMPRESSION) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, format, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// Bytes that no coding makes smaller.
std::string noise(std::size_t size) {
  std::string bytes;
  std::uint32_t state = 1;
  while (bytes.size() < size) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>('!' + (state >> 24) % 90);
  }
  return bytes;
}

/// A server whose answer is `change`d and called `coding`.
Server::Behaviour encodes(std::string coding, std::function<std::string(const std::string&)> change,
                          std::string status = "200 OK") {
  return [=](Peer& peer, const Request& request) {
    const std::string body = R"({"jsonrpc":"2.0","id":)" + request.id() + R"(,"result":"0x10"})";
    return peer.respond(change(body), status, "Content-Encoding: " + coding + "\r\n");
  };
}

std::string outcome(const Answer& answer) {
  return answer.failure ? error_class(answer) + ": " + answer.failure->message : answer.result;
}

std::string decode(std::string_view coding, std::string_view bytes, std::size_t step) {
  Decoder decoder(1 << 20);
  decoder.add_codings(coding);
  std::string body;
  for (std::size_t at = 0; at < bytes.size(); at += step) CHECK(decoder.decode(bytes.substr(at, step), body));
  return decoder.is_intact() ? body : body + " (broken)";
}

}  // namespace

TEST_CASE("A compressed answer is read however whole it came") {
  struct Form {
    const char* name;
    const char* coding;
    std::string (*change)(const std::string&);
  };
  const auto form = GENERATE(values<Form>({
      {"plain", "identity", [](const std::string& body) { return body; }},
      {"gzip", "gzip", [](const std::string& body) { return compressed(body); }},
      {"gzip in capitals", "GZIP", [](const std::string& body) { return compressed(body); }},
      {"x-gzip", "x-gzip", [](const std::string& body) { return compressed(body); }},
      {"an empty second member", "gzip", [](const std::string& body) { return compressed(body) + compressed(""); }},
      {"an empty first member", "gzip", [](const std::string& body) { return compressed("") + compressed(body); }},
      {"two halves", "gzip",
       [](const std::string& body) { return compressed(body.substr(0, 9)) + compressed(body.substr(9)); }},
      {"trailing zeros", "gzip", [](const std::string& body) { return compressed(body) + std::string(5, '\0'); }},
      {"trailing line break", "gzip", [](const std::string& body) { return compressed(body) + "\r\n"; }},
      {"half a second header", "gzip", [](const std::string& body) { return compressed(body) + "\x1f"; }},
      {"no trailer", "gzip",
       [](const std::string& body) { return compressed(body).substr(0, compressed(body).size() - 8); }},
      {"zlib", "deflate", [](const std::string& body) { return compressed(body, zlib_format); }},
      {"raw deflate", "deflate", [](const std::string& body) { return compressed(body, raw_format); }},
      {"zlib by gzip's name", "gzip", [](const std::string& body) { return compressed(body, zlib_format); }},
      {"gzip by deflate's name", "deflate", [](const std::string& body) { return compressed(body) + compressed(""); }},
      {"zlib and more", "deflate", [](const std::string& body) { return compressed(body, zlib_format) + "more"; }},
      {"raw deflate and more", "deflate",
       [](const std::string& body) { return compressed(body, raw_format) + "more"; }},
      {"twice", "deflate, gzip", [](const std::string& body) { return compressed(compressed(body, zlib_format)); }},
  }));
  INFO(form.name);
  const Answer answer = ask(encodes(form.coding, form.change));
  CHECK(outcome(answer) == "\"0x10\"");
  CHECK(answer.latency_ms);
  CHECK(answer.response_bytes == 40);
}

TEST_CASE("An answer that cannot be decoded is malformed, or what its status says, and never a broken connection") {
  const std::string words = "malformed: the answer is not encoded as it says";
  CHECK(outcome(ask(encodes("gzip", [](const std::string& body) { return body; }))) == words);
  CHECK(outcome(ask(encodes("gzip", [](const std::string& body) { return compressed(body, raw_format); }))) == words);
  CHECK(outcome(ask(encodes("br", [](const std::string& body) { return body; }))) == words);
  CHECK(outcome(ask(encodes("gzip, br", [](const std::string& body) { return compressed(body); }))) == words);
  CHECK(outcome(ask(encodes("deflate", [](const std::string& body) { return "\xff\xff" + body; }))) == words);
  CHECK(outcome(ask(encodes("gzip", [](const std::string& body) { return compressed(body).substr(0, 20); }))) == words);
  const Answer limited = ask(encodes(
      "gzip", [](const std::string& body) { return body; }, "429 Too Many Requests"));
  CHECK(error_class(limited) == "rate_limited");
  CHECK(error_class(ask(encodes(
            "gzip", [](const std::string&) { return ""; }, "429 Too Many Requests"))) == "rate_limited");
  CHECK(error_class(ask(encodes(
            "gzip", [](const std::string&) { return compressed("rate limit exceeded") + "\n"; }))) == "rate_limited");
}

TEST_CASE("A transfer coding with more behind it is no broken connection either") {
  const Answer answer = ask([](Peer& peer, const Request& request) {
    const std::string body = compressed(R"({"id":)" + request.id() + R"(,"result":1})") + compressed("");
    return peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + body) && false;
  });
  CHECK(error_class(answer) == "malformed");
}

TEST_CASE("What a connection brings after an answer that could not be decoded is still the next answer's") {
  const Server server(encodes("gzip", [](const std::string& body) { return body; }));
  RpcClient client;
  CHECK(error_class(ask(client, call(server.url()))) == "malformed");
  CHECK(error_class(ask(client, call(server.url()))) == "malformed");
  CHECK(server.connections() == 1);
}

TEST_CASE("The codings of an interim header are not the answer's") {
  const Answer answer = ask([](Peer& peer, const Request& request) {
    return peer.send("HTTP/1.1 103 Early Hints\r\nContent-Encoding: gzip\r\n\r\n") && peer.result(request, "1");
  });
  CHECK(outcome(answer) == "1");
}

TEST_CASE("Compressed bytes may arrive one by one") {
  const std::string text = noise(300);
  for (const std::size_t step : {1, 2, 3, 1000}) {
    CHECK(decode("gzip", compressed(text) + compressed("end"), step) == text + "end");
    CHECK(decode("gzip", compressed(text) + "end", step) == text);
    CHECK(decode("deflate", compressed(text, raw_format), step) == text);
    CHECK(decode("deflate", compressed(text, zlib_format), step) == text);
    CHECK(decode("gzip", compressed(text).substr(0, 100), step).ends_with(" (broken)"));
  }
  std::string wrong = compressed(text);
  wrong[wrong.size() - 5] ^= 1;  // of the checksum
  CHECK(decode("gzip", wrong, 1000) == text + " (broken)");
}

TEST_CASE("The bound holds for what comes out, for what goes in, and for every coding between") {
  const std::size_t most = 100'000;
  const auto fits = [&](std::string_view codings, std::string_view bytes) {
    Decoder decoder(most);
    decoder.add_codings(codings);
    std::string body;
    const bool all = decoder.decode(bytes, body);
    CHECK(body.size() <= most);
    return all;
  };
  const std::string exact = noise(most);
  CHECK(fits("gzip", compressed(exact, gzip_format, Z_NO_COMPRESSION)));
  CHECK_FALSE(fits("gzip", compressed(exact + " ", gzip_format, Z_NO_COMPRESSION)));
  CHECK_FALSE(fits("gzip", compressed(std::string(most + 1, ' '))));
  CHECK_FALSE(fits("gzip, gzip", compressed(compressed(std::string(10'000'000, ' '), gzip_format, Z_NO_COMPRESSION))));
  CHECK_FALSE(fits("br", noise(2 * most)));
  CHECK_FALSE(fits("gzip", compressed("{}") + noise(2 * most)));
  std::string members;
  while (members.size() < 2 * most) members += compressed("");
  CHECK_FALSE(fits("gzip", members));
}
