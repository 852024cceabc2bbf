#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <thread>

#include "transaction/nonce/book.hpp"

using namespace rpcroute::transaction;
namespace fs = std::filesystem;

namespace {

class Directory {
 public:
  Directory() {
    if (mkdtemp(path_) == nullptr) abort();
  }
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string path() const { return path_; }

  /// The one file whose name ends so.
  std::string file(const std::string& extension = "") const {
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == extension) return entry.path();
    }
    return "";
  }

 private:
  char path_[32] = "/tmp/rpcroute-book-XXXXXX";
};

/// A forked process that does `work` and ends with what it returns. Both sides wait for each other's bytes.
class Child {
 public:
  explicit Child(const std::function<int(Child&)>& work) {
    if (pipe2(to_child_, O_CLOEXEC) != 0 || pipe2(to_parent_, O_CLOEXEC) != 0) abort();
    process_ = fork();
    if (process_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    is_child_ = true;
    int result = 99;
    try {
      result = work(*this);
    } catch (...) {
    }
    _exit(result);
  }
  ~Child() {
    kill();
    for (const int end : {to_child_[0], to_child_[1], to_parent_[0], to_parent_[1]}) close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void say() const {
    const char byte = '.';
    if (write(is_child_ ? to_parent_[1] : to_child_[1], &byte, 1) != 1) abort();
  }

  /// Of a side that has died nothing is heard: the test fails instead of waiting for ever.
  void hear() const {
    char byte = 0;
    pollfd readable{is_child_ ? to_child_[0] : to_parent_[0], POLLIN, 0};
    if (poll(&readable, 1, 60'000) == 1 && read(readable.fd, &byte, 1) == 1) return;
    if (is_child_) _exit(98);
    abort();
  }

  void kill() {
    if (process_ > 0) ::kill(process_, SIGKILL);
    wait();
  }

  int wait() {
    int status = -1;
    if (process_ > 0) waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t process() const { return process_; }

 private:
  int to_child_[2]{};
  int to_parent_[2]{};
  pid_t process_ = -1;
  bool is_child_ = false;
};

bool holds_in_another_process(const std::function<bool()>& what) {
  return Child([&](Child&) { return what() ? 7 : 1; }).wait() == 7;
}

bool can_lease(const std::string& directory) {
  return NonceBook(directory).try_lease(1, "x").has_value();
}

bool another_can_lease(const std::string& directory) {
  return holds_in_another_process([&] { return can_lease(directory); });
}

std::vector<BookEntry> all_in(const std::string& directory) {
  return NonceBook(directory).try_lease(1, "x")->from("", 0);
}

/// As a process reads it that has nothing in memory.
bool another_reads(const std::string& directory, const std::vector<BookEntry>& entries) {
  return holds_in_another_process([&] { return all_in(directory) == entries; });
}

BookEntry entry_of(std::uint64_t nonce, const std::string& genesis = "0xcd", double time = 1) {
  BookEntry entry;
  entry.nonce = nonce;
  entry.stage = BookStage::sent;
  entry.tx_hash = "0x" + std::string(64, 'a');
  entry.provider = "local-a";
  entry.genesis = genesis;
  entry.block = 100;
  entry.time = time;
  entry.writer = {"c1f5a8b0-boot", 7, 8, 9};
  return entry;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// While it lives, no file of this process grows beyond `bytes`, and writing beyond is an error instead of a death.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  void set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("a lease ends with its holder, whatever children it has forked") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  REQUIRE(lease);
  Child heir([](Child& self) {
    self.hear();
    return 0;
  });
  CHECK_FALSE(another_can_lease(directory.path()));
  lease.reset();
  CHECK(another_can_lease(directory.path()));
  CHECK(can_lease(directory.path()));
  heir.say();
  CHECK(heir.wait() == 0);
}

TEST_CASE("a lease ends with its holder even when a child was made past the C library") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  const pid_t heir = _Fork();  // no handler runs: the child has the open lock file
  if (heir == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) pause();
  }
  lease.reset();
  CHECK(another_can_lease(directory.path()));
  CHECK(can_lease(directory.path()));
  kill(heir, SIGKILL);
  waitpid(heir, nullptr, 0);
}

TEST_CASE("a lease ends when its holder is killed") {
  const Directory directory;
  Child holder([&](Child& self) {
    const auto lease = NonceBook(directory.path()).try_lease(1, "x");
    Child heir([&](Child&) {
      prctl(PR_SET_PDEATHSIG, 0);
      self.hear();
      return 0;
    });
    self.say();
    while (lease) pause();
    return 1;
  });
  holder.hear();
  CHECK_FALSE(can_lease(directory.path()));
  holder.kill();
  CHECK(can_lease(directory.path()));
  holder.say();  // to the heir
}

TEST_CASE("asking for a held lease again does not let go of it") {
  const Directory directory;
  const NonceBook book(directory.path());
  const auto lease = book.try_lease(1, "x");
  REQUIRE(lease);
  CHECK_FALSE(book.try_lease(1, "x"));
  CHECK_FALSE(another_can_lease(directory.path()));
  CHECK_FALSE(another_can_lease(directory.path()));
}

TEST_CASE("a lease is worth nothing in a forked child, which can take one of its own") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  lease->put(entry_of(1));
  Child child([&](Child& self) {
    auto refused = [](const std::function<void()>& use) {
      try {
        use();
      } catch (const BookError&) {
        return true;
      }
      return false;
    };
    if (!refused([&] { lease->put(entry_of(2)); })) return 1;
    if (!refused([&] { lease->forget_below("", 9); })) return 2;
    if (!refused([&] { lease->find("", 1); })) return 3;
    if (!refused([&] { lease->from("", 1); })) return 4;
    if (!refused([&] { lease->last_act({}); })) return 5;
    if (can_lease(directory.path())) return 6;
    self.say();
    self.hear();  // the parent has let go
    auto own = NonceBook(directory.path()).try_lease(1, "x");
    if (!own) return 7;
    lease.reset();
    own->put(entry_of(3));
    self.say();
    self.hear();
    own.reset();
    return 0;
  });
  child.hear();
  CHECK_FALSE(another_can_lease(directory.path()));
  CHECK_FALSE(can_lease(directory.path()));
  lease->put(entry_of(2));
  lease.reset();
  child.say();
  child.hear();
  CHECK_FALSE(can_lease(directory.path()));
  child.say();
  CHECK(child.wait() == 0);
  CHECK(all_in(directory.path()) == std::vector{entry_of(1), entry_of(2), entry_of(3)});
}

TEST_CASE("a child that ends with its parent's lease in hand disturbs nobody") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  CHECK(holds_in_another_process([&] {
    lease.reset();
    return true;
  }));
  CHECK_FALSE(another_can_lease(directory.path()));
  lease->put(entry_of(1));
  lease.reset();
  CHECK(another_reads(directory.path(), {entry_of(1)}));
}

TEST_CASE("all book objects of a process share one book, however its directory is spelt") {
  const Directory directory;
  const std::string link = directory.path() + "/link";
  fs::create_directory(directory.path() + "/book");
  fs::permissions(directory.path() + "/book", fs::perms::owner_all);
  fs::create_directory_symlink(".", link);
  const NonceBook a(directory.path() + "/book");
  const NonceBook b(directory.path() + "/book/../book//");
  const NonceBook c(link + "/book");
  auto lease = a.try_lease(1, "x");
  REQUIRE(lease);
  CHECK_FALSE(b.try_lease(1, "x"));
  CHECK_FALSE(c.try_lease(1, "x"));
  CHECK_FALSE(holds_in_another_process([&] { return b.try_lease(1, "x").has_value(); }));
  CHECK(a.try_lease(2, "x"));
  CHECK(a.try_lease(1, "y"));
  lease->put(entry_of(1));
  lease.reset();
  lease = b.try_lease(1, "x");
  REQUIRE(lease);
  CHECK(lease->from("", 0) == std::vector{entry_of(1)});
  lease->put(entry_of(2));
  lease.reset();
  CHECK(c.try_lease(1, "x")->from("", 0) == std::vector{entry_of(1), entry_of(2)});
  CHECK_FALSE(a.writer() == b.writer());
  CHECK(a.writer() == a.writer());
}

TEST_CASE("a lease that is moved is held once, and one that is moved over ends") {
  const Directory directory;
  const NonceBook book(directory.path());
  auto x = book.try_lease(1, "x");
  NonceLease moved(std::move(*x));
  x.reset();
  CHECK_FALSE(book.try_lease(1, "x"));
  auto y = book.try_lease(1, "y");
  moved = std::move(*y);
  y.reset();
  CHECK(book.try_lease(1, "x"));
  CHECK_FALSE(book.try_lease(1, "y"));
}

TEST_CASE("threads give no number twice") {
  const Directory directory;
  const NonceBook shared(directory.path());
  constexpr std::uint64_t rounds = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const NonceBook own(directory.path());
      for (std::uint64_t done = 0; done < rounds;) {
        auto lease = (i % 2 == 0 ? own : shared).try_lease(1, "x");
        if (!lease) {
          std::this_thread::yield();
          continue;
        }
        const auto entries = lease->from("", 0);
        lease->put(entry_of(entries.empty() ? 0 : entries.back().nonce + 1));
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<BookEntry> expected;
  for (std::uint64_t nonce = 0; nonce < 4 * rounds; ++nonce) expected.push_back(entry_of(nonce));
  CHECK(all_in(directory.path()) == expected);
  CHECK(another_reads(directory.path(), expected));
}

TEST_CASE("entries read back as they were, whatever they hold") {
  const Directory directory;
  std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
  BookEntry entry;
  entry.nonce = std::numeric_limits<std::uint64_t>::max();
  entry.stage = BookStage::free;
  for (int byte = 0; byte < 256; ++byte) entry.provider += static_cast<char>(byte);
  entry.tx_hash = "-";
  entry.genesis = "~0x";
  entry.block = std::numeric_limits<std::uint64_t>::max() - 1;
  entry.block_hash = "with blank\nand line";
  entry.edition = std::numeric_limits<std::uint32_t>::max();
  entry.time = 0.1 + 0.2;
  entry.writer = {"", std::numeric_limits<pid_t>::max(), std::numeric_limits<std::uint64_t>::max(), 1};
  std::vector<BookEntry> entries{BookEntry{}};
  for (const double time : {1e-310, 123456.78901234567, 1e300, -0.5})
    entries.push_back(entry_of(entries.size(), "", time));
  entries.back().stage = BookStage::mined;
  entries.back().block_hash = "0xef";
  entries.push_back(entry);
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  for (const BookEntry& each : entries) lease->put(each);
  CHECK(lease->from("", 0) == entries);
  lease.reset();
  CHECK(another_reads(directory.path(), entries));
  std::setlocale(LC_NUMERIC, "C");
}

TEST_CASE("a time that is no number is refused") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  CHECK_THROWS_AS(lease->put(entry_of(1, "", std::numeric_limits<double>::quiet_NaN())), BookError);
  CHECK_THROWS_AS(lease->put(entry_of(1, "", std::numeric_limits<double>::infinity())), BookError);
  CHECK(lease->from("", 0).empty());
}

TEST_CASE("an unknown genesis fits every chain") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  lease->put(entry_of(5, "0xaa"));
  lease->put(entry_of(5, "0xbb"));
  lease->put(entry_of(6, ""));
  CHECK(lease->find("0xaa", 5) == entry_of(5, "0xaa"));
  CHECK(lease->find("0xbb", 5) == entry_of(5, "0xbb"));
  CHECK(lease->find("", 5) == entry_of(5, "0xbb"));
  CHECK_FALSE(lease->find("0xcc", 5));
  CHECK_FALSE(lease->find("", 7));
  CHECK(lease->find("0xcc", 6) == entry_of(6, ""));
  CHECK(lease->from("0xaa", 0) == std::vector{entry_of(5, "0xaa"), entry_of(6, "")});
  CHECK(lease->from("0xaa", 6) == std::vector{entry_of(6, "")});
  CHECK(lease->from("", 0) == std::vector{entry_of(5, "0xaa"), entry_of(5, "0xbb"), entry_of(6, "")});

