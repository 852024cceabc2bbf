#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "text/json_order.hpp"

using namespace rpcroute::text;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string object_of(const Pairs& members) {
  std::string json = "{";
  for (const auto& [name, value] : members) json += (json.size() > 1 ? "," : "") + json_literal(name) + ":" + value;
  return json + "}";
}

Pairs ordered(const std::string& json) {
  const JsonTree tree(json);
  Budget budget;
  std::vector<OrderedMember> members{{0, 0, 7}};  // what stands before is left alone
  append_ordered(
      tree.root(), [](std::string_view name) { return static_cast<std::uint32_t>(name.size()); }, members, budget);
  CHECK(members.front().mark == 7);
  Pairs pairs;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const JsonMember member = tree.root().member(members[i].position);
    CHECK(members[i].mark == member.name.size());
    pairs.emplace_back(member.name, member.value.source());
  }
  return pairs;
}

/// A map has the order of the bytes, and what comes last stays.
Pairs expected(const Pairs& members) {
  std::map<std::string, std::string> map;
  for (const auto& [name, value] : members) map[name] = value;
  return {map.begin(), map.end()};
}

}  // namespace

TEST_CASE("Members are put in the order of their names' bytes, of duplicates the last, however names are alike") {
  std::mt19937 random(7);
  const std::vector<std::string> beginnings{
      "", "a", std::string(1, '\0'), "the same for eight and more", "é", std::string("abcdefgh\0\0\0", 11)};
  for (const std::size_t count : {0, 1, 2, 31, 33, 2000}) {
    for (const std::size_t kinds : {1, 3, 40, 100000}) {
      Pairs members;
      for (std::size_t i = 0; i < count; ++i) {
        std::string name = beginnings[random() % beginnings.size()];
        const std::size_t which = random() % kinds;
        name += which % 2 == 0 ? std::to_string(which) : std::string(which % 20, '\0');
        members.emplace_back(name, std::to_string(i));
      }
      INFO(count << " members of " << kinds << " kinds");
      CHECK(ordered(object_of(members)) == expected(members));
    }
  }
}

TEST_CASE("Names that are long and alike are put in order in time that their size allows") {
  Pairs members;
  for (std::size_t i = 0; i < 1500; ++i) members.emplace_back(std::string(i * 4, 'a'), "0");
  CHECK(ordered(object_of(members)) == expected(members));
}
