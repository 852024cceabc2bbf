#include "text/json_order.hpp"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <span>
#include <string_view>

namespace rpcroute::text {
namespace {

constexpr std::size_t word_size = sizeof OrderedMember::word;
constexpr std::size_t few = 32;

constexpr std::uint32_t is_superseded = 1U << 31;  ///< by a member of the same name that comes later in the text

/// Members whose names begin with the same `prefix` bytes.
struct Run {
  std::span<OrderedMember> members;
  std::size_t prefix;
};

std::uint64_t word_of(std::string_view name, std::size_t at) {
  std::uint64_t word = 0;
  for (std::size_t i = at; i < at + word_size; ++i) {
    word = word << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  }
  return word;
}

bool precedes(const OrderedMember& a, const OrderedMember& b) {
  return a.word != b.word ? a.word < b.word : a.position < b.position;
}

void sort_few(const Json& object, std::span<OrderedMember> members) {
  const auto name = [&](const OrderedMember& member) { return object.name(member.position); };
  std::sort(members.begin(), members.end(), [&](const OrderedMember& a, const OrderedMember& b) {
    if (a.word != b.word) return a.word < b.word;
    const int order = name(a).compare(name(b));
    return order == 0 ? a.position < b.position : order < 0;
  });
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i - 1].word == members[i].word && name(members[i - 1]) == name(members[i])) {
      members[i - 1].mark |= is_superseded;
    }
  }
}

/// Whose words are equal, and whose names may go on behind `prefix` bytes.
void sort_equal(const Json& object, const Run& run, std::vector<Run>& runs) {
  bool all_end = true;
  for (OrderedMember& member : run.members) {
    const std::string_view name = object.name(member.position);
    all_end = all_end && name.size() <= run.prefix;
    member.word = word_of(name, run.prefix);
  }
  if (run.members.size() <= few) return sort_few(object, run.members);
  if (!all_end) return runs.push_back(run);
  // A word is filled up with zeros: their sizes can still differ.
  for (OrderedMember& member : run.members) member.word = object.name(member.position).size();
  std::sort(run.members.begin(), run.members.end(), precedes);
  for (std::size_t i = 1; i < run.members.size(); ++i) {
    if (run.members[i - 1].word == run.members[i].word) run.members[i - 1].mark |= is_superseded;
  }
}

void sort_many(const Json& object, const Run& run, std::vector<Run>& runs) {
  const auto shifted = [](const OrderedMember& member, unsigned shift) { return member.word >> shift; };
  boost::sort::spreadsort::integer_sort(run.members.begin(), run.members.end(), shifted, precedes);
  for (std::size_t begin = 0, end = 1; begin < run.members.size(); begin = end++) {
    while (end < run.members.size() && run.members[end].word == run.members[begin].word) ++end;
    if (end - begin == 1) continue;
    sort_equal(object, {run.members.subspan(begin, end - begin), run.prefix + word_size}, runs);
  }
}

}  // namespace

void append_ordered(const Json& object, std::uint32_t (*mark_of)(std::string_view), std::vector<OrderedMember>& members,
                    Budget& budget) {
  const std::size_t first = members.size();
  const auto all = object.members();
  for (auto member = all.begin(); member != all.end(); ++member) {
    const std::string_view name = object.name(member.position());
    members.push_back({word_of(name, 0), member.position(), mark_of(name)});
  }
  const Run whole{std::span(members).subspan(first), 0};
  if (whole.members.size() <= few) {
    sort_few(object, whole.members);
  } else {
    for (std::vector<Run> runs{whole}; !runs.empty();) {
      const Run run = runs.back();
      runs.pop_back();
      budget.steps(run.members.size());
      sort_many(object, run, runs);
    }
  }
  const auto begin = members.begin() + static_cast<std::ptrdiff_t>(first);
  members.erase(std::remove_if(begin, members.end(),
                               [](const OrderedMember& member) { return (member.mark & is_superseded) != 0; }),
                members.end());
}

}  // namespace rpcroute::text
