#include "rpc/http.hpp"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "rpc/descriptors.hpp"
#include "rpc/mailbox.hpp"
#include "rpc/open_sockets.hpp"
#include "rpc/resolver.hpp"
#include "rpc/sigpipe.hpp"
#include "rpc/transfer.hpp"

namespace rpcroute::rpc {
namespace {

using namespace std::chrono_literals;

/// Requests started between two looks at the sockets, so that a start delays no answer's notice by more than about a
/// millisecond.
constexpr std::size_t start_group = 8;

/// While ready sockets are served, how long until the others are looked at again.
constexpr Clock::duration glance_interval = 250us;

/// How long ready sockets are served before deadlines, the timer and the Interrupt get their turn again: a peer whose
/// socket is always ready must not keep us from them.
constexpr Clock::duration serving_time = 5ms;

CURLM* initialised_multi() {
  static const bool initialised = [] {
    const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    if (code != CURLE_OK) throw std::runtime_error("libcurl cannot be initialised");
    return true;
  }();
  CURLM* multi = initialised ? curl_multi_init() : nullptr;
  if (multi == nullptr) throw std::bad_alloc();
  return multi;
}

void check(CURLMcode code) {
  if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc();
}

}  // namespace

class HttpClient::Engine final {
 public:
  Engine() : process_(getpid()), multi_(new_multi()) {}

  ~Engine() {
    if (inherited()) {
      abandon();
      return;
    }
    const SigpipeBlock block;
    cancel_all();
    idle_handles_.clear();
    curl_multi_cleanup(multi_);
    if (mailbox_) mailbox_->close();
    if (epoll_ >= 0) ::close(epoll_);
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  bool inherited() const { return getpid() != process_; }

  void submit(Ticket ticket, HttpRequest request) {
    if (outstanding() == 0) measure_descriptors();
    waiting_.push_back(std::make_unique<Transfer>(ticket, std::move(request)));
    pending_.insert(ticket);
  }

  void wait(const std::function<bool()>& enough, Clock::time_point until, const Interrupt& interrupt) {
    const SigpipeBlock block;
    if (!open_epoll()) fail_waiting();
    while (!pending_.empty() && !enough()) {
      if (interrupt && interrupt()) throw Interrupted{};
      start_some();
      look(next_wake(until));
      serve_ready();
      if (std::exchange(has_mail_, false)) read_mail();
      if (curl_timer_ && *curl_timer_ <= Clock::now()) run(CURL_SOCKET_TIMEOUT, 0, Clock::now());
      expire(Clock::now());
      if (Clock::now() >= until) return;
    }
  }

  bool pending(Ticket ticket) const { return pending_.contains(ticket); }
  bool any_finished() const { return !finished_.empty(); }

  std::optional<std::pair<Ticket, HttpReply>> take() {
    while (!order_.empty()) {
      const Ticket ticket = order_.front();
      order_.pop_front();
      if (auto reply = take(ticket)) return std::make_pair(ticket, std::move(*reply));
    }
    return std::nullopt;
  }

  std::optional<HttpReply> take(Ticket ticket) {
    auto found = finished_.extract(ticket);
    if (!found) return std::nullopt;
    if (finished_.empty()) order_.clear();
    return std::move(found.mapped());
  }

  void cancel(Ticket ticket) {
    std::erase_if(waiting_, [&](const auto& transfer) { return transfer->ticket() == ticket; });
    finished_.erase(ticket);
    pending_.erase(ticket);
    const auto active = active_.find(ticket);
    if (active != active_.end()) detach(*active->second);
  }

  void cancel_all() {
    waiting_.clear();
    finished_.clear();
    order_.clear();
    pending_.clear();
    while (!active_.empty()) detach(*active_.begin()->second);
    deadlines_.clear();
  }

  std::size_t outstanding() const { return pending_.size() + finished_.size(); }

 private:
  struct Watched {
    Transfer* owner;
    bool ready;  // it stands in ready_
  };
  struct Ready {
    int socket;
    int events;
    Clock::time_point seen;
  };

  CURLM* new_multi() {
    CURLM* multi = initialised_multi();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Engine::on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Engine::on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    return multi;
  }

  /// Tried again with every wait that has something to wait for.
  bool open_epoll() {
    if (epoll_ < 0 && !pending_.empty()) epoll_ = epoll_create1(EPOLL_CLOEXEC);
    return epoll_ >= 0 || pending_.empty();
  }

  void fail_waiting() {
    for (const auto& transfer : std::exchange(waiting_, {})) {
      file(transfer->ticket(), transfer->fail(descriptor_shortage(), Clock::now()));
    }
  }

  void measure_descriptors() { allow(spare_descriptors() + open_sockets_.size()); }

  void allow(std::size_t descriptors) {
    capacity_ = descriptors;
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(std::max<std::size_t>(capacity_ / 4 * 3, 1)));
  }

