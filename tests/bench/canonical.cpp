// What the canonical form of an answer costs, in time and memory, beside parsing it with rapidjson::Document and
// writing it again, which neither sorts nor compares anything.
//
//   build/tests/rpcroute-bench-canonical [MiB]
//
// Each shape is an answer of 8 MiB (or as many as are said). The goals: 100 MB/s, and at most 6 bytes of memory for
// each byte of the answer, the canonical form included.
#include "rpc/canonical.hpp"

#include <malloc.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace {

using rpcroute::rpc::canonical;
using rpcroute::rpc::canonical_diff;
using rpcroute::rpc::canonical_digest;
using Work = std::function<void(const std::string&)>;

constexpr int rounds = 5;

struct Shape {
  const char* name;
  std::function<std::string(std::size_t)> text;
};

/// `open`, as many of what `unit` gives as fit, `close`.
std::string filled(std::size_t size, const std::string& open, const std::string& close,
                   const std::function<std::string(std::size_t)>& unit) {
  std::string text = open;
  text.reserve(size + (std::size_t{2} << 20));
  for (std::size_t i = 0; text.size() < size; ++i) text += (i == 0 ? "" : ",") + unit(i);
  return text + close;
}

std::string hex(std::size_t number, std::size_t digits) {
  constexpr std::string_view alphabet = "0123456789abcdef";
  std::string text = "\"0x";
  for (std::uint64_t state = number + 1; digits > 0; --digits) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += alphabet[state >> 60];
  }
  return text + '"';
}

std::string receipt(std::size_t i) {
  return R"({"transactionHash":)" + hex(i, 64) + R"(,"transactionIndex":"0x1","blockHash":)" + hex(i, 64) +
         R"(,"blockNumber":"0x12a3f","from":)" + hex(i, 40) + R"(,"to":)" + hex(i + 1, 40) +
         R"(,"cumulativeGasUsed":"0x5208","gasUsed":"0x5208","contractAddress":null,"logs":[{"address":)" + hex(i, 40) +
         R"(,"topics":[)" + hex(i, 64) + "," + hex(i + 1, 64) + R"(],"data":)" + hex(i, 128) +
         R"(,"blockNumber":"0x12a3f","logIndex":"0x0","removed":false}],"logsBloom":)" + hex(i, 512) +
         R"(,"status":"0x1","effectiveGasPrice":"0x3b9aca00","type":"0x2"})";
}

std::string nested(std::size_t size) {
  constexpr std::size_t depth = 500;
  std::string open;
  for (std::size_t i = 0; i < depth; ++i) open += R"({"a":)";
  return filled(size, open + "[", "]" + std::string(depth, '}'), [](std::size_t i) { return hex(i, 40); });
}

const Shape shapes[] = {
    {"receipts", [](std::size_t size) { return filled(size, "[", "]", receipt); }},
    {"nested 500 deep", nested},
    {"nested, shallow many",
     [](std::size_t size) {
       return filled(size, "[", "]", [](std::size_t) { return R"({"a":[[[{"b":[{}]}]]],"c":[[]]})"; });
     }},
    {"small members",
     [](std::size_t size) {
       return filled(size, "[", "]", [](std::size_t) { return R"({"d":"1","c":22,"b":"x","a":null})"; });
     }},
    {"one wide object",
     [](std::size_t size) {
       return filled(size, "{", "}",
                     [](std::size_t i) { return '"' + std::to_string(i * 2654435761U % 100'000'007) + "\":1"; });
     }},
    {"long common prefixes",
     [](std::size_t size) {
       return filled(size, "{", "}", [](std::size_t i) {
         return R"("the_same_beginning_)" + std::to_string(i * 7919 % 1'000'003) + "\":1";
       });
     }},
    {"duplicate names",
     [](std::size_t size) { return filled(size, "{", "}", [](std::size_t) { return R"("name":1)"; }); }},
    {"one long text", [](std::size_t size) { return '"' + std::string(size, 'x') + '"'; }},
    {"one long hex text", [](std::size_t size) { return hex(1, size); }},
    {"escaped texts",
     [](std::size_t size) {
       return filled(size, "[", "]", [](std::size_t) { return R"("\u00e9\n\ud83d\ude00 and plain")"; });
     }},
    {"far numbers",
     [](std::size_t size) {
       return filled(size, "[", "]", [](std::size_t i) { return i % 2 ? "1e-999999999" : "12.50e+300"; });
     }},
    {"long numbers",
     [](std::size_t size) { return filled(size, "[", "]", [](std::size_t) { return std::string(1'000'000, '7'); }); }},
    {"decimal quantities",
     [](std::size_t size) {
       return filled(size, R"({"value":[)", "]}",
                     [](std::size_t) { return "340282366920938463463374607431768211456"; });
     }},
    {"zeros", [](std::size_t size) { return filled(size, "[", "]", [](std::size_t) { return "0"; }); }},
};

void parse_and_write(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  if (!document.HasParseError()) document.Accept(writer);
}

/// Of this process, whatever else the machine does.
double seconds_of_work() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double megabytes_per_second(const Work& work, const std::string& text) {
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const double begin = seconds_of_work();
    work(text);
    best = std::min(best, seconds_of_work() - begin);
  }
  return static_cast<double>(text.size()) / best / 1e6;
}

/// KiB resident at most in a process of its own, which also makes the text.
long peak_of(const Work& work, const Shape& shape, std::size_t size) {
  const pid_t child = fork();
  if (child == 0) {
    work(shape.text(size));
    _exit(0);
  }
  rusage usage{};
  int status = 0;
  wait4(child, &status, 0, &usage);
  return usage.ru_maxrss;
}

double memory_ratio(const Work& work, const Shape& shape, std::size_t size) {
  const auto make_room = [](const std::string& text) { malloc_trim(text.size()); };
  const long without = peak_of(make_room, shape, size);
  const auto trimmed = [&](const std::string& text) {
    make_room(text);
    work(text);
  };
  return static_cast<double>(peak_of(trimmed, shape, size) - without) * 1024 / static_cast<double>(size);
}

std::string rounded(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 8) << 20;
  const Work works[] = {[](const std::string& json) { canonical(json, ""); },
                        [](const std::string& json) { canonical_digest(json, ""); },
                        [](const std::string& json) { canonical_diff(json, json, ""); }, parse_and_write};
  std::printf(
      "| shape | MB/s: canonical | digest | diff with itself | parse, write | bytes a byte: canonical | digest "
      "| diff | parse, write |\n|---|---|---|---|---|---|---|---|---|\n");
  std::string lines[std::size(shapes)];
  for (std::size_t i = 0; i < std::size(shapes); ++i) {  // before this process has grown
    for (const Work& work : works) lines[i] += " | " + rounded(memory_ratio(work, shapes[i], size), 1);
  }
  for (std::size_t i = 0; i < std::size(shapes); ++i) {
    const std::string text = shapes[i].text(size);
    std::string speeds;
    for (const Work& work : works) speeds += " | " + rounded(megabytes_per_second(work, text), 0);
    std::printf("| %s%s%s |\n", shapes[i].name, speeds.c_str(), lines[i].c_str());
    std::fflush(stdout);
  }
}
