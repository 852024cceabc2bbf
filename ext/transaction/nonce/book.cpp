#include "transaction/nonce/book.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "chain/keccak.hpp"

namespace rpcroute::transaction {
namespace {

constexpr std::size_t most_entries = 256;
constexpr std::size_t most_broadcasts = 100'000;

/// 0 when it has ended, whether its parent knows that yet or not.
std::uint64_t process_started(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
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

void check_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    throw std::runtime_error("the nonce book's directory " + path + " cannot be made: " + std::strerror(errno));
  }
  struct stat status {};
  const bool ours = lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
                    (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours) throw std::runtime_error("the nonce book's directory " + path + " is not ours alone to write");
}

/// Entries are lines of nine fields: the stage is one letter, the provider's id is in hexadecimal, "-" is empty.
constexpr std::array<char, 3> stage_letters{'p', 's', 'm'};

std::string line_of(const BookEntry& entry) {
  std::ostringstream line;
  line.precision(17);
  const chain::Bytes provider(entry.provider.begin(), entry.provider.end());
  line << entry.nonce << ' ' << stage_letters[static_cast<std::size_t>(entry.stage)] << ' '
       << (entry.tx_hash.empty() ? "-" : entry.tx_hash) << ' ' << entry.head << ' ' << entry.time << ' '
       << entry.process << ' ' << entry.process_started << ' ' << chain::to_hex(provider) << ' '
       << (entry.genesis.empty() ? "-" : entry.genesis) << '\n';
  return line.str();
}

std::optional<BookEntry> entry_of(const std::string& text) {
  std::istringstream line(text);
  BookEntry entry;
  char letter = 0;
  std::string provider;
  line >> entry.nonce >> letter >> entry.tx_hash >> entry.head >> entry.time >> entry.process >>
      entry.process_started >> provider >> entry.genesis;
  const auto* stage = std::find(stage_letters.begin(), stage_letters.end(), letter);
  const auto provider_bytes = chain::from_hex(provider);
  if (!line || stage == stage_letters.end() || !provider_bytes) return std::nullopt;
  entry.stage = static_cast<BookStage>(stage - stage_letters.begin());
  if (entry.tx_hash == "-") entry.tx_hash.clear();
  if (entry.genesis == "-") entry.genesis.clear();
  entry.provider.assign(provider_bytes->begin(), provider_bytes->end());
  return entry;
}

bool is_same_chain(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

}  // namespace

NonceLease::NonceLease(int descriptor) : descriptor_(descriptor) {
  read();
}

NonceLease::~NonceLease() {
  if (descriptor_ >= 0) close(descriptor_);
}

NonceLease::NonceLease(NonceLease&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), entries_(std::move(other.entries_)) {}

NonceLease& NonceLease::operator=(NonceLease&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(entries_, other.entries_);
  return *this;
}

std::map<std::uint64_t, BookEntry> NonceLease::entries(const std::string& genesis) const {
  std::map<std::uint64_t, BookEntry> of_chain;
  for (const BookEntry& entry : entries_) {
    if (is_same_chain(entry.genesis, genesis)) of_chain[entry.nonce] = entry;
  }
  for (auto& [nonce, entry] : of_chain) {
    if (entry.stage == BookStage::prepared) entry.time = last_act(entry.process, entry.process_started);
  }
  return of_chain;
}

double NonceLease::last_act(pid_t process, std::uint64_t process_started) const {
  double last = 0;
  for (const BookEntry& entry : entries_) {
    const bool is_its = entry.process == process && entry.process_started == process_started;
    if (is_its) last = std::max(last, entry.time);
  }
  return last;
}

void NonceLease::put(BookEntry entry) {
  std::erase_if(entries_, [&](const BookEntry& other) {
    return other.nonce == entry.nonce && is_same_chain(other.genesis, entry.genesis);
  });
  entries_.push_back(std::move(entry));
  if (entries_.size() > most_entries) entries_.erase(entries_.begin());
  write();
}

void NonceLease::erase(std::uint64_t nonce, const std::string& tx_hash) {
  const auto erased =
      std::erase_if(entries_, [&](const BookEntry& entry) { return entry.nonce == nonce && entry.tx_hash == tx_hash; });
  if (erased != 0) write();
}

void NonceLease::read() {
  std::string text;
  std::array<char, 4096> piece{};
  off_t offset = 0;
  while (true) {
    const ssize_t got = pread(descriptor_, piece.data(), piece.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(got));
    offset += got;
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = entry_of(line)) entries_.push_back(std::move(*entry));
  }
}

void NonceLease::write() const {
  std::string text;
  for (const BookEntry& entry : entries_) text += line_of(entry);
  // One call for the whole: a process that is killed leaves the old content or the new.
  const ssize_t written = pwrite(descriptor_, text.data(), text.size(), 0);
  const bool whole = written == static_cast<ssize_t>(text.size());
  if (!whole || ftruncate(descriptor_, static_cast<off_t>(text.size())) != 0) {
    throw std::runtime_error(std::string("the nonce book cannot be written: ") + std::strerror(errno));
  }
}

NonceBook::NonceBook(std::string directory)
    : directory_(directory.empty() ? "/tmp/rpcroute-" + std::to_string(geteuid()) : std::move(directory)) {}

std::optional<NonceLease> NonceBook::try_lease(std::uint64_t chain_id, const std::string& account) const {
  check_directory(directory_);
  const std::string subject = std::to_string(chain_id) + " " + account;
  const chain::Hash digest = chain::keccak256({reinterpret_cast<const std::uint8_t*>(subject.data()), subject.size()});
  const std::string path = directory_ + "/nonces-" + chain::to_hex(chain::BytesView(digest).first(16)).substr(2);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) throw std::runtime_error("the nonce book " + path + " cannot be opened: " + std::strerror(errno));
  struct stat status {};
  const bool ours = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (!ours || flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor);
    if (!ours) throw std::runtime_error("the nonce book " + path + " is not a file of ours");
    return std::nullopt;
  }
  return NonceLease(descriptor);
}

void NonceBook::remember(const std::string& tx_hash, const Broadcast& broadcast) {
  const std::lock_guard lock(mutex_);
  if (broadcasts_.size() >= most_broadcasts) {
    const auto oldest = std::min_element(broadcasts_.begin(), broadcasts_.end(), [](const auto& a, const auto& b) {
      return a.second.started < b.second.started;
    });
    broadcasts_.erase(oldest);
  }
  broadcasts_[tx_hash] = broadcast;
}

std::optional<Broadcast> NonceBook::broadcast(const std::string& tx_hash) const {
  const std::lock_guard lock(mutex_);
  const auto found = broadcasts_.find(tx_hash);
  if (found == broadcasts_.end()) return std::nullopt;
  return found->second;
}

pid_t this_process() {
  return getpid();
}

std::uint64_t this_process_started() {
  return process_started(getpid());
}

bool writer_lives(const BookEntry& entry) {
  const std::uint64_t started = process_started(entry.process);
  return started != 0 && started == entry.process_started;
}

}  // namespace rpcroute::transaction