  lease->put(entry_of(5, "0xaa", 2));
  lease->put(entry_of(6, "0xaa", 2));
  CHECK(lease->find("", 5) == entry_of(5, "0xaa", 2));
  CHECK(lease->find("0xbb", 5) == entry_of(5, "0xbb"));
  CHECK_FALSE(lease->find("0xbb", 6));
  lease->put(entry_of(5, "", 3));
  const std::vector expected{entry_of(5, "", 3), entry_of(6, "0xaa", 2)};
  CHECK(lease->from("", 0) == expected);
  lease.reset();
  CHECK(another_reads(directory.path(), expected));
}

TEST_CASE("numbers that the chain has used up are forgotten, and no others") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  for (const std::uint64_t nonce : {3, 4, 5}) {
    lease->put(entry_of(nonce, "0xaa"));
    lease->put(entry_of(nonce, "0xbb"));
  }
  lease->put(entry_of(2, ""));
  lease->put(entry_of(6, ""));
  lease->forget_below("0xaa", 5);
  const std::vector left{entry_of(3, "0xbb"), entry_of(4, "0xbb"), entry_of(5, "0xaa"), entry_of(5, "0xbb"),
                         entry_of(6, "")};
  CHECK(lease->from("", 0) == left);
  const auto size = fs::file_size(directory.file());
  lease->forget_below("0xaa", 5);
  CHECK(fs::file_size(directory.file()) == size);
  lease.reset();
  CHECK(another_reads(directory.path(), left));
  lease = NonceBook(directory.path()).try_lease(1, "x");
  lease->forget_below("", std::numeric_limits<std::uint64_t>::max());
  CHECK(lease->from("", 0).empty());
  lease.reset();
  CHECK(another_reads(directory.path(), {}));
}

