#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "align/head.hpp"

using rpcroute::align::ChainHead;

namespace {

struct Report {
  std::int64_t height;
  ChainHead::Witness witness;
};

std::optional<std::int64_t> head_of(const std::vector<Report>& reports, std::optional<std::int64_t> max_ahead) {
  ChainHead head(max_ahead);
  for (const Report& report : reports) head.add(report.height, report.witness);
  return head.head();
}

/// The definition, pair by pair.
std::optional<std::int64_t> look(const std::vector<Report>& reports, std::int64_t max_ahead) {
  std::optional<std::int64_t> highest;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    for (std::size_t j = 0; j < reports.size(); ++j) {
      const bool another =
          i != j && (reports[i].witness == ChainHead::kAnonymous || reports[i].witness != reports[j].witness);
      const std::int64_t apart = reports[i].height - reports[j].height;
      if (another && apart <= max_ahead && -apart <= max_ahead && (!highest || reports[i].height > *highest)) {
        highest = reports[i].height;
      }
    }
  }
  return highest;
}

constexpr auto kNobody = ChainHead::kAnonymous;

}  // namespace

TEST_CASE("without max_ahead the head is the highest height") {
  CHECK(head_of({{5, kNobody}, {9000000, kNobody}, {7, kNobody}}, std::nullopt) == 9000000);
  CHECK_FALSE(head_of({}, std::nullopt));
}

TEST_CASE("a provider on another chain does not make the honest ones look behind") {
  CHECK(head_of({{1003, 0}, {1001, 1}, {90000000, 2}}, 64) == 1003);
  CHECK(head_of({{1003, 0}, {1001, 1}, {3, 2}}, 64) == 1003);
}

TEST_CASE("three samples of one liar do not confirm each other") {
  const std::vector<Report> reports{{1003, 0}, {1001, 1}, {90000000, 2}, {90000001, 2}, {90000001, 2}};
  CHECK(head_of(reports, 64) == 1003);
  std::vector<Report> anonymous = reports;
  for (Report& report : anonymous) report.witness = kNobody;
  CHECK(head_of(anonymous, 64) == 90000001);
}

TEST_CASE("nobody near means no head") {
  CHECK_FALSE(head_of({{1003, 0}}, 64));
  CHECK_FALSE(head_of({{1003, 0}, {1003, 0}}, 64));
  CHECK_FALSE(head_of({{1003, 0}, {90000000, 1}}, 64));
  CHECK_FALSE(head_of({{1003, 0}, {1068, 1}}, 64));
  CHECK(head_of({{1003, 0}, {1067, 1}}, 64) == 1067);
  CHECK(head_of({{1003, 0}, {1003, 1}}, 0) == 1003);
  CHECK_FALSE(head_of({{0, 0}, {std::numeric_limits<std::int64_t>::max(), 1}}, 64));
}

TEST_CASE("a run of one witness is believed as far as max_ahead above the next witness") {
  CHECK(head_of({{100, 0}, {101, 1}, {103, 1}, {106, 1}}, 3) == 103);
  CHECK(head_of({{100, 0}, {std::numeric_limits<std::int64_t>::max(), 1}}, std::numeric_limits<std::int64_t>::max()) ==
        std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a sliding window of reports always has the head of what is in it") {
  std::mt19937 random(7);
  const auto pick = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  for (int round = 0; round < 200; ++round) {
    const std::int64_t max_ahead = pick(4);
    const bool witnessed = round % 2 == 0;
    ChainHead head(max_ahead);
    std::vector<Report> window;
    for (int i = 0; i < 80; ++i) {
      window.push_back({pick(25), witnessed ? static_cast<ChainHead::Witness>(pick(3)) : kNobody});
      head.add(window.back().height, window.back().witness);
      while (window.size() > 6 || (!window.empty() && pick(5) == 0)) {
        head.remove(window.front().height, window.front().witness);
        window.erase(window.begin());
      }
      REQUIRE(head.head() == look(window, max_ahead));
      REQUIRE(head.empty() == window.empty());
    }
  }
}
