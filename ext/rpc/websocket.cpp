#include "rpc/websocket.hpp"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "rpc/descriptors.hpp"
#include "rpc/head_session.hpp"
#include "rpc/quiet_thread.hpp"

namespace rpcroute::rpc {
namespace {

namespace asio = boost::asio;

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

class HeadWatch::Impl {
 public:
  Impl(std::vector<HeadRequest> requests, const Environment& environment)
      : io_(new_context()), tls_(asio::ssl::context::tls_client), answers_(requests.size()) {
    for (std::size_t i = 0; i < requests.size(); ++i) prepare(std::move(requests[i]), i, environment);
    if (sessions_.empty()) return;
    thread_ = quiet_thread([this] { run(); });
  }

  ~Impl() {
    if (!thread_.joinable()) return;
    io_->stop();
    thread_.join();
    for (const auto& session : sessions_) session->abandon();
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<std::optional<HeadAnswer>> wait(Clock::time_point until, const Interrupt& interrupt) {
    std::unique_lock lock(mutex_);
    while (unanswered_ > 0 && !broken_ && Clock::now() < until) {
      answered_.wait_until(lock, std::min(until, Clock::now() + wait_slice));
      lock.unlock();
      if (interrupt && interrupt()) throw Interrupted{};
      lock.lock();
    }
    if (broken_) std::rethrow_exception(broken_);
    return answers_;
  }

 private:
  /// Nothing when no descriptor is free for it to wait on.
  static std::shared_ptr<asio::io_context> new_context() {
    try {
      auto io = std::make_shared<asio::io_context>(1);
      static_cast<void>(asio::ip::tcp::socket(*io));  // Asio opens its descriptors with the first socket's owner
      return io;
    } catch (const boost::system::system_error& error) {
      if (is_descriptor_shortage(error.code().value())) return nullptr;
      throw std::system_error(error.code());
    }
  }

  void prepare(HeadRequest request, std::size_t index, const Environment& environment) {
    auto endpoint = resolve_endpoint(request.provider, Transport::websocket, environment);
    if (auto* failure = std::get_if<Failure>(&endpoint)) return refuse(index, std::move(*failure));
    if (!io_) return refuse(index, descriptor_shortage());
    if (std::get<Endpoint>(endpoint).secure && !trusting_) {
      if (!descriptor_is_free()) return refuse(index, descriptor_shortage());
      trust(certificate_authorities(environment));
    }
    ++unanswered_;
    sessions_.push_back(make_head_session(io_, tls_, std::move(request), std::get<Endpoint>(std::move(endpoint)),
                                          [this, index](HeadAnswer answer) { file(index, std::move(answer)); }));
  }

  void refuse(std::size_t index, Failure failure) {
    HeadAnswer& answer = answers_[index].emplace();
    answer.timestamp = unix_now();
    answer.failure = std::move(failure);
  }

  /// Once, and only for wss: reading the system's authorities takes tens of milliseconds.
  void trust(const std::string& authorities) {
    boost::system::error_code ignored;  // without authorities no certificate is accepted, which the rows will say
    if (authorities.empty()) {
      tls_.set_default_verify_paths(ignored);
    } else {
      tls_.load_verify_file(authorities, ignored);
    }
    trusting_ = true;
  }

  void run() {
    try {
      for (const auto& session : sessions_) session->start();
      io_->run();
      const std::lock_guard lock(mutex_);
      if (unanswered_ > 0) throw std::bad_alloc();  // the sessions were stopped; or nobody waits any more
    } catch (...) {
      const std::lock_guard lock(mutex_);
      broken_ = std::current_exception();
      answered_.notify_all();
    }
  }

  void file(std::size_t index, HeadAnswer answer) {
    const std::lock_guard lock(mutex_);
    answers_[index] = std::move(answer);
    if (--unanswered_ == 0) answered_.notify_all();
  }

  std::shared_ptr<asio::io_context> io_;  // shared with resolver threads that may outlive us
  asio::ssl::context tls_;
  bool trusting_ = false;
  std::vector<std::shared_ptr<HeadSession>> sessions_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::vector<std::optional<HeadAnswer>> answers_;
  std::size_t unanswered_ = 0;
  std::exception_ptr broken_;
  std::thread thread_;
};

HeadWatch::HeadWatch(std::vector<HeadRequest> requests, const Environment& environment)
    : impl_(std::make_unique<Impl>(std::move(requests), environment)) {}

HeadWatch::~HeadWatch() = default;

std::vector<std::optional<HeadAnswer>> HeadWatch::wait(Clock::time_point until, const Interrupt& interrupt) {
  return impl_->wait(until, interrupt);
}

}  // namespace rpcroute::rpc