TEST_CASE("a writer's last act is the newest time among its entries") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  BookWriter other = entry_of(1).writer;
  other.book += 1;
  auto by_other = [&](std::uint64_t nonce, double time) {
    BookEntry entry = entry_of(nonce, "0xcd", time);
    entry.writer = other;
    return entry;
  };
  CHECK(lease->last_act(other) == 0);
  lease->put(entry_of(1, "0xcd", 10));
  lease->put(entry_of(2, "0xaa", 30));
  lease->put(entry_of(3, "0xcd", 20));
  lease->put(by_other(4, 40));
  CHECK(lease->last_act(entry_of(1).writer) == 30);
  CHECK(lease->last_act(other) == 40);
  lease->put(by_other(4, 35));
  CHECK(lease->last_act(other) == 35);
  lease->forget_below("0xaa", 3);
  CHECK(lease->last_act(entry_of(1).writer) == 20);
  lease->put(by_other(3, 36));
  CHECK(lease->last_act(entry_of(1).writer) == 10);
  lease->forget_below("", 9);
  CHECK(lease->last_act(entry_of(1).writer) == 0);
  CHECK(lease->last_act(other) == 0);
}

TEST_CASE("an empty file is an empty book") {
  const Directory directory;
  CHECK(all_in(directory.path()).empty());
  CHECK(fs::file_size(directory.file()) == 0);
  CHECK(another_reads(directory.path(), {}));
}

