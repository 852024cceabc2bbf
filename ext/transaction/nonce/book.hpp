// What this machine knows of the numbers it gave to an account's transactions, so that none is given twice.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rpcroute::transaction {

/// How far the transaction of a number came.
enum class BookStage {
  prepared,  ///< its bytes were handed out, and may leave at any time
  sent,      ///< its bytes are about to leave, or have left
  taken,     ///< a provider acknowledged it
  mined,     ///< its block was seen
  free,      ///< nobody has taken its bytes: the next transaction may have the number
};

/// Who wrote an entry: a book object of a process of a boot of this machine.
struct BookWriter {
  std::string boot;  ///< the kernel's boot id
  pid_t process = 0;
  std::uint64_t started = 0;  ///< when the process began, in clock ticks since the boot
  std::uint64_t book = 0;     ///< which NonceBook object of the process

  bool operator==(const BookWriter&) const = default;
};

/// One number that was given away.
struct BookEntry {
  std::uint64_t nonce = 0;
  BookStage stage = BookStage::prepared;
  std::string tx_hash;        ///< empty while unknown (the node signs)
  std::string provider;       ///< id of the provider it went to, or is to go to
  std::string genesis;        ///< hash of the chain's block 0: development chains share ids; empty when unknown
  std::uint64_t head = 0;     ///< height of the chain when it was numbered
  std::uint64_t block = 0;    ///< height of a block that tells the chain from others; of a mined one, of its block
  std::string block_hash;     ///< of that block: another block at its height is another chain's; empty when unknown
  std::uint32_t edition = 0;  ///< how often the number was given before, to other bytes
  double time = 0;            ///< seconds of the monotonic clock since the writer's boot; never wall time
  BookWriter writer;

  bool operator==(const BookEntry&) const = default;
};

/// The book cannot be read or written: its message names the file and the reason. A book that cannot be read is never
/// taken for an empty one.
struct BookError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The exclusive right to give away numbers of one account on one chain, and the list of those given away. Held by one
/// holder among all threads and processes of the machine's user. It ends with its holder: when this object goes, and
/// when the process dies, whatever children it has forked. In such a child it is worth nothing, and says so when used.
class NonceLease {
 public:
  ~NonceLease();
  NonceLease(NonceLease&&) noexcept;
  NonceLease& operator=(NonceLease&&) noexcept;
  NonceLease(const NonceLease&) = delete;
  NonceLease& operator=(const NonceLease&) = delete;

  /// The entry of a number on the chain that begins with `genesis`; an unknown genesis, here or there, fits all. Of
  /// several that fit an unknown one, the last that was put.
  std::optional<BookEntry> find(const std::string& genesis, std::uint64_t nonce) const;

  /// All entries of that chain from `lowest` on, in order of their numbers; of one number, as they were put.
  std::vector<BookEntry> from(const std::string& genesis, std::uint64_t lowest) const;

  /// The monotonic time of the newest entry by this writer; 0 when there is none. Whoever has prepared twenty and is at
  /// the tenth will come to the eleventh.
  double last_act(const BookWriter& writer) const;

  /// Replaces the entry of the same number and chain. Is in the file when it returns, so that the next process sees it
  /// whatever happens to this one: a process killed at any instant leaves the old content or the new. O(1). Throws
  /// BookError; then the book is as it was.
  void put(const BookEntry& entry);

  /// Forgets all entries of that chain below `nonce`: the chain has used their numbers up.
  void forget_below(const std::string& genesis, std::uint64_t nonce);

 private:
  friend class NonceBook;
  class Impl;
  explicit NonceLease(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// One file for each account and chain id in a directory of the user's own: it holds numbers and hashes, never a key.
/// Thread-safe.
class NonceBook {
 public:
  /// Empty: $RPCROUTE_STATE_DIR, else $XDG_STATE_HOME/rpcroute, else ~/.local/state/rpcroute, by the password file
  /// where HOME is not set (cron and a shell must see one book) or not the user's own; /tmp/rpcroute-<uid> for a user
  /// without a home. Made when it is first needed.
  explicit NonceBook(std::string directory = {});
  ~NonceBook();
  NonceBook(const NonceBook&) = delete;
  NonceBook& operator=(const NonceBook&) = delete;

  /// nullopt while another holds it. Throws BookError when the directory or file is not safely ours, or unreadable.
  std::optional<NonceLease> try_lease(std::uint64_t chain_id, const std::string& account) const;

  /// This object in this process, as its entries name it.
  BookWriter writer() const;

 private:
  std::string directory_;
  std::uint64_t number_;
};

/// Whether the process that wrote an entry still runs.
bool writer_lives(const BookWriter& writer);

}  // namespace rpcroute::transaction
