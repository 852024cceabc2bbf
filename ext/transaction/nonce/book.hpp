// What this machine knows of the transactions it sent, so that nonces neither collide nor leave a gap.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rpc/client.hpp"

namespace rpcroute::transaction {

/// How far a transaction came, as the book has it.
enum class BookStage { prepared, sent, mined };

/// One nonce that was given away.
struct BookEntry {
  std::uint64_t nonce = 0;
  BookStage stage = BookStage::prepared;
  std::string tx_hash;     ///< empty while unknown (the node signs)
  std::string provider;    ///< id of the provider it went to, or is to go to
  std::string genesis;     ///< hash of the chain's first block: development chains share ids; empty when unknown
  std::uint64_t head = 0;  ///< the chain's height when it was written
  double time = 0;         ///< Unix seconds when it was written
  pid_t process = 0;       ///< who wrote it
  std::uint64_t process_started = 0;

  bool operator==(const BookEntry&) const = default;
};

/// When a transaction was broadcast by this process: what tx_wait needs to time it.
struct Broadcast {
  rpc::Clock::time_point started;
  double timestamp = 0;
  std::optional<double> submit_ms;
  std::optional<std::int64_t> submit_head;
  std::optional<double> propensity;
  std::int64_t overlap = 0;
};

/// The exclusive right to give away nonces of one account on one chain, and the list of those given away. Held by one
/// holder among all threads and processes of the machine's user; let go when it goes, and when the process dies.
class NonceLease {
 public:
  ~NonceLease();
  NonceLease(NonceLease&& other) noexcept;
  NonceLease& operator=(NonceLease&& other) noexcept;
  NonceLease(const NonceLease&) = delete;
  NonceLease& operator=(const NonceLease&) = delete;

  /// Those of the chain that begins with `genesis`; all when either is unknown. By nonce. One that is prepared has the
  /// time of its process's last act: whoever has prepared twenty and is at the tenth will come to the eleventh.
  std::map<std::uint64_t, BookEntry> entries(const std::string& genesis) const;

  /// Replaces the entry of the same nonce. Writes at once, so that the next process sees it whatever happens to this
  /// one.
  void put(BookEntry entry);

  /// Forgets the entry of that nonce, unless it is of another transaction.
  void erase(std::uint64_t nonce, const std::string& tx_hash);

 private:
  friend class NonceBook;
  explicit NonceLease(int descriptor);
  double last_act(pid_t process, std::uint64_t process_started) const;
  void read();
  void write() const;

  int descriptor_ = -1;
  std::vector<BookEntry> entries_;  ///< oldest first
};

/// One file for each account in a directory of the user's own, locked with flock(): it holds nonces and hashes, never a
/// key. Thread-safe.
class NonceBook {
 public:
  /// Empty: /tmp/rpcroute-<uid>. Not $XDG_RUNTIME_DIR: cron does not set it, and a job and a shell must see one book.
  explicit NonceBook(std::string directory = {});

  /// nullopt while another holds it. Throws std::runtime_error when the directory or file is not safely ours.
  std::optional<NonceLease> try_lease(std::uint64_t chain_id, const std::string& account) const;

  void remember(const std::string& tx_hash, const Broadcast& broadcast);
  std::optional<Broadcast> broadcast(const std::string& tx_hash) const;

 private:
  std::string directory_;
  mutable std::mutex mutex_;
  std::map<std::string, Broadcast> broadcasts_;
};

/// This process, as entries name it.
pid_t this_process();
std::uint64_t this_process_started();

/// Whether the process that wrote an entry still runs.
bool writer_lives(const BookEntry& entry);

}  // namespace rpcroute::transaction