TEST_CASE("a line that was written in part is as if never written, and the next takes its place") {
  const Directory directory;
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(1));
  const std::string one = text_of(directory.file());
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(2));
  const std::string two = text_of(directory.file());
  for (std::size_t size = one.size(); size < two.size(); ++size) {
    const Directory torn;
    CHECK(all_in(torn.path()).empty());
    write_text(torn.file(), two.substr(0, size));
    std::vector<BookEntry> expected{entry_of(1)};
    if (all_in(torn.path()) != expected) FAIL_CHECK("cut at " << size);
    NonceBook(torn.path()).try_lease(1, "x")->put(entry_of(3));
    expected.push_back(entry_of(3));
    // A fork for each would be slow: another book object reads all again once the file is another.
    const std::string text = text_of(torn.file());
    fs::remove(torn.file());
    write_text(torn.file(".lock").substr(0, torn.file(".lock").size() - 5), text);
    fs::permissions(torn.file(), fs::perms::owner_read | fs::perms::owner_write);
    if (all_in(torn.path()) != expected) FAIL_CHECK("written after a cut at " << size);
  }
}

TEST_CASE("a book that ends before its first entry does is damaged: it came into being with that entry") {
  const Directory directory;
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(1));
  const std::string one = text_of(directory.file());
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(2));
  for (std::size_t size = 1; size < one.size(); ++size) {
    write_text(directory.file(), one.substr(0, size));
    CAPTURE(size);
    CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains(directory.file()) &&
                                                    Catch::Contains(" is damaged: line ") &&
                                                    Catch::Contains("move the file away once none of the account's"));
  }
}

TEST_CASE("the first entry comes with the file's name, in one step") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  const std::string path = directory.file();
  fs::create_hard_link(path, directory.path() + "/old.txt");
  lease->put(entry_of(1));
  CHECK(fs::file_size(directory.path() + "/old.txt") == 0);
  CHECK_FALSE(fs::exists(path + ".new"));
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  lease->put(entry_of(2));
  CHECK(lease->from("", 0) == std::vector{entry_of(1), entry_of(2)});
  lease.reset();
  CHECK(another_reads(directory.path(), {entry_of(1), entry_of(2)}));
}

