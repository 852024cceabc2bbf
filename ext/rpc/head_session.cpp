#include "rpc/head_session.hpp"

#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/version.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <type_traits>

#include "rpc/classify.hpp"
#include "rpc/descriptors.hpp"
#include "rpc/json_rpc.hpp"
#include "rpc/kept_exception.hpp"
#include "rpc/resolver.hpp"
#include "text/ascii.hpp"
#include "text/json.hpp"
#include "text/words.hpp"

namespace rpcroute::rpc {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

// Without permessage-deflate: heads are small, and the compressor doubles the time this file takes to compile.
using PlainStream = websocket::stream<beast::tcp_stream, false>;
using TlsStream = websocket::stream<beast::ssl_stream<beast::tcp_stream>, false>;

constexpr std::uint64_t subscription_id = 1;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

template <class Stream>
class Session final : public HeadSession, public std::enable_shared_from_this<Session<Stream>> {
 public:
  template <class... StreamArguments>
  Session(const std::shared_ptr<asio::io_context>& io, HeadRequest request, Endpoint endpoint, Done done,
          StreamArguments&... arguments)
      : io_(io),
        request_(std::move(request)),
        endpoint_(std::move(endpoint)),
        done_(std::move(done)),
        stream_(*io, arguments...),
        deadline_(*io),
        outgoing_(encode_request(subscription_id, request_.method, request_.params)) {}

  void start() override {
    begun_ = Clock::now();
    deadline_.expires_after(request_.timeout);
    deadline_.async_wait([self = this->shared_from_this()](error_code error) {
      if (!error) self->on_deadline();
    });
    if (const auto numeric = numeric_endpoint(endpoint_.host, endpoint_.port)) {
      connecting_ = begun_;
      return connect_to({*numeric});
    }
    look_up_ = look_up(endpoint_.host, endpoint_.port,
                       [io = io_.lock(), weak = this->weak_from_this()](const Resolution& resolution) {
                         try {
                           asio::post(*io, [weak, resolution] {
                             if (const auto self = weak.lock()) self->on_resolved(resolution);
                           });
                         } catch (const std::bad_alloc&) {
                           io->stop();  // which says so without memory
                         }
                       });
  }

  void abandon() override {
    finished_ = true;
    look_up_.reset();
    deadline_.cancel();
    error_code ignored;
    beast::get_lowest_layer(stream_).socket().close(ignored);
  }

 private:
  static constexpr bool secure = std::is_same_v<Stream, TlsStream>;

  /// Wraps a step so that it is skipped after the end and that an error ends the session with `error_class`.
  template <class Step>
  auto step(ErrorClass error_class, Step next) {
    return [self = this->shared_from_this(), error_class, next](error_code error, auto&&...) {
      if (self->finished_) return;
      if (error) return self->fail(error_class, error);
      next(*self);
    };
  }

  void on_resolved(const Resolution& resolution) {
    if (finished_) return;
    if (resolution.out_of_memory) throw std::bad_alloc();
    if (resolution.failure) return finish(resolution.failure);
    look_up_.reset();
    connecting_ = Clock::now();
    connect_to(resolution.addresses);
  }

  void connect_to(TcpEndpoints addresses) {
    answer_.setup_ms = milliseconds(connecting_ - begun_);
    addresses_ = std::move(addresses);
    connect(0);
  }

  /// Each address gets its share of the time left, so that one that swallows packets does not use up all of it.
  void connect(std::size_t index) {
    const auto left = request_.timeout - (Clock::now() - begun_);
    auto& lowest = beast::get_lowest_layer(stream_);
    lowest.expires_after(left / static_cast<int>(addresses_.size() - index));
    lowest.async_connect(addresses_[index], [self = this->shared_from_this(), index](error_code error) {
      if (self->finished_) return;
      if (!error) return self->on_connected();
      if (index + 1 < self->addresses_.size()) {
        error_code ignored;  // a socket that failed to connect is none for another address, least of another family
        beast::get_lowest_layer(self->stream_).socket().close(ignored);
        return self->connect(index + 1);
      }
      self->fail(ErrorClass::connect, error);
    });
  }