  bool fits(const Transfer& transfer) const {
    if (active_.empty()) return true;
    std::size_t wanted = open_sockets_.size() + transfer.descriptors_to_come();
    for (const auto& [ticket, other] : active_) wanted += other->descriptors_to_come();
    return wanted <= capacity_;
  }

  void start_some() {
    for (std::size_t started = 0; started < start_group && !waiting_.empty() && fits(*waiting_.front()); ++started) {
      std::unique_ptr<Transfer> transfer = std::move(waiting_.front());
      waiting_.pop_front();
      transfer->start(take_handle(), open_sockets_);
      Transfer& active = *active_.emplace(transfer->ticket(), std::move(transfer)).first->second;
      deadlines_.emplace(active.deadline(), active.ticket());
      check(curl_multi_add_handle(multi_, active.easy()));
    }
  }

  CurlEasy take_handle() {
    if (idle_handles_.empty()) {
      CurlEasy fresh(curl_easy_init());
      if (!fresh) throw std::bad_alloc();
      return fresh;
    }
    CurlEasy handle = std::move(idle_handles_.back());
    idle_handles_.pop_back();
    return handle;
  }

  Clock::time_point next_wake(Clock::time_point until) const {
    const Clock::time_point now = Clock::now();
    if (!ready_.empty() || (!waiting_.empty() && fits(*waiting_.front()))) return now;
    Clock::time_point wake = std::min(until, now + wait_slice);
    if (curl_timer_) wake = std::min(wake, *curl_timer_);
    if (!deadlines_.empty()) wake = std::min(wake, deadlines_.begin()->first);
    return wake;
  }