TEST_CASE("nothing of a line that was written in part outlasts a shorter one") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  for (const std::uint64_t nonce : {1, 2}) lease->put(entry_of(nonce));
  lease.reset();
  std::ofstream(directory.file(), std::ios::app) << "put " << std::string(1000, '7');
  NonceBook(directory.path()).try_lease(1, "x")->forget_below("", 2);
  CHECK(text_of(directory.file()).back() == '\n');
  CHECK(another_reads(directory.path(), {entry_of(2)}));
}

TEST_CASE("a damaged book is an error that names file and line, never an empty book") {
  const Directory directory;
  {
    auto lease = NonceBook(directory.path()).try_lease(1, "x");
    for (const std::uint64_t nonce : {1, 2, 3}) lease->put(entry_of(nonce));
    lease->forget_below("", 2);
  }
  const std::string path = directory.file();
  const std::string good = text_of(path);
  auto is_refused = [&](const std::string& text, const std::string& line) {
    CAPTURE(text);
    write_text(path, text);
    for (int i = 0; i < 2; ++i) {
      CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains(path) && Catch::Contains("line " + line + " ") &&
                                                      Catch::Contains("move the file away once none of the account's"));
    }
    CHECK(holds_in_another_process([&] {
      try {
        all_in(directory.path());
      } catch (const BookError&) {
        return true;
      }
      return false;
    }));
  };
  auto changed = [&](std::size_t at) {
    std::string text = good;
    text[at] = static_cast<char>(text[at] ^ 1);
    return text;
  };
  is_refused("garbage", "1");
  is_refused(good.substr(0, 5), "1");
  is_refused("garbage\n", "1");
  is_refused("\n", "1");
  is_refused("rpcroute nonce book 2\n" + good.substr(good.find('\n') + 1), "1");
  is_refused(changed(0), "1");
  const auto second = good.find('\n') + 1;
  const auto third = good.find('\n', second) + 1;
  const auto last = good.rfind('\n', good.size() - 2) + 1;
  is_refused(changed(second + 4), "2");
  is_refused(changed(third - 2), "2");
  is_refused(changed(third + 4), "3");
  is_refused(changed(last + 7), "5");
  is_refused(good + "\n", "6");
  is_refused(good + "put 1\n", "6");
  is_refused(good + std::string(20, '\0') + "\n", "6");
  is_refused(good.substr(0, second), "2");
  is_refused(good.substr(0, third - 1), "2");
  is_refused(good.substr(0, second) + good.substr(third), "2");  // a line is missing
  is_refused(good.substr(0, third) + good.substr(second), "3");  // a line stands twice
  write_text(path, good);
  CHECK(all_in(directory.path()) == std::vector{entry_of(2), entry_of(3)});
}

TEST_CASE("what stands in a book's place is not taken for one") {
  const Directory directory;
  all_in(directory.path());
  const std::string path = directory.file();
  fs::remove(path);
  fs::create_directory(path);
  CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains(path) && Catch::Contains("move the file away once"));
  CHECK_THROWS_AS(all_in(directory.path()), BookError);
  fs::remove(path);
  write_text(directory.path() + "/elsewhere.txt", "");
  fs::create_symlink(directory.path() + "/elsewhere.txt", path);
  CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains(path) && Catch::Contains("move the file away once"));
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_AS(all_in(directory.path()), BookError);
  fs::remove(path);
  write_text(path, "");
  fs::permissions(path, fs::perms::all);
  CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains("ours alone"));
  fs::remove(path);
  CHECK(all_in(directory.path()).empty());
  CHECK(another_can_lease(directory.path()));
}

