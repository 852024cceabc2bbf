// What really happened, for whoever wants to compare it with what was measured.
//
// The log is JSON lines, each with "event" and "t" (Unix seconds):
//   block      number, hash, slot, transactions (hashes)
//   missed     slot
//   lag        provider, blocks                      when it changes
//   height     provider, method, reported (null when the answer had no height), head, view, lag (head − view),
//              latency_ms (injected; null when nothing is answered), answered (t + latency)
//   arrived    hash, provider, from, nonce, head, answer ("accepted" or the error's text)
//   passed_on  hash, provider, head                  the chain knows it from here on
//   included   hash, block, index
//   dropped    hash, reason
//   reorg      depth, head
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "chain.hpp"

namespace rpcroute::devnet {

/// Unix seconds.
double unix_now();

struct HeightAnswer {
  double time = 0;
  std::string provider;
  std::string method;
  std::optional<std::uint64_t> reported;
  std::uint64_t view = 0;
  std::uint64_t head = 0;
  std::optional<double> latency_ms;
};

class Truth {
 public:
  /// Writes to the file, or only remembers when the path is empty. Throws std::invalid_argument when it cannot.
  explicit Truth(const std::string& path);

  void height(HeightAnswer answer);
  void lag(const std::string& provider, std::uint64_t blocks);
  void missed(std::uint64_t slot);
  void block(const Block& block);
  void reorganised(std::size_t depth, const std::vector<Transaction>& orphans, std::uint64_t head);
  void arrived(const Transaction& transaction, const std::string& provider, std::uint64_t head,
               const std::string& answer);
  void passed_on(const Hash& hash, const std::string& provider, std::uint64_t head);
  void dropped(const Hash& hash, const std::string& reason);

  /// Makes the file whole; lines are otherwise held back.
  void flush();

  /// JSON array, one object for every hash that any provider was sent: hash, from, nonce, provider (the first that
  /// accepted it, else the first), arrived, passed_on, block, block_time, accepted, dropped, reorgs, submissions.
  std::string transactions() const;

  /// JSON array of the height answers since that moment, as in the log. The last 200,000 are remembered.
  std::string heights(double since) const;

 private:
  struct Submission {
    std::string provider;
    double arrived;
    std::uint64_t head;
    std::string answer;
    std::optional<double> passed_on;
  };
  struct Record {
    Transaction transaction;
    std::vector<Submission> submissions;
    std::optional<double> passed_on;
    std::optional<std::uint64_t> block;
    std::optional<double> block_time;
    std::optional<std::string> dropped;
    std::uint64_t reorgs = 0;
  };

  void write(const std::string& line);
  static void describe(JsonText& json, const Record& record);

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::deque<HeightAnswer> heights_;
  std::unordered_map<Hash, Record, HashOfHash> records_;
  std::vector<Hash> order_;
};

}  // namespace rpcroute::devnet
