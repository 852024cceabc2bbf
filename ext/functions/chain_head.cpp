// chain_head(block_number [, max_ahead [, witness]]): the newest block, when some who report it are wrong.
#include <optional>
#include <string>

#include "align/head.hpp"
#include "align/key.hpp"
#include "functions/align_argument.hpp"
#include "functions/functions.hpp"
#include "functions/height_argument.hpp"

namespace rpcroute::functions {
namespace {

class ChainHead {
 public:
  static sqlite::FunctionSpec spec() {
    return {
        .name = "chain_head",
        .arities = {1, 2, 3},
        .deterministic = true,
        .doc = {"chain_head(block_number [, max_ahead [, witness]])",
                "The highest height; with max_ahead, the highest that another row comes to within max_ahead blocks of, "
                "so that one node on another chain cannot make the others look behind; with witness, a row of "
                "another witness. NULL when nothing corroborates. Rows with a NULL argument are skipped: an unknown "
                "witness confirms nobody. max_ahead must be the same for all rows of a group.",
                "SELECT chain_head(column1, 64, column2) FROM (VALUES (1003, 'a'), (1002, 'b'), (90000000, 'c'))"}};
  }

  void step(sqlite::Call&, sqlite::Arguments arguments) {
    if (const auto report = read(arguments)) {
      if (!head_ || head_->empty()) head_.emplace(report->max_ahead);
      if (head_->max_ahead() != report->max_ahead) {
        throw sqlite::Error("max_ahead must be the same for all rows of a group, got " +
                            std::to_string(*report->max_ahead) + " after " + std::to_string(*head_->max_ahead()));
      }
      head_->add(report->height, report->witness);
    }
  }

  void inverse(sqlite::Call&, sqlite::Arguments arguments) {
    if (const auto report = read(arguments)) head_->remove(report->height, report->witness);
  }

  void value(sqlite::Call& call) {
    if (head_) call.result().set(head_->head());
  }

  void finish(sqlite::Call& call) { value(call); }

 private:
  struct Report {
    std::int64_t height;
    std::optional<std::int64_t> max_ahead;
    align::ChainHead::Witness witness = align::ChainHead::kAnonymous;
  };

  /// The row's report; nullopt when an argument is NULL.
  std::optional<Report> read(sqlite::Arguments arguments) {
    const auto height = height_argument("block_number", arguments[0]);
    const auto max_ahead = arguments.size() > 1 ? max_ahead_argument(arguments[1]) : std::nullopt;
    if (!height || (arguments.size() > 1 && !max_ahead)) return std::nullopt;
    if (arguments.size() < 3) return Report{*height, max_ahead};
    const auto witness = key_argument(arguments[2]);
    if (!witness) return std::nullopt;
    return Report{*height, max_ahead, witnesses_.add(*witness)};
  }

  align::KeyTable witnesses_;
  std::optional<align::ChainHead> head_;
};

}  // namespace

sqlite::Function chain_head() {
  return sqlite::aggregate<ChainHead>();
}

}  // namespace rpcroute::functions