TEST_CASE("a write that fails leaves the book as it was") {
  const Directory directory;
  auto lease = NonceBook(directory.path()).try_lease(1, "x");
  for (const rlim_t room : {0, 10, 100}) {  // from the very first line on
    const FileLimit limit(room);
    CHECK_THROWS_WITH(lease->put(entry_of(1)), Catch::Contains(directory.file()) && Catch::Contains("written"));
    CHECK(lease->from("", 0).empty());
    CHECK(fs::file_size(directory.file()) == 0);
  }
  lease->put(entry_of(1));
  const auto size = fs::file_size(directory.file());
  for (const rlim_t room : {0, 1, 30, 100}) {
    const FileLimit limit(size + room);
    CHECK_THROWS_AS(lease->put(entry_of(1, "0xcd", 2)), BookError);
    CHECK_THROWS_AS(lease->put(entry_of(2)), BookError);
    CHECK(lease->from("", 0) == std::vector{entry_of(1)});
    CHECK(lease->last_act(entry_of(1).writer) == 1);
    CHECK(fs::file_size(directory.file()) == size);
  }
  {
    const FileLimit limit(size + 5);
    CHECK_THROWS_AS(lease->forget_below("", 9), BookError);
    CHECK(lease->from("", 0) == std::vector{entry_of(1)});
  }
  lease->put(entry_of(2));
  lease.reset();
  CHECK(another_reads(directory.path(), {entry_of(1), entry_of(2)}));
}

TEST_CASE("the file stays in proportion to what lives in it") {
  const Directory directory;
  const NonceBook book(directory.path());
  std::vector<BookEntry> living;
  for (std::uint64_t nonce = 0; nonce < 50; ++nonce) {
    for (const double time : {1, 2, 3}) book.try_lease(1, "x")->put(entry_of(nonce, "0xcd", time));
    living.push_back(entry_of(nonce, "0xcd", 3));
  }
  for (double time = 4; time < 500; ++time) {
    book.try_lease(1, "x")->put(entry_of(7, "0xcd", time));
    living[7].time = time;
  }
  const std::string text = text_of(directory.file());
  CHECK(std::count(text.begin(), text.end(), '\n') <= 50 * 2 + 100);
  CHECK(directory.file(".new").empty());
  CHECK((fs::status(directory.file()).permissions() & ~(fs::perms::owner_read | fs::perms::owner_write)) ==
        fs::perms::none);
  CHECK(all_in(directory.path()) == living);
  CHECK(another_reads(directory.path(), living));

  book.try_lease(1, "x")->forget_below("", 49);
  for (double time = 4; time < 500; ++time) book.try_lease(1, "x")->put(entry_of(49, "0xcd", time));
  CHECK(fs::file_size(directory.file()) < 100 * 300);
  CHECK(another_reads(directory.path(), {entry_of(49, "0xcd", 499)}));
}

