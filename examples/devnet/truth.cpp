#include "truth.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace rpcroute::devnet {
namespace {

constexpr std::size_t heights_remembered = 200'000;
constexpr std::size_t file_buffer = std::size_t{1} << 20;

JsonText event(std::string_view name, double time) {
  JsonText json;
  json.begin_object().field("event", name).field("t", time);
  return json;
}

std::string height_line(const HeightAnswer& a) {
  auto json = event("height", a.time);
  json.field("provider", a.provider).field("method", a.method).field("reported", a.reported);
  json.field("head", a.head).field("view", a.view).field("lag", a.head - a.view).field("latency_ms", a.latency_ms);
  json.field("answered", a.latency_ms ? std::optional(a.time + *a.latency_ms / 1000) : std::nullopt);
  return json.end_object().take();
}

}  // namespace

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Truth::Truth(const std::string& path) : file_(path.empty() ? nullptr : std::fopen(path.c_str(), "w")) {
  if (path.empty()) return;
  if (!file_) throw std::invalid_argument("cannot write " + path);
  std::setvbuf(file_.get(), nullptr, _IOFBF, file_buffer);
}

void Truth::write(const std::string& line) {
  if (!file_) return;
  std::fwrite(line.data(), 1, line.size(), file_.get());
  std::fputc('\n', file_.get());
}

void Truth::flush() {
  if (file_) std::fflush(file_.get());
}

void Truth::height(HeightAnswer answer) {
  if (file_) write(height_line(answer));
  heights_.push_back(std::move(answer));
  if (heights_.size() > heights_remembered) heights_.pop_front();
}

void Truth::lag(const std::string& provider, std::uint64_t blocks) {
  write(event("lag", unix_now()).field("provider", provider).field("blocks", blocks).end_object().take());
}

void Truth::missed(std::uint64_t slot) {
  write(event("missed", unix_now()).field("slot", slot).end_object().take());
}

void Truth::block(const Block& block) {
  auto json = event("block", block.time);
  json.field("number", block.number).field("hash", block.hash).field("slot", block.slot);
  json.key("transactions").begin_array();
  for (const auto& tx : block.transactions) json.value(tx.hash);
  write(json.end_array().end_object().take());
  for (std::size_t i = 0; i < block.transactions.size(); ++i) {
    const auto& hash = block.transactions[i].hash;
    auto& record = records_[hash];
    record.block = block.number;
    record.block_time = block.time;
    write(event("included", block.time)
              .field("hash", hash)
              .field("block", block.number)
              .field("index", std::uint64_t{i})
              .end_object()
              .take());
  }
}

void Truth::reorganised(std::size_t depth, const std::vector<Transaction>& orphans, std::uint64_t head) {
  write(event("reorg", unix_now()).field("depth", std::uint64_t{depth}).field("head", head).end_object().take());
  for (const auto& tx : orphans) {
    auto& record = records_[tx.hash];
    record.block.reset();
    record.block_time.reset();
    ++record.reorgs;
  }
}

void Truth::arrived(const Transaction& tx, const std::string& provider, std::uint64_t head, const std::string& answer) {
  const double now = unix_now();
  auto json = event("arrived", now);
  json.field("hash", tx.hash).field("provider", provider).field("from", tx.from).field("nonce", tx.nonce);
  write(json.field("head", head).field("answer", answer).end_object().take());
  auto [record, is_new] = records_.try_emplace(tx.hash);
  if (is_new) {
    record->second.transaction = tx;
    order_.push_back(tx.hash);
  }
  record->second.submissions.push_back({provider, now, head, answer, std::nullopt});
}

void Truth::passed_on(const Hash& hash, const std::string& provider, std::uint64_t head) {
  const double now = unix_now();
  auto json = event("passed_on", now);
  write(json.field("hash", hash).field("provider", provider).field("head", head).end_object().take());
  auto& record = records_[hash];
  if (!record.passed_on) record.passed_on = now;
  record.dropped.reset();
  for (auto& submission : record.submissions) {
    if (submission.provider == provider && !submission.passed_on) submission.passed_on = now;
  }
}

void Truth::dropped(const Hash& hash, const std::string& reason) {
  write(event("dropped", unix_now()).field("hash", hash).field("reason", reason).end_object().take());
  records_[hash].dropped = reason;
}

void Truth::describe(JsonText& json, const Record& record) {
  const auto& all = record.submissions;
  const auto accepted = std::find_if(all.begin(), all.end(), [](const auto& s) { return s.answer == "accepted"; });
  const auto& first = accepted == all.end() ? all.front() : *accepted;
  json.begin_object().field("hash", record.transaction.hash).field("from", record.transaction.from);
  json.field("nonce", record.transaction.nonce).field("provider", first.provider).field("arrived", first.arrived);
  json.field("head", first.head).field("passed_on", record.passed_on).field("block", record.block);
  json.field("block_time", record.block_time).field("accepted", accepted != all.end());
  json.field("dropped", record.dropped).field("reorgs", record.reorgs).key("submissions").begin_array();
  for (const auto& s : all) {
    json.begin_object().field("provider", s.provider).field("arrived", s.arrived).field("head", s.head);
    json.field("answer", s.answer).field("passed_on", s.passed_on).end_object();
  }
  json.end_array().end_object();
}

std::string Truth::transactions() const {
  JsonText json;
  json.begin_array();
  for (const auto& hash : order_) describe(json, records_.at(hash));
  return json.end_array().take();
}

std::string Truth::heights(double since) const {
  std::string json = "[";
  for (const auto& answer : heights_) {
    if (answer.time < since) continue;
    if (json.size() > 1) json += ',';
    json += height_line(answer);
  }
  return json + "]";
}

}  // namespace rpcroute::devnet