  /// Notes which sockets have become ready, waiting for one until `wake`.
  void look(Clock::time_point wake) {
    const auto left = std::chrono::ceil<Milliseconds>(wake - Clock::now());
    std::array<epoll_event, 256> events;
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(std::max<Milliseconds::rep>(left.count(), 0)));
    last_look_ = Clock::now();
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (mailbox_ && event.data.fd == mailbox_->descriptor()) {
        has_mail_ = true;
        continue;
      }
      const auto watched = watched_.find(event.data.fd);
      if (watched == watched_.end() || watched->second.ready) continue;
      int ready = 0;
      if ((event.events & EPOLLIN) != 0) ready |= CURL_CSELECT_IN;
      if ((event.events & EPOLLOUT) != 0) ready |= CURL_CSELECT_OUT;
      if ((event.events & (EPOLLERR | EPOLLHUP)) != 0) ready |= CURL_CSELECT_ERR;
      ready_.push_back({event.data.fd, ready, last_look_});
      watched->second.ready = true;
    }
  }

  void serve_ready() {
    const Clock::time_point end = Clock::now() + serving_time;
    while (!ready_.empty() && Clock::now() < end) {
      const Ready next = ready_.front();
      ready_.pop_front();
      const auto watched = watched_.find(next.socket);
      if (watched == watched_.end() || !watched->second.ready) continue;  // closed since it was seen
      watched->second.ready = false;
      if (watched->second.owner != nullptr) watched->second.owner->add_setup_queueing(Clock::now() - next.seen);
      run(next.socket, next.events, next.seen);
      if (Clock::now() - last_look_ > glance_interval) look(last_look_);
    }
  }

  /// Lets libcurl work on one socket (or its timers) and files what that completed.
  void run(curl_socket_t socket, int events, Clock::time_point seen) {
    if (socket == CURL_SOCKET_TIMEOUT) curl_timer_.reset();
    int running = 0;
    check(curl_multi_socket_action(multi_, socket, events, &running));
    thrown_.rethrow();
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      transfer->rethrow();
      if (transfer->wants_addresses()) {
        look_up(*transfer);
      } else if (transfer->wants_new_connection()) {
        curl_multi_remove_handle(multi_, transfer->easy());
        check(curl_multi_add_handle(multi_, transfer->easy()));
      } else if (transfer->lacked_descriptor(code)) {
        postpone(*transfer);
      } else {
        file(transfer->ticket(), transfer->finish(code, seen));
        detach(*transfer);
      }
    }
  }

  /// Has the host's addresses looked up for a transfer that libcurl has stopped.
  void look_up(Transfer& transfer) {
    curl_multi_remove_handle(multi_, transfer.easy());
    if (!open_mailbox()) return postpone(transfer);
    const HttpRequest& request = transfer.request();
    transfer.await(rpc::look_up(request.host, request.port,
                                [mailbox = mailbox_, ticket = transfer.ticket()](const Resolution& resolution) {
                                  mailbox->put({ticket, resolution});
                                }));
  }

  bool open_mailbox() {
    if (mailbox_) return true;
    auto mailbox = std::make_shared<Mailbox>();
    if (mailbox->descriptor() < 0) return false;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = mailbox->descriptor();
    epoll_ctl(epoll_, EPOLL_CTL_ADD, mailbox->descriptor(), &event);
    mailbox_ = std::move(mailbox);
    return true;
  }

  /// Goes on with the transfers whose look-ups have ended.
  void read_mail() {
    for (const auto& [ticket, resolution] : mailbox_->empty()) {
      const auto active = active_.find(ticket);
      if (active == active_.end() || !active->second->is_awaiting()) continue;
      if (resolution.out_of_memory) throw std::bad_alloc();
      Transfer& transfer = *active->second;
      if (resolution.failure && resolution.failure->error_class == ErrorClass::config) {
        postpone(transfer);
      } else if (!resolution.failure && transfer.use(resolution)) {
        check(curl_multi_add_handle(multi_, transfer.easy()));
      } else {
        file(ticket, transfer.fail(resolution.failure.value_or(no_addresses()), resolution.finished));
        detach(transfer);
      }
    }
  }

  /// Puts a transfer for which there was no descriptor back to the front of the queue, where it waits until one of ours
  /// is free; ends it when there are none of ours, or when it had been sent on a connection that died.
  void postpone(Transfer& transfer) {
    const Ticket ticket = transfer.ticket();
    const bool had_left = transfer.request_left();
    HttpReply reply = transfer.fail(descriptor_shortage(), Clock::now());
    auto again = std::make_unique<Transfer>(ticket, transfer.take_request());
    detach(transfer);
    if (had_left || (active_.empty() && open_sockets_.empty())) return file(ticket, std::move(reply));
    if (active_.empty()) close_kept_connections();
    allow(open_sockets_.size());
    waiting_.push_front(std::move(again));
  }

  /// libcurl has no other way to close them all at once. Only while nothing is active.
  void close_kept_connections() {
    curl_multi_cleanup(std::exchange(multi_, new_multi()));
    curl_timer_.reset();
  }

  void file(Ticket ticket, HttpReply reply) {
    finished_.emplace(ticket, std::move(reply));
    order_.push_back(ticket);
    pending_.erase(ticket);
  }

  void expire(Clock::time_point now) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      Transfer& transfer = *active_.at(deadlines_.begin()->second);
      file(transfer.ticket(), transfer.time_out(now));
      detach(transfer);
    }
  }

  void detach(Transfer& transfer) {
    const Ticket ticket = transfer.ticket();
    curl_multi_remove_handle(multi_, transfer.easy());
    for (auto& [socket, watched] : watched_) {
      if (watched.owner == &transfer) watched.owner = nullptr;
    }
    deadlines_.erase({transfer.deadline(), ticket});
    CurlEasy handle = transfer.release_handle();
    curl_easy_reset(handle.get());
    active_.erase(ticket);
    try {
      idle_handles_.push_back(std::move(handle));
    } catch (const std::bad_alloc&) {  // another one will be made
    }
  }

  /// In a forked child: closes the copies of the descriptors, which says nothing to the peers, and leaves libcurl's
  /// memory alone: to free it would write TLS and HTTP/2 farewells to the parent's connections.
  void abandon() {
    open_sockets_.abandon();
    if (epoll_ >= 0) ::close(epoll_);
    if (mailbox_) mailbox_->abandon();
    for (auto& [ticket, transfer] : active_) static_cast<void>(transfer.release());
    for (CurlEasy& handle : idle_handles_) static_cast<void>(handle.release());
  }

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void*) {
    auto& engine = *static_cast<Engine*>(self);
    if (what == CURL_POLL_REMOVE) {
      engine.watched_.erase(socket);
      epoll_ctl(engine.epoll_, EPOLL_CTL_DEL, socket, nullptr);
      return 0;
    }
    Transfer* owner = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &owner);
    epoll_event event{};
    if ((what & CURL_POLL_IN) != 0) event.events |= EPOLLIN;
    if ((what & CURL_POLL_OUT) != 0) event.events |= EPOLLOUT;
    event.data.fd = socket;
    return engine.thrown_.keep(0, [&] {
      const auto [watched, added] = engine.watched_.try_emplace(socket, Watched{owner, false});
      watched->second.owner = owner;
      epoll_ctl(engine.epoll_, added ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
      return 0;
    });
  }

  static int on_timer(CURLM*, long timeout_ms, void* self) {
    auto& engine = *static_cast<Engine*>(self);
    if (timeout_ms < 0) {
      engine.curl_timer_.reset();
    } else {
      engine.curl_timer_ = Clock::now() + Milliseconds(timeout_ms);
    }
    return 0;
  }

  pid_t process_;
  int epoll_ = -1;
  std::shared_ptr<Mailbox> mailbox_;  // opened with the first look-up
  bool has_mail_ = false;
  KeptException thrown_;  // by a callback that is no transfer's
  std::optional<Clock::time_point> curl_timer_;
  Clock::time_point last_look_;
  std::deque<std::unique_ptr<Transfer>> waiting_;
  std::unordered_map<Ticket, std::unique_ptr<Transfer>> active_;
  std::set<std::pair<Clock::time_point, Ticket>> deadlines_;
  std::unordered_set<Ticket> pending_;
  std::unordered_map<Ticket, HttpReply> finished_;
  std::deque<Ticket> order_;  // of completion; may name replies that are gone
  std::vector<CurlEasy> idle_handles_;
  std::unordered_map<int, Watched> watched_;
  std::deque<Ready> ready_;
  OpenSockets open_sockets_;
  std::size_t capacity_ = 0;
  CURLM* multi_;  // last: made when nothing else can fail
};