TEST_CASE("a file that is written anew takes the old one's name in one step, and leaves the old as it was") {
  const Directory directory;
  const NonceBook book(directory.path());
  book.try_lease(1, "x")->put(entry_of(1));
  const std::string path = directory.file();
  fs::create_hard_link(path, directory.path() + "/old.txt");
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  REQUIRE(inotify_add_watch(watch, directory.path().c_str(), IN_DELETE | IN_MOVE) >= 0);
  for (double time = 2; fs::equivalent(path, directory.path() + "/old.txt"); ++time) {
    REQUIRE(time < 200);
    book.try_lease(1, "x")->put(entry_of(1, "0xcd", time));
  }
  alignas(inotify_event) char events[4096];
  const ssize_t size = read(watch, events, sizeof events);
  close(watch);
  std::vector<std::pair<std::uint32_t, std::string>> seen;
  for (ssize_t at = 0; at < size;) {
    const auto* event = reinterpret_cast<const inotify_event*>(events + at);
    seen.emplace_back(event->mask, directory.path() + "/" + event->name);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
  CHECK(seen ==
        std::vector<std::pair<std::uint32_t, std::string>>{{IN_MOVED_FROM, path + ".new"}, {IN_MOVED_TO, path}});
  const std::string old = text_of(directory.path() + "/old.txt");
  CHECK(std::count(old.begin(), old.end(), '\n') > 60);
}

TEST_CASE("what writing the file anew needs may be in its way or in short supply, and nothing is lost") {
  const Directory directory;
  const NonceBook book(directory.path());
  auto put_many = [&](double from) {
    for (double time = from; time < from + 300; ++time) book.try_lease(1, "x")->put(entry_of(1, "0xcd", time));
  };
  book.try_lease(1, "x")->put(entry_of(2));
  const std::string path = directory.file();
  const std::string anew = path + ".new";

  write_text(anew, "left by one who was killed");
  put_many(1000);
  CHECK_FALSE(fs::exists(anew));
  CHECK(fs::file_size(path) < 100 * 300);

  write_text(directory.path() + "/elsewhere.txt", "mine");
  fs::create_symlink(directory.path() + "/elsewhere.txt", anew);
  put_many(2000);
  CHECK_FALSE(fs::is_symlink(path));
  CHECK(text_of(directory.path() + "/elsewhere.txt") == "mine");

  fs::create_directory(anew);
  put_many(3000);
  CHECK(fs::is_directory(anew));
  CHECK(another_reads(directory.path(), {entry_of(1, "0xcd", 3299), entry_of(2)}));
  fs::remove(anew);
  put_many(4000);
  put_many(5000);
  CHECK(fs::file_size(path) < 100 * 300);
  CHECK(another_reads(directory.path(), {entry_of(1, "0xcd", 5299), entry_of(2)}));
}

TEST_CASE("a writer that is killed at any instant leaves all that it has put") {
  const Directory directory;
  for (int round = 0; round < 30; ++round) {
    // Three numbers are put again and again, so that every 70th time the file is written anew.
    Child writer([&](Child& self) {
      const NonceBook book(directory.path());
      for (double time = 1;; ++time) {
        auto lease = book.try_lease(1, "x");
        for (const std::uint64_t nonce : {1, 2, 3}) lease->put(entry_of(nonce, "0xcd", time));
        if (time <= 400) self.say();
      }
      return 0;
    });
    const int heard = 20 + 7 * round;
    for (int i = 0; i < heard; ++i) writer.hear();
    writer.kill();
    const auto entries = all_in(directory.path());
    REQUIRE(entries.size() == 3);
    for (std::uint64_t i = 0; i < 3; ++i) {
      CHECK(entries[i].time >= heard);
      CHECK(entries[i] == entry_of(i + 1, "0xcd", entries[i].time));
      CHECK(entries[0].time - entries[i].time <= 1);
    }
    CHECK(another_reads(directory.path(), entries));
  }
}

TEST_CASE("processes that take turns see each other's entries, whoever writes the file anew") {
  const Directory directory;
  constexpr std::uint64_t turns = 300;
  // Each turn: what the other did last is there, one number goes up, and an old one is put again or forgotten.
  auto turn = [&](std::uint64_t k) {
    auto lease = NonceBook(directory.path()).try_lease(1, "x");
    if (!lease) return false;
    const auto last = lease->from("", k == 0 ? 0 : k - 1);
    if (k > 0 && last != std::vector{entry_of(k - 1, "0xcd", static_cast<double>(k))}) return false;
    const auto lowest = lease->from("", 0);
    if (!lowest.empty() && lowest.front().nonce != (k - 1) / 50 * 50) return false;
    lease->put(entry_of(k));
    lease->put(entry_of(k, "0xcd", static_cast<double>(k + 1)));
    if (k % 50 == 0) lease->forget_below("0xcd", k);
    return true;
  };
  Child other([&](Child& self) {
    for (std::uint64_t k = 1; k < turns; k += 2) {
      self.hear();
      if (!turn(k)) return 1;
      self.say();
    }
    return 0;
  });
  std::uint64_t right = 0;
  for (std::uint64_t k = 0; k < turns; k += 2) {
    right += turn(k) ? 1 : 0;
    other.say();
    other.hear();
  }
  CHECK(right == turns / 2);
  CHECK(other.wait() == 0);
  CHECK(all_in(directory.path()).size() == 50);
}

TEST_CASE("a book that was exchanged or taken away is read again") {
  const Directory directory;
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(1));
  const std::string path = directory.file();
  const std::string one = text_of(path);
  NonceBook(directory.path()).try_lease(1, "x")->put(entry_of(2));
  const std::string two = text_of(path);
  write_text(path, one);  // in place, shorter
  CHECK(all_in(directory.path()) == std::vector{entry_of(1)});
  fs::rename(path, path + ".away");
  CHECK(all_in(directory.path()).empty());
  write_text(path, two);
  CHECK(all_in(directory.path()) == std::vector{entry_of(1), entry_of(2)});

  const Directory another;
  for (const std::uint64_t nonce : {1, 3}) NonceBook(another.path()).try_lease(1, "x")->put(entry_of(nonce));
  fs::last_write_time(another.file(), fs::last_write_time(path));
  fs::rename(another.file(), path);  // of one size and age
  CHECK(all_in(directory.path()) == std::vector{entry_of(1), entry_of(3)});

  std::string damaged = text_of(path);
  damaged[damaged.size() / 2] ^= 1;
  const auto before = fs::last_write_time(path);
  write_text(path, damaged);  // in place, of one size
  fs::last_write_time(path, before + std::chrono::seconds(1));
  CHECK_THROWS_AS(all_in(directory.path()), BookError);
  fs::remove_all(directory.path());
  CHECK(all_in(directory.path()).empty());
}

