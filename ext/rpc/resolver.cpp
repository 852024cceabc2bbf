#include "rpc/resolver.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "rpc/descriptors.hpp"
#include "rpc/quiet_thread.hpp"

namespace rpcroute::rpc {
namespace {

using boost::asio::ip::tcp;

constexpr std::size_t most_workers = 8;

TcpEndpoints endpoints_of(const addrinfo* found) {
  TcpEndpoints endpoints;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    tcp::endpoint endpoint;
    if (address->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), address->ai_addr, address->ai_addrlen);
    endpoint.resize(address->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

Resolution system_look_up(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  errno = 0;
  const int code = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (code == EAI_MEMORY) throw std::bad_alloc();
  if (code != 0) {
    // Without a descriptor for /etc/hosts or a socket, some of its ways to fail look like an unknown host.
    const bool shortage = (code == EAI_SYSTEM && is_descriptor_shortage(errno)) || !descriptor_is_free();
    return {{}, shortage ? descriptor_shortage() : no_addresses(), {}};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  Resolution resolution{endpoints_of(found), {}, {}};
  if (resolution.addresses.empty()) resolution.failure = no_addresses();
  return resolution;
}

using Waiters = std::vector<std::weak_ptr<const std::function<void(const Resolution&)>>>;

void deliver(const Waiters& waiters, const Resolution& resolution) {
  for (const auto& waiter : waiters) {
    if (const LookUp done = waiter.lock()) (*done)(resolution);
  }
}

bool gone(const Waiters::value_type& waiter) {
  return waiter.expired();
}

class Resolver {
 public:
  bool inherited() const { return getpid() != process_; }

  LookUp add(const std::string& host, const std::string& port, std::function<void(const Resolution&)> done) {
    LookUp waiting = std::make_shared<const std::function<void(const Resolution&)>>(std::move(done));
    const Key key(host, port);
    bool startable = true;
    {
      const std::lock_guard lock(mutex_);
      const auto [entry, fresh] = wanted_.try_emplace(key);
      try {
        std::erase_if(entry->second, gone);
        entry->second.push_back(waiting);
        if (fresh) startable = enqueue(key);
      } catch (...) {
        if (fresh) wanted_.erase(entry);
        throw;
      }
      if (!startable) wanted_.erase(entry);
    }
    if (!startable) (*waiting)({{}, Failure{ErrorClass::dns, "", "no thread could be started", {}}, Clock::now()});
    return waiting;
  }

  void replace(std::function<Resolution(const std::string&, const std::string&)> other) {
    const std::lock_guard lock(mutex_);
    system_ = other ? std::move(other) : system_look_up;
  }

 private:
  using Key = std::pair<std::string, std::string>;
  using SystemLookUp = std::function<Resolution(const std::string& host, const std::string& port)>;

  /// False when nobody will see to it. A worker too few is none of its asker's business, also for want of memory.
  bool enqueue(const Key& key) {
    queue_.push_back(key);
    try {
      start_worker();
    } catch (const std::exception& error) {
      if (workers_ > 0) return true;
      queue_.pop_back();
      if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) throw;
    }
    return workers_ > 0;
  }

  void start_worker() {
    if (workers_ == most_workers) return;
    quiet_thread([this] { work(); }).detach();
    ++workers_;  // it waits for the mutex that we hold
  }

  /// The next one that somebody still waits for; nullopt ends the worker.
  std::optional<Key> take() {
    const std::lock_guard lock(mutex_);
    while (!queue_.empty()) {
      Key key = std::move(queue_.front());
      queue_.pop_front();
      const auto entry = wanted_.find(key);
      if (!std::all_of(entry->second.begin(), entry->second.end(), gone)) return key;
      wanted_.erase(entry);
    }
    --workers_;
    return std::nullopt;
  }

  void work() {
    while (const std::optional<Key> key = take()) {
      Resolution resolution;
      try {
        resolution = system()(key->first, key->second);
      } catch (const std::bad_alloc&) {
        resolution.out_of_memory = true;
      }
      resolution.finished = Clock::now();
      Waiters waiters;
      {
        const std::lock_guard lock(mutex_);
        waiters = std::move(wanted_.extract(*key).mapped());
      }
      deliver(waiters, resolution);
    }
  }

  SystemLookUp system() {
    const std::lock_guard lock(mutex_);
    return system_;
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::map<Key, Waiters> wanted_;  // what is looked up or stands in queue_
  std::deque<Key> queue_;
  std::size_t workers_ = 0;
  SystemLookUp system_ = system_look_up;
};

/// Never destroyed: its threads may hang beyond the end of the program. A forked child makes its own and does not touch
/// the parent's, whose mutex may be held by a thread that the child has not.
Resolver& resolver() {
  static std::atomic<Resolver*> current = nullptr;
  Resolver* known = current.load();
  if (known != nullptr && !known->inherited()) return *known;
  auto fresh = std::make_unique<Resolver>();
  if (current.compare_exchange_strong(known, fresh.get())) return *fresh.release();
  return *known;
}

}  // namespace

std::optional<tcp::endpoint> numeric_endpoint(const std::string& host, const std::string& port) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error) return std::nullopt;
  return tcp::endpoint(address, static_cast<unsigned short>(std::stoul(port)));
}

LookUp look_up(const std::string& host, const std::string& port, std::function<void(const Resolution&)> done) {
  return resolver().add(host, port, std::move(done));
}

Failure no_addresses() {
  return {ErrorClass::dns, "", "the host name did not resolve", {}};
}

Failure late_look_up() {
  return {ErrorClass::dns, "timeout", "the host name's look-up has not ended in time", {}};
}

void replace_system_look_up(std::function<Resolution(const std::string& host, const std::string& port)> other) {
  resolver().replace(std::move(other));
}

}  // namespace rpcroute::rpc