  void on_connected() {
    auto& lowest = beast::get_lowest_layer(stream_);
    lowest.expires_never();
    error_code ignored;
    lowest.socket().set_option(tcp::no_delay(true), ignored);
    if constexpr (secure) {
      shake_hands();
    } else {
      upgrade();
    }
  }

  void shake_hands() {
    if constexpr (secure) {
      auto& tls = stream_.next_layer();
      const bool is_name = !numeric_endpoint(endpoint_.host, endpoint_.port);
      // RFC 6066 section 3: no addresses in server_name.
      if (is_name && SSL_set_tlsext_host_name(tls.native_handle(), endpoint_.host.c_str()) == 0) throw std::bad_alloc();
      tls.set_verify_mode(asio::ssl::verify_peer);
      tls.set_verify_callback([this, is_host = asio::ssl::host_name_verification(endpoint_.host)](
                                  bool preverified, asio::ssl::verify_context& context) {
        return thrown_.keep(false, [&] { return is_host(preverified, context); });
      });
      tls.async_handshake(asio::ssl::stream_base::client, step(ErrorClass::tls, [](Session& self) { self.upgrade(); }));
    }
  }

  void upgrade() {
    stream_.read_message_max(request_.max_message_bytes);
    stream_.set_option(websocket::stream_base::decorator([this](websocket::request_type& http) {
      http.set(beast::http::field::user_agent, "rpcroute/" RPCROUTE_VERSION);
      for (const std::string& line : endpoint_.headers) {
        const std::size_t end = line.find_first_of(":;");
        http.set(line.substr(0, end), std::string(text::trimmed(std::string_view(line).substr(end + 1))));
      }
    }));
    stream_.async_handshake(upgrade_, authority(), endpoint_.target,
                            [self = this->shared_from_this()](error_code error) {
                              if (!self->finished_) self->on_upgrade(error);
                            });
  }

  std::string authority() const {
    const bool bracketed = endpoint_.host.find(':') != std::string::npos;
    const std::string host = bracketed ? "[" + endpoint_.host + "]" : endpoint_.host;
    return endpoint_.port == (secure ? "443" : "80") ? host : host + ":" + endpoint_.port;
  }

  void on_upgrade(error_code error) {
    const auto status = static_cast<long>(upgrade_.result_int());
    if (!error || error == websocket::error::upgrade_declined) answer_.http_status = status;
    if (error == websocket::error::upgrade_declined) return decline(status);
    if (error) return fail(ErrorClass::malformed, error);
    answer_.latency_ms = milliseconds(Clock::now() - connecting_);
    answer_.total_ms = *answer_.setup_ms + *answer_.latency_ms;
    subscribe();
  }

  void decline(long status) {
    const Verdict verdict = classify_status({request_.provider.kind, request_.method, status, std::nullopt, ""});
    const bool success = verdict.error_class == ErrorClass::malformed;
    const auto retry_after = upgrade_[beast::http::field::retry_after];
    finish(Failure{success ? ErrorClass::http : verdict.error_class, std::string(verdict.kind),
                   "HTTP " + std::to_string(status) + " instead of an upgrade to WebSocket",
                   asked_wait({retry_after.data(), retry_after.size()}, std::nullopt, unix_now())});
  }

  void subscribe() {
    subscribing_ = Clock::now();
    stream_.async_write(asio::buffer(outgoing_), step(ErrorClass::connect, [](Session& self) { self.read(); }));
  }

  void read() {
    incoming_.clear();
    stream_.async_read(incoming_, step(ErrorClass::connect, [](Session& self) { self.on_message(); }));
  }