HttpClient::HttpClient() = default;
HttpClient::~HttpClient() = default;

/// The one in use, opened when it is first needed.
HttpClient::Engine& HttpClient::engine() {
  if (!own_engine()) engine_ = std::make_unique<Engine>();
  return *engine_;
}

/// Nothing before the first request, and in a forked child before its own first one.
HttpClient::Engine* HttpClient::own_engine() const {
  return engine_ && !engine_->inherited() ? engine_.get() : nullptr;
}

HttpClient::Ticket HttpClient::submit(HttpRequest request) {
  engine().submit(++last_ticket_, std::move(request));
  return last_ticket_;
}

void HttpClient::wait(const std::function<bool()>& enough, Clock::time_point until, const Interrupt& interrupt) {
  if (Engine* const own = own_engine()) own->wait(enough, until, interrupt);
}

bool HttpClient::pending(Ticket ticket) const {
  const Engine* const own = own_engine();
  return own != nullptr && own->pending(ticket);
}

bool HttpClient::any_finished() const {
  const Engine* const own = own_engine();
  return own != nullptr && own->any_finished();
}

std::optional<std::pair<HttpClient::Ticket, HttpReply>> HttpClient::take() {
  Engine* const own = own_engine();
  return own != nullptr ? own->take() : std::nullopt;
}

std::optional<HttpReply> HttpClient::take(Ticket ticket) {
  Engine* const own = own_engine();
  return own != nullptr ? own->take(ticket) : std::nullopt;
}

void HttpClient::cancel(Ticket ticket) {
  if (Engine* const own = own_engine()) own->cancel(ticket);
}

void HttpClient::cancel_all() {
  if (Engine* const own = own_engine()) own->cancel_all();
}

std::size_t HttpClient::outstanding() const {
  const Engine* const own = own_engine();
  return own != nullptr ? own->outstanding() : 0;
}

}  // namespace rpcroute::rpc
