#include "transaction/nonce/book.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include "chain/keccak.hpp"
#include "text/hex.hpp"

namespace rpcroute::transaction {
namespace {

constexpr std::string_view header = "rpcroute nonce book 1\n";
constexpr std::string_view remedy = "; move the file away once none of the account's transactions is on its way";

/// A log this much longer than what lives in it is written anew.
constexpr std::size_t spare_lines = 64;

[[noreturn]] void fail(const std::string& what, int error) {
  throw BookError(what + ": " + std::strerror(error));
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
};

std::string text_of_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// 0 when it has ended, whether its parent knows that yet or not.
std::uint64_t process_started(pid_t process) {
  const std::string text = text_of_file("/proc/" + std::to_string(process) + "/stat");
  // proc(5): the name in parentheses may hold anything; behind it comes the state, and as 20th field the start time.
  const auto parenthesis = text.rfind(')');
  if (parenthesis == std::string::npos) return 0;
  std::istringstream fields(text.substr(parenthesis + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return 0;
  for (int i = 1; i < 20; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

/// It outlives its process, not the machine's next start.
const std::string& boot_id() {
  static const std::string id = [] {
    std::string text = text_of_file("/proc/sys/kernel/random/boot_id");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

bool is_same_chain(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

/// What is known of an account: numbers by chain, and by writer the times of what they wrote.
class Entries {
 public:
  std::size_t size() const { return size_; }

  void put(const BookEntry& entry) {
    for (auto& [genesis, numbers] : chains_) {
      if (is_same_chain(genesis, entry.genesis)) erase(numbers, numbers.find(entry.nonce));
    }
    times_[entry.writer].insert(entry.time);
    chains_[entry.genesis].emplace(entry.nonce, Kept{entry, ++puts_});
    ++size_;
  }

  bool any_below(const std::string& of, std::uint64_t nonce) const {
    return std::any_of(chains_.begin(), chains_.end(), [&](const auto& chain) {
      const auto& [genesis, numbers] = chain;
      return is_same_chain(genesis, of) && !numbers.empty() && numbers.begin()->first < nonce;
    });
  }

  void forget_below(const std::string& of, std::uint64_t nonce) {
    for (auto& [genesis, numbers] : chains_) {
      if (!is_same_chain(genesis, of)) continue;
      while (!numbers.empty() && numbers.begin()->first < nonce) erase(numbers, numbers.begin());
    }
    std::erase_if(chains_, [](const auto& chain) { return chain.second.empty(); });
  }

  /// The newest of those that fit.
  std::optional<BookEntry> find(const std::string& of, std::uint64_t nonce) const {
    const Kept* newest = nullptr;
    for (const auto& [genesis, numbers] : chains_) {
      const auto found = is_same_chain(genesis, of) ? numbers.find(nonce) : numbers.end();
      if (found != numbers.end() && (newest == nullptr || found->second.put > newest->put)) newest = &found->second;
    }
    return newest == nullptr ? std::nullopt : std::optional(newest->entry);
  }

  std::vector<BookEntry> from(const std::string& of, std::uint64_t lowest) const {
    std::vector<const Kept*> found;
    for (const auto& [genesis, numbers] : chains_) {
      if (!is_same_chain(genesis, of)) continue;
      for (auto at = numbers.lower_bound(lowest); at != numbers.end(); ++at) found.push_back(&at->second);
    }
    return sorted(std::move(found), [](const Kept* a, const Kept* b) {
      return std::tie(a->entry.nonce, a->put) < std::tie(b->entry.nonce, b->put);
    });
  }

  /// In the order in which they were put.
  std::vector<BookEntry> all() const {
    std::vector<const Kept*> found;
    for (const auto& [genesis, numbers] : chains_) {
      for (const auto& [nonce, kept] : numbers) found.push_back(&kept);
    }
    return sorted(std::move(found), [](const Kept* a, const Kept* b) { return a->put < b->put; });
  }

  double last_act(const BookWriter& writer) const {
    const auto times = times_.find(writer);
    return times == times_.end() ? 0 : *times->second.rbegin();
  }

 private:
  struct Kept {
    BookEntry entry;
    std::uint64_t put;  ///< which put it was
  };
  using Numbers = std::map<std::uint64_t, Kept>;

  struct WriterOrder {
    bool operator()(const BookWriter& a, const BookWriter& b) const {
      return std::tie(a.process, a.started, a.book, a.boot) < std::tie(b.process, b.started, b.book, b.boot);
    }
  };

  void erase(Numbers& numbers, Numbers::iterator at) {
    if (at == numbers.end()) return;
    const auto times = times_.find(at->second.entry.writer);
    times->second.erase(times->second.find(at->second.entry.time));
    if (times->second.empty()) times_.erase(times);
    numbers.erase(at);
    --size_;
  }

  template <class Order>
  static std::vector<BookEntry> sorted(std::vector<const Kept*> found, Order order) {
    std::sort(found.begin(), found.end(), order);
    std::vector<BookEntry> entries;
    entries.reserve(found.size());
    for (const Kept* kept : found) entries.push_back(kept->entry);
    return entries;
  }

  std::map<std::string, Numbers> chains_;  ///< by genesis
  std::map<BookWriter, std::multiset<double>, WriterOrder> times_;
  std::uint64_t puts_ = 0;
  std::size_t size_ = 0;
};

// The log: the header, then lines of fields with one space between, the last a checksum of all the text before it.
// "put", number, stage, transaction, provider, genesis, head, block, block's hash, edition, time, boot, process, its
// start, book; or "forget", number below which, genesis.

constexpr std::string_view stage_letters = "pstmf";

/// FNV-1a of 64 bits: it goes on from the line before, so that a line that is missing shows, too.
std::uint64_t checksum_after(std::uint64_t checksum, std::string_view text) {
  for (const char c : text) checksum = (checksum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return checksum;
}

const std::uint64_t first_checksum = checksum_after(0xcbf29ce484222325, header);

template <class Number>
void add_number(std::string& line, Number number) {
  std::array<char, 32> digits{};  // the shortest digits that read back as the same number, in any locale
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  line.append(1, ' ').append(digits.data(), end);
}

/// "-" for none; hexadecimal behind a "~" for what would not stay one field.
void add_text(std::string& line, const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
  line += ' ';
  if (text.empty()) {
    line += '-';
  } else if (plain && text != "-") {
    line += text;
  } else {
    line += '~' + text::to_hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  }
}

template <class Number>
bool read_number(std::string_view field, Number& number) {
  const auto read = std::from_chars(field.data(), field.data() + field.size(), number);
  return !field.empty() && read.ec == std::errc() && read.ptr == field.data() + field.size();
}

bool read_text(std::string_view field, std::string& text) {
  text.clear();
  if (field == "-") return true;
  if (!field.starts_with('~')) {
    text = field;
    return !field.empty();
  }
  const auto bytes = text::from_hex(field.substr(1));
  if (bytes) text.assign(bytes->begin(), bytes->end());
  return bytes.has_value();
}

std::string put_line(const BookEntry& entry) {
  std::string line = "put";
  add_number(line, entry.nonce);
  line.append(1, ' ').append(1, stage_letters.at(static_cast<std::size_t>(entry.stage)));
  add_text(line, entry.tx_hash);
  add_text(line, entry.provider);
  add_text(line, entry.genesis);
  add_number(line, entry.head);
  add_number(line, entry.block);
  add_text(line, entry.block_hash);
  add_number(line, entry.edition);
  add_number(line, entry.time);
  add_text(line, entry.writer.boot);
  add_number(line, entry.writer.process);
  add_number(line, entry.writer.started);
  add_number(line, entry.writer.book);
  return line;
}

std::string forget_line(const std::string& genesis, std::uint64_t nonce) {
  std::string line = "forget";
  add_number(line, nonce);
  add_text(line, genesis);
  return line;
}

/// Ends a line, and returns its checksum.
std::uint64_t seal(std::string& line, std::uint64_t checksum) {
  checksum = checksum_after(checksum, line);
  std::array<char, 20> digits{};
  std::snprintf(digits.data(), digits.size(), " %016llx\n", static_cast<unsigned long long>(checksum));
  line += digits.data();
  return checksum;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (auto space = line.find(' '); space != std::string_view::npos; space = line.find(' ')) {
    fields.push_back(line.substr(0, space));
    line.remove_prefix(space + 1);
  }
  fields.push_back(line);
  return fields;
}

std::optional<BookEntry> entry_of(std::span<const std::string_view> fields) {
  BookEntry entry;
  const auto stage =
      fields.size() == 15 && fields[2].size() == 1 ? stage_letters.find(fields[2][0]) : std::string::npos;
  if (stage == std::string::npos) return std::nullopt;
  entry.stage = static_cast<BookStage>(stage);
  const bool read = read_number(fields[1], entry.nonce) && read_text(fields[3], entry.tx_hash) &&
                    read_text(fields[4], entry.provider) && read_text(fields[5], entry.genesis) &&
                    read_number(fields[6], entry.head) && read_number(fields[7], entry.block) &&
                    read_text(fields[8], entry.block_hash) && read_number(fields[9], entry.edition) &&
                    read_number(fields[10], entry.time) && std::isfinite(entry.time) &&
                    read_text(fields[11], entry.writer.boot) && read_number(fields[12], entry.writer.process) &&
                    read_number(fields[13], entry.writer.started) && read_number(fields[14], entry.writer.book);
  return read ? std::optional(entry) : std::nullopt;
}

/// Does what a line without its checksum says; false when it says nothing.
bool obey(Entries& entries, std::string_view line) {
  const auto fields = fields_of(line);
  if (fields[0] == "put") {
    const auto entry = entry_of(fields);
    if (entry) entries.put(*entry);
    return entry.has_value();
  }
  std::uint64_t nonce = 0;
  std::string genesis;
  const bool forgets =
      fields.size() == 3 && fields[0] == "forget" && read_number(fields[1], nonce) && read_text(fields[2], genesis);
  if (forgets) entries.forget_below(genesis, nonce);
  return forgets;
}

struct Damage {
  std::size_t line;
  std::string what;
};

/// What was read of a log, and how far.
struct Log {
  Entries entries;
  off_t end = 0;          ///< behind the last line
  std::size_t lines = 0;  ///< the header among them
  std::uint64_t checksum = first_checksum;

  /// The text behind `end`, of which an unterminated last line was never written: whoever appended it was killed. The
  /// first entry is not appended; it comes with the header. Throws Damage.
  void read(std::string_view text) {
    if (text.empty()) return;
    if (lines == 0) read_header(text);
    for (auto newline = text.find('\n'); newline != std::string_view::npos; newline = text.find('\n')) {
      read_line(text.substr(0, newline));
      advance(text, newline + 1);
    }
    if (lines == 1) throw Damage{2, "is missing or not whole"};
  }

 private:
  void advance(std::string_view& text, std::size_t size) {
    text.remove_prefix(size);
    end += static_cast<off_t>(size);
    ++lines;
  }

  void read_header(std::string_view& text) {
    if (!text.starts_with(header)) throw Damage{1, "does not begin a nonce book of this version"};
    advance(text, header.size());
  }

  void read_line(std::string_view line) {
    const auto space = line.rfind(' ');
    const std::string_view said = line.substr(0, space);
    std::string sealed(said);
    const std::uint64_t sum = seal(sealed, checksum);
    sealed.pop_back();
    if (space == std::string_view::npos || sealed != line) throw Damage{lines + 1, "has a wrong checksum"};
    if (!obey(entries, said)) throw Damage{lines + 1, "cannot be understood"};
    checksum = sum;
  }
};

/// A data file, as it was when this process was last done with it.
struct Seen {
  dev_t device = 0;
  ino_t file = 0;
  timespec changed{};

  explicit Seen(const struct stat& status) : device(status.st_dev), file(status.st_ino), changed(status.st_mtim) {}
  Seen() = default;

  bool is_file(const struct stat& status) const { return device == status.st_dev && file == status.st_ino; }
  bool is_unchanged(const struct stat& status) const {
    return changed.tv_sec == status.st_mtim.tv_sec && changed.tv_nsec == status.st_mtim.tv_nsec;
  }
};

/// An account's book in this process: read once, and shared by all NonceBook objects. The holder of its lease alone
/// touches it, but for `lock`.
struct Page {
  int lock = -1;  ///< the open lock file while a lease is held in this process
  Seen seen;
  Log log;
  std::size_t patience = 0;  ///< lines before writing it anew is tried again
};

/// A file by its directory's identity and its own name: a path may be spelt in many ways.
using PageKey = std::tuple<dev_t, ino_t, std::string>;

/// The pages of this process, and who holds them: a record lock does not exclude the process that has it, and ends when
/// that process closes any descriptor of the file. Hence a lock file is never opened while its page is held.
class Pages {
 public:
  static Pages& instance() {
    static Pages& pages = *new Pages;  // leases may outlive any static object
    return pages;
  }

  std::mutex mutex;
  std::map<PageKey, std::shared_ptr<Page>> by_key;
  std::uint64_t generation = 0;  ///< how many forks lie between this process and the first that had it

 private:
  Pages() {
    const int error = pthread_atfork([] { instance().mutex.lock(); }, [] { instance().mutex.unlock(); },
                                     [] { instance().be_child(); });
    if (error != 0) throw std::bad_alloc();
  }

  /// The parent's record locks are not the child's, and closing its copies does not end them.
  void be_child() {
    for (const auto& [key, page] : by_key) {
      if (page->lock >= 0) close(std::exchange(page->lock, -1));
    }
    // Not destroyed: a thread that is no more may have been amidst changing a page.
    new (&by_key) std::map<PageKey, std::shared_ptr<Page>>();
    ++generation;
    mutex.unlock();
  }
};

/// Whether others than its owner, who is to be us, may write to it.
bool is_ours_alone(const struct stat& status) {
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_by_password_file() {
  std::vector<char> buffer(16384);
  struct passwd entry {};
  struct passwd* found = nullptr;
  const int error = getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

/// Containers and daemons have a HOME of "/" or "/nonexistent", sudo may leave that of another.
bool is_home(const std::string& path) {
  struct stat status {};
  return path.starts_with('/') && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid();
}

std::string usual_directory() {
  const std::string chosen = variable("RPCROUTE_STATE_DIR");
  if (!chosen.empty() && chosen.front() != '/') {
    throw BookError("RPCROUTE_STATE_DIR is the relative path " + chosen + "; it must be absolute");
  }
  if (!chosen.empty()) return chosen;
  // The XDG Base Directory Specification has relative paths ignored.
  const std::string state = variable("XDG_STATE_HOME");
  if (state.starts_with('/')) return state + "/rpcroute";
  for (const std::string& home : {variable("HOME"), home_by_password_file()}) {
    if (is_home(home)) return home + "/.local/state/rpcroute";
  }
  return "/tmp/rpcroute-" + std::to_string(geteuid());
}

void make_directories(const std::string& path) {
  for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);  // where it fails, so will the last
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    fail("the nonce book's directory " + path + " cannot be made", errno);
  }
}

struct Directory {
  Descriptor descriptor;
  struct stat status {};

  int get() const { return descriptor.get(); }
};

Directory open_directory(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // behind a slash, a link is followed
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
  Directory directory{Descriptor(open(path.c_str(), flags))};
  if (directory.get() < 0 && errno == ENOENT) {
    make_directories(path);
    directory.descriptor = Descriptor(open(path.c_str(), flags));
  }
  if (directory.get() < 0) fail("the nonce book's directory " + path + " cannot be opened", errno);
  if (fstat(directory.get(), &directory.status) != 0 || !is_ours_alone(directory.status)) {
    throw BookError("the nonce book's directory " + path + " is not ours alone to write");
  }
  return directory;
}

struct stat checked_file(int descriptor, const std::string& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail("the nonce book " + path + " cannot be opened", errno);
  if (!S_ISREG(status.st_mode) || !is_ours_alone(status)) {
    throw BookError("the nonce book " + path + " is not a file that is ours alone to write" + std::string(remedy));
  }
  return status;
}

/// Where the files of an account are.
struct Place {
  Directory directory;
  std::string name;  ///< of the log; the others' begin with it
  std::string path;  ///< of the log, for messages

  Place(const std::string& directory_path, std::uint64_t chain_id, const std::string& account)
      : directory(open_directory(directory_path)) {
    const std::string subject = std::to_string(chain_id) + " " + account;
    const auto digest = chain::keccak256({reinterpret_cast<const std::uint8_t*>(subject.data()), subject.size()});
    name = "nonces-" + text::to_hex(text::BytesView(digest).first(16)).substr(2);
    path = directory_path + "/" + name;
  }

  PageKey key() const { return {directory.status.st_dev, directory.status.st_ino, name}; }

  Descriptor open_log() const {
    Descriptor log(openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (log.get() >= 0) return log;
    const int error = errno;
    const bool is_other = error == EISDIR || error == ELOOP;
    throw BookError("the nonce book " + path + " cannot be opened: " + std::strerror(error) +
                    (is_other ? std::string(remedy) : std::string()));
  }

  /// Not open when another process has it.
  Descriptor open_lock() const {
    const std::string lock_name = name + ".lock";
    const std::string lock_path = path + ".lock";
    Descriptor lock(openat(directory.get(), lock_name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (lock.get() < 0) fail("the nonce book's lock " + lock_path + " cannot be opened", errno);
    const struct stat opened = checked_file(lock.get(), lock_path);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(lock.get(), F_SETLK, &whole) != 0) {
      if (errno == EACCES || errno == EAGAIN) return {};
      fail("the nonce book's lock " + lock_path + " cannot be taken", errno);
    }
    // One that was removed meanwhile excludes nobody who comes now.
    struct stat named {};
    const bool is_still_it = fstatat(directory.get(), lock_name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                             named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
    return is_still_it ? std::move(lock) : Descriptor();
  }
};

/// The holding of a page, from its lock on.
class Hold {
 public:
  static std::optional<Hold> take(const Place& place) {
    Pages& pages = Pages::instance();
    const std::lock_guard guard(pages.mutex);
    std::shared_ptr<Page>& page = pages.by_key[place.key()];
    if (page == nullptr) page = std::make_shared<Page>();
    if (page->lock >= 0) return std::nullopt;
    Descriptor lock = place.open_lock();
    if (lock.get() < 0) return std::nullopt;
    page->lock = lock.release();
    return Hold(page, pages.generation);
  }

  ~Hold() {
    if (page_ == nullptr) return;
    Pages& pages = Pages::instance();
    const std::lock_guard guard(pages.mutex);
    if (generation_ == pages.generation) close(std::exchange(page_->lock, -1));
  }
  Hold(Hold&&) noexcept = default;
  Hold& operator=(Hold&&) = delete;

  bool is_inherited() const {
    Pages& pages = Pages::instance();
    const std::lock_guard guard(pages.mutex);
    return generation_ != pages.generation;
  }

  Page& page() const { return *page_; }

 private:
  Hold(std::shared_ptr<Page> page, std::uint64_t generation) : page_(std::move(page)), generation_(generation) {}

  std::shared_ptr<Page> page_;
  std::uint64_t generation_;
};

std::string text_from(int file, off_t offset, const std::string& path) {
  std::string text;
  std::array<char, 16384> piece{};
  while (true) {
    const ssize_t got = pread(file, piece.data(), piece.size(), offset + static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw BookError("the nonce book " + path + " cannot be read: " + std::strerror(errno) + std::string(remedy));
    }
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

/// Why it was not written; empty when it was.
std::string write_once(int file, std::string_view text, off_t offset) {
  ssize_t written = -1;
  do {
    written = pwrite(file, text.data(), text.size(), offset);
  } while (written < 0 && errno == EINTR);
  if (written < 0) return std::strerror(errno);
  return static_cast<std::size_t>(written) == text.size() ? "" : "there was room for a part only";
}

}  // namespace

class NonceLease::Impl {
 public:
  Impl(Place place, Hold hold) : place_(std::move(place)), hold_(std::move(hold)), file_(place_.open_log()) { read(); }

  ~Impl() {
    struct stat status {};
    const bool notes = wrote_ && !hold_.is_inherited();
    if (notes && fstat(file_.get(), &status) == 0) page().seen = Seen(status);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Entries& entries() const {
    check_own();
    return page().log.entries;
  }

  void put(const BookEntry& entry) {
    check_own();
    if (!std::isfinite(entry.time)) throw BookError("the time of an entry of the nonce book is not a number");
    if (page().log.lines == 0) return begin(entry);
    append(put_line(entry));
    page().log.entries.put(entry);
    shorten();
  }

  void forget_below(const std::string& genesis, std::uint64_t nonce) {
    check_own();
    if (!page().log.entries.any_below(genesis, nonce)) return;
    append(forget_line(genesis, nonce));
    page().log.entries.forget_below(genesis, nonce);
    shorten();
  }

 private:
  Page& page() const { return hold_.page(); }

  void check_own() const {
    if (hold_.is_inherited()) {
      throw BookError("the lease of the nonce book " + place_.path + " is the parent process's, not this one's");
    }
  }

  void read() {
    const struct stat status = checked_file(file_.get(), place_.path);
    const Log& log = page().log;
    const bool is_known = page().seen.is_file(status) && status.st_size >= log.end;
    if (is_known && status.st_size == log.end && page().seen.is_unchanged(status)) return;
    if (!is_known || status.st_size == log.end || !read_on()) read_all();
    page().seen = Seen(status);
    is_torn_ = status.st_size > log.end;
  }

  /// What others have appended. False when it does not go on from what was read before: then it is another file that
  /// has come to have the number of the old.
  bool read_on() {
    try {
      page().log.read(text_from(file_.get(), page().log.end, place_.path));
      return true;
    } catch (const Damage&) {
      return false;
    }
  }

  void read_all() {
    page().log = Log();
    page().seen = Seen();
    page().patience = 0;
    try {
      Log log;
      log.read(text_from(file_.get(), 0, place_.path));
      page().log = std::move(log);
    } catch (const Damage& damage) {
      throw BookError("the nonce book " + place_.path + " is damaged: line " + std::to_string(damage.line) + " " +
                      damage.what + std::string(remedy));
    }
  }

  /// Takes away what was written in part. As long as that cannot be done, nothing more is written.
  void cut() {
    if (!is_torn_) return;
    if (ftruncate(file_.get(), page().log.end) != 0)
      fail("the nonce book " + place_.path + " cannot be written", errno);
    is_torn_ = false;
  }

  [[noreturn]] void fail_to_write(const std::string& reason) const {
    throw BookError("the nonce book " + place_.path + " cannot be written: " + reason);
  }

  void append(std::string line) {
    Log& log = page().log;
    const std::uint64_t checksum = seal(line, log.checksum);
    cut();
    const std::string reason = write_once(file_.get(), line, log.end);
    wrote_ = true;
    if (!reason.empty()) {
      is_torn_ = true;
      cut();
      fail_to_write(reason);
    }
    log.end += static_cast<off_t>(line.size());
    ++log.lines;
    log.checksum = checksum;
  }

  /// The first entry: no kill and no power cut leaves a part of it, so that a book of less is a damaged one.
  void begin(const BookEntry& entry) {
    Entries entries;
    entries.put(entry);
    const std::string reason = write_anew(std::move(entries));
    if (!reason.empty()) fail_to_write(reason);
  }

  /// Writes the log anew when it holds little that lives. When that fails, the old serves on.
  void shorten() {
    const Log& log = page().log;
    const std::size_t lines = log.lines;
    if (lines <= std::max(2 * log.entries.size() + spare_lines, page().patience) || log.entries.size() == 0) return;
    page().patience = write_anew(log.entries).empty() ? 0 : 2 * lines;
  }

  /// Puts a file that holds these entries in the old one's place. Why it could not; empty when it could.
  std::string write_anew(Entries entries) {
    Log anew;
    std::string text(header);
    anew.lines = 1;
    for (const BookEntry& entry : entries.all()) {
      std::string line = put_line(entry);
      anew.checksum = seal(line, anew.checksum);
      text += line;
      ++anew.lines;
    }
    anew.end = static_cast<off_t>(text.size());

    const std::string name = place_.name + ".new";
    const int directory = place_.directory.get();
    unlinkat(directory, name.c_str(), 0);  // of one who was killed here
    Descriptor file(openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.get() < 0) return std::strerror(errno);
    std::string reason = write_once(file.get(), text, 0);
    // On the disk before it has the name: else a power cut could leave neither old nor new.
    if (reason.empty() &&
        (fdatasync(file.get()) != 0 || renameat(directory, name.c_str(), directory, place_.name.c_str()) != 0)) {
      reason = std::strerror(errno);
    }
    if (!reason.empty()) {
      unlinkat(directory, name.c_str(), 0);
      return reason;
    }
    file_ = std::move(file);
    is_torn_ = false;
    wrote_ = true;
    anew.entries = std::move(entries);
    page().log = std::move(anew);
    return "";
  }

  Place place_;
  Hold hold_;
  Descriptor file_;
  bool wrote_ = false;
  bool is_torn_ = false;  ///< there is something behind the last line
};

NonceLease::NonceLease(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
NonceLease::~NonceLease() = default;
NonceLease::NonceLease(NonceLease&&) noexcept = default;
NonceLease& NonceLease::operator=(NonceLease&&) noexcept = default;

std::optional<BookEntry> NonceLease::find(const std::string& genesis, std::uint64_t nonce) const {
  return impl_->entries().find(genesis, nonce);
}

std::vector<BookEntry> NonceLease::from(const std::string& genesis, std::uint64_t lowest) const {
  return impl_->entries().from(genesis, lowest);
}

double NonceLease::last_act(const BookWriter& writer) const {
  return impl_->entries().last_act(writer);
}

void NonceLease::put(const BookEntry& entry) {
  impl_->put(entry);
}

void NonceLease::forget_below(const std::string& genesis, std::uint64_t nonce) {
  impl_->forget_below(genesis, nonce);
}

NonceBook::NonceBook(std::string directory) : directory_(std::move(directory)) {
  static std::atomic<std::uint64_t> books{0};
  number_ = ++books;
}

NonceBook::~NonceBook() = default;

std::optional<NonceLease> NonceBook::try_lease(std::uint64_t chain_id, const std::string& account) const {
  Place place(directory_.empty() ? usual_directory() : directory_, chain_id, account);
  auto hold = Hold::take(place);
  if (!hold) return std::nullopt;
  return NonceLease(std::make_unique<NonceLease::Impl>(std::move(place), std::move(*hold)));
}

BookWriter NonceBook::writer() const {
  const pid_t process = getpid();
  return {boot_id(), process, process_started(process), number_};
}

bool writer_lives(const BookWriter& writer) {
  if (writer.boot != boot_id()) return false;
  const std::uint64_t started = process_started(writer.process);
  return started != 0 && started == writer.started;
}

}  // namespace rpcroute::transaction