  void on_message() {
    const auto seen = Clock::now();
    const auto data = incoming_.cdata();
    const std::string_view message(static_cast<const char*>(data.data()), data.size());
    answer_.response_bytes += static_cast<std::int64_t>(message.size());
    const text::JsonTree tree(message);
    if (!tree.problem().empty()) {
      return finish(Failure{ErrorClass::malformed, "", "a message is not JSON: " + tree.problem(), {}});
    }
    const std::string_view head = tree.root()["params"]["result"].source();
    if (!head.empty()) {
      answer_.first_message_ms = milliseconds(seen - subscribing_);
      answer_.head = endpoint_.secrets.scrubbed_json(std::string(head));
      return finish(std::nullopt);
    }
    const auto response = decode_response(message, subscription_id);
    if (const auto* error = std::get_if<RpcError>(&response)) return refuse(*error);
    read();
  }

  void refuse(const RpcError& error) {
    const Verdict verdict =
        classify_error({request_.provider.kind, request_.method, std::nullopt, error.code, error.text});
    finish(Failure{verdict.error_class, std::string(verdict.kind), error.message.empty() ? "error" : error.message,
                   asked_wait("", error.backoff_seconds, unix_now())});
  }

  void on_deadline() {
    if (finished_) return;
    if (look_up_) return finish(late_look_up());
    finish(answer_.latency_ms ? Failure{ErrorClass::timeout, "no_head", "connected, but no head came in time", {}}
                              : Failure{ErrorClass::timeout, "", "no connection in time", {}});
  }

  void fail(ErrorClass error_class, error_code error) {
    thrown_.rethrow();
    if (error == boost::system::errc::not_enough_memory) throw std::bad_alloc();
    const bool is_the_systems = error.category() == boost::system::system_category();
    if (is_the_systems && is_descriptor_shortage(error.value())) return finish(descriptor_shortage());
    std::string words = is_the_systems ? text::system_words(error.value()) : text::lower(error.message());
    if (error == websocket::error::message_too_big || error == websocket::error::buffer_overflow) {
      error_class = ErrorClass::too_large;
      words = "a message is larger than " + std::to_string(request_.max_message_bytes) + " bytes";
    } else if (error == websocket::error::closed) {
      words = "the connection was closed before a head came";
    } else if (error == asio::error::eof || error == asio::ssl::error::stream_truncated ||
               error == beast::http::error::end_of_stream || error == beast::http::error::partial_message) {
      if (error_class != ErrorClass::tls) error_class = ErrorClass::connect;
      words = "the connection was closed";
    } else if (error == asio::error::connection_reset || error == asio::error::broken_pipe) {
      error_class = ErrorClass::connect;
      words = "the connection was reset";
    } else if (error == beast::error::timeout || error == asio::error::timed_out) {
      error_class = ErrorClass::timeout;
      words = "no connection in time";
    }
    finish(Failure{error_class, "", words, {}});
  }

  void finish(std::optional<Failure> failure) {
    if (failure) failure->message = redact(failure->message, endpoint_);
    answer_.failure = std::move(failure);
    answer_.timestamp = unix_now();
    abandon();
    done_(std::move(answer_));
  }

  static double unix_now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }

  std::weak_ptr<asio::io_context> io_;
  HeadRequest request_;
  Endpoint endpoint_;
  Done done_;
  Stream stream_;
  asio::steady_timer deadline_;
  const std::string outgoing_;
  LookUp look_up_;
  TcpEndpoints addresses_;
  Clock::time_point begun_;
  Clock::time_point connecting_;
  Clock::time_point subscribing_;
  websocket::response_type upgrade_;
  beast::flat_buffer incoming_;
  HeadAnswer answer_;
  KeptException thrown_;  // by OpenSSL's callback
  bool finished_ = false;
};

}  // namespace

std::shared_ptr<HeadSession> make_head_session(const std::shared_ptr<asio::io_context>& io, asio::ssl::context& tls,
                                               HeadRequest request, Endpoint endpoint, HeadSession::Done done) {
  if (endpoint.secure) {
    return std::make_shared<Session<TlsStream>>(io, std::move(request), std::move(endpoint), std::move(done), tls);
  }
  return std::make_shared<Session<PlainStream>>(io, std::move(request), std::move(endpoint), std::move(done));
}

}  // namespace rpcroute::rpc
