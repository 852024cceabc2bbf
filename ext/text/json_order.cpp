#include "text/json_order.hpp"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>
#include <span>
#include <string_view>

namespace rpcroute::text {
namespace {

constexpr std::size_t word_size = sizeof(std::uint32_t);
constexpr std::size_t few = 32;

/// Members whose names begin with the same `prefix` bytes.
struct Run {
  std::span<OrderedMember> members;
  std::size_t prefix;
};

std::uint32_t word_of(std::string_view name, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = at; i < at + word_size; ++i) {
    word = word << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0U);
  }
  return word;
}

std::uint64_t key_of(const OrderedMember& member) {
  return std::uint64_t{member.word} << 32 | member.position;
}

void sort_by_words(std::span<OrderedMember> members) {
  boost::sort::spreadsort::integer_sort(
      members.begin(), members.end(),
      [](const OrderedMember& member, unsigned shift) { return key_of(member) >> shift; },
      [](const OrderedMember& a, const OrderedMember& b) { return key_of(a) < key_of(b); });
}

void sort_few(const Json& object, const Run& run) {
  for (OrderedMember& member : run.members) member.word = word_of(object.name(member.position), run.prefix);
  std::sort(run.members.begin(), run.members.end(), [&](const OrderedMember& a, const OrderedMember& b) {
    if (a.word != b.word) return a.word < b.word;
    const int order = object.name(a.position).compare(object.name(b.position));
    return order == 0 ? a.position < b.position : order < 0;
  });
}

/// By one word of the names, after which those of equal words are runs of their own.
void sort_many(const Json& object, const Run& run, std::vector<Run>& runs) {
  for (OrderedMember& member : run.members) member.word = word_of(object.name(member.position), run.prefix);
  sort_by_words(run.members);
  const std::size_t prefix = run.prefix + word_size;
  for (std::size_t begin = 0, end = 0; begin < run.members.size(); begin = end) {
    bool all_end = true;
    while (end < run.members.size() && run.members[end].word == run.members[begin].word) {
      all_end = object.name(run.members[end++].position).size() <= prefix && all_end;
    }
    const Run equal{run.members.subspan(begin, end - begin), prefix};
    if (equal.members.size() <= few) {
      sort_few(object, equal);
    } else if (!all_end) {
      runs.push_back(equal);
    } else {  // a word is filled up with zeros, so that only their sizes can differ
      for (OrderedMember& member : equal.members) {
        member.word = static_cast<std::uint32_t>(object.name(member.position).size());
      }
      sort_by_words(equal.members);
    }
  }
}

}  // namespace

void order_by_name(const Json& object, std::vector<OrderedMember>& members, std::size_t first, Budget& budget) {
  const Run all{std::span(members).subspan(first), 0};
  if (all.members.size() <= few) {
    sort_few(object, all);
  } else {
    for (std::vector<Run> runs{all}; !runs.empty();) {
      const Run run = runs.back();
      runs.pop_back();
      budget.steps(run.members.size());
      sort_many(object, run, runs);
    }
  }
  std::size_t kept = first;
  for (std::size_t i = first; i < members.size(); ++i) {
    const bool is_last =
        i + 1 == members.size() || object.name(members[i].position) != object.name(members[i + 1].position);
    if (is_last) members[kept++] = members[i];
  }
  members.resize(kept);
}

}  // namespace rpcroute::text