TEST_CASE("a book in a directory that others can write is refused, and what it holds is for its user alone") {
  const Directory directory;
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(directory.path(), fs::perms::owner_all | others);
    CHECK_THROWS_WITH(all_in(directory.path()), Catch::Contains("not ours alone"));
  }
  fs::permissions(directory.path(), fs::perms::owner_all);
  fs::create_directory_symlink(directory.path(), directory.path() + "/link");
  CHECK_THROWS_AS(all_in(directory.path() + "/link"), BookError);
  CHECK_THROWS_AS(all_in(directory.path() + "/link/"), BookError);
  write_text(directory.path() + "/file.txt", "");
  CHECK_THROWS_AS(all_in(directory.path() + "/file.txt"), BookError);
  CHECK_THROWS_AS(all_in(directory.path() + "/file.txt/below"), BookError);

  const mode_t mask = umask(0);
  CHECK(all_in(directory.path() + "/a/b/c").empty());
  umask(mask);
  for (const char* made : {"/a", "/a/b", "/a/b/c"}) {
    CHECK(fs::status(directory.path() + made).permissions() == fs::perms::owner_all);
  }
  for (const auto& file : fs::directory_iterator(directory.path() + "/a/b/c")) {
    CHECK(file.status().permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  }
}

TEST_CASE("the book stands where the user's state is kept") {
  const Directory root;
  const std::string home = root.path() + "/home";
  fs::create_directory(home);
  Variable chosen("RPCROUTE_STATE_DIR", (root.path() + "/chosen").c_str());
  Variable state("XDG_STATE_HOME", (root.path() + "/state").c_str());
  const Variable home_variable("HOME", home.c_str());
  const NonceBook book;
  auto made = [&](const std::string& path) {
    const bool before = fs::exists(root.path() + path);
    book.try_lease(1, "x");
    return !before && fs::exists(root.path() + path);
  };
  CHECK(made("/chosen"));
  chosen.set("");
  CHECK(made("/state/rpcroute"));
  state.set("relative");
  CHECK(made("/home/.local/state/rpcroute"));
  fs::remove_all(home + "/.local");
  chosen.set(nullptr);
  state.set(nullptr);
  CHECK(made("/home/.local/state/rpcroute"));
  chosen.set("relative/path");
  CHECK_THROWS_WITH(book.try_lease(1, "x"), Catch::Contains("RPCROUTE_STATE_DIR") && Catch::Contains("relative"));
  CHECK_FALSE(fs::exists("relative"));
}

TEST_CASE("a writer lives as long as its process, on this boot") {
  const NonceBook book("/nowhere");
  const BookWriter self = book.writer();
  CHECK(self.process == getpid());
  CHECK(self.started > 0);
  CHECK_FALSE(self.boot.empty());
  CHECK(writer_lives(self));
  auto with = [&](auto change) {
    BookWriter writer = self;
    change(writer);
    return writer;
  };
  CHECK(writer_lives(with([](BookWriter& writer) { writer.book += 1; })));
  CHECK_FALSE(writer_lives(with([](BookWriter& writer) { writer.started += 1; })));
  CHECK_FALSE(writer_lives(with([](BookWriter& writer) { writer.boot = "another"; })));
  CHECK_FALSE(writer_lives(with([](BookWriter& writer) { writer.boot.clear(); })));
  CHECK_FALSE(writer_lives(BookWriter{}));

  const Directory directory;
  Child child([&](Child& self_of_child) {
    BookEntry entry = entry_of(1);
    entry.writer = book.writer();
    NonceBook(directory.path()).try_lease(1, "x")->put(entry);
    self_of_child.say();
    self_of_child.hear();
    return 0;
  });
  child.hear();
  const BookWriter writer = all_in(directory.path()).at(0).writer;
  CHECK(writer.process == child.process());
  CHECK_FALSE(writer == self);
  CHECK(writer_lives(writer));
  child.say();
  siginfo_t ended{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child.process()), &ended, WEXITED | WNOWAIT) == 0);
  CHECK_FALSE(writer_lives(writer));  // a zombie
  CHECK(child.wait() == 0);
  CHECK_FALSE(writer_lives(writer));
}
