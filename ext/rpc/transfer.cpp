#include "rpc/transfer.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "rpc/descriptors.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

namespace rpcroute::rpc {
namespace {

constexpr std::size_t max_header_bytes = std::size_t{64} << 10;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Neither an address nor this machine, whose addresses libcurl knows without asking (RFC 6761 section 6.3).
bool is_looked_up(const HttpRequest& request) {
  const std::string name = text::lower(request.host);
  return name != "localhost" && !name.ends_with(".localhost") && !numeric_endpoint(request.host, request.port);
}

/// CURLOPT_RESOLVE's form of what was found: host:port:address,address. Addresses with a scope have none.
std::string entry_of(const HttpRequest& request, const TcpEndpoints& addresses) {
  std::string entry;
  for (const auto& endpoint : addresses) {
    const auto address = endpoint.address();
    if (address.is_v6() && address.to_v6().scope_id() != 0) continue;
    entry += entry.empty() ? request.host + ":" + request.port + ":" : ",";
    entry += address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  }
  return entry;
}

/// libcurl's verdict as ours. The texts are libcurl's fixed ones or our own, never its error buffer: that holds the
/// URL.
Failure failure_of(CURLcode code, long os_error) {
  const std::string words = text::lower(curl_easy_strerror(code));
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return no_addresses();
    case CURLE_COULDNT_CONNECT:
      return {ErrorClass::connect, "", os_error != 0 ? text::system_words(static_cast<int>(os_error)) : words, {}};
    case CURLE_GOT_NOTHING:
      return {ErrorClass::connect, "closed", "the connection was closed without an answer", {}};
    case CURLE_PARTIAL_FILE:
      return {ErrorClass::connect, "closed", "the connection was closed amid the answer", {}};
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return {ErrorClass::connect, "reset", "the connection was reset", {}};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorClass::timeout, "", "no whole answer in time", {}};
    case CURLE_UNSUPPORTED_PROTOCOL:  // an answer without a status line reads as HTTP/0.9, which is refused
    case CURLE_WEIRD_SERVER_REPLY:
      return {ErrorClass::malformed, "", "the answer is not HTTP", {}};
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:  // of a transfer coding: what we ourselves refuse has a reason of its own
      return {ErrorClass::malformed, "", "the answer is not encoded as it says", {}};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {ErrorClass::tls, "", "the certificate is not trusted, or not for this host", {}};
    case CURLE_SSL_CONNECT_ERROR:
      return {ErrorClass::tls, "", "the TLS handshake failed", {}};
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_USE_SSL_FAILED:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
      return {ErrorClass::tls, "", words, {}};
    default:
      return {ErrorClass::connect, "", words, {}};
  }
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
}

void append(CurlList& list, const std::string& line) {
  curl_slist* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) throw std::bad_alloc();
  static_cast<void>(list.release());
  list.reset(longer);
}

/// Whether one of `lines` has the name that `line` has.
bool names_header(const std::vector<std::string>& lines, std::string_view line) {
  const std::string name = text::lower(line.substr(0, line.find(':')));
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& other) {
    return text::lower(other.substr(0, other.find_first_of(":;"))) == name;
  });
}

/// The value of a header line whose name, in lower case and with its colon, is `name`.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
  if (line.size() < name.size() || text::lower(line.substr(0, name.size())) != name) return std::nullopt;
  return text::trimmed(line.substr(name.size()));
}

}  // namespace

Transfer::Transfer(std::uint64_t ticket, HttpRequest request)
    : ticket_(ticket),
      request_(std::move(request)),
      decoder_(request_.max_response_bytes),
      needs_look_up_(is_looked_up(request_)),
      is_secure_(text::lower(std::string_view(request_.url).substr(0, 6)) == "https:") {}

std::size_t Transfer::descriptors_to_come() const {
  const std::size_t wanted = (needs_look_up_ ? 3U : 1U) + (is_secure_ ? 1U : 0U);
  return request_left_ || opened_ >= wanted ? 0 : wanted - opened_;
}

void Transfer::start(CurlEasy easy, Sockets& sockets) {
  easy_ = std::move(easy);
  sockets_ = &sockets;
  set_request_options();
  set_policy_options();
  set(easy_.get(), CURLOPT_OPENSOCKETFUNCTION, &Transfer::on_open);
  set(easy_.get(), CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(easy_.get(), CURLOPT_CLOSESOCKETFUNCTION, &Transfer::on_close);
  set(easy_.get(), CURLOPT_CLOSESOCKETDATA, static_cast<void*>(&sockets));  // a kept connection outlives the transfer
  begun_ = Clock::now();
  reply_.started = begun_;
  deadline_ = begun_ + request_.timeout;
}

void Transfer::await(LookUp look_up) {
  look_up_ = std::move(look_up);
}

bool Transfer::use(const Resolution& resolution) {
  look_up_time_ += resolution.finished - std::min(look_up_begun_, resolution.finished);
  look_up_.reset();
  const std::string entry = entry_of(request_, resolution.addresses);
  if (!entry.empty()) set_addresses(entry);
  return !entry.empty();
}

void Transfer::set_addresses(const std::string& entry) {
  CurlList list;
  append(list, entry);
  set(easy_.get(), CURLOPT_RESOLVE, list.get());
  addresses_ = std::move(list);
}

void Transfer::set_request_options() {
  CURL* easy = easy_.get();
  // geth refuses libcurl's default form type with 415.
  for (const char* line :
       {"Content-Type: application/json", "Accept: application/json", "Expect:", "Accept-Encoding: gzip, deflate"}) {
    if (!names_header(request_.headers, line)) append(header_list_, line);
  }
  for (const std::string& line : request_.headers) append(header_list_, line);
  set(easy, CURLOPT_URL, request_.url.c_str());
  set(easy, CURLOPT_HTTPHEADER, header_list_.get());
  set(easy, CURLOPT_USERAGENT, "rpcroute/" RPCROUTE_VERSION);
  set(easy, CURLOPT_POST, 1L);
  set(easy, CURLOPT_POSTFIELDS, request_.body.c_str());
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  set(easy, CURLOPT_PRIVATE, static_cast<void*>(this));
  set(easy, CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(easy, CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(easy, CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(easy, CURLOPT_HEADERDATA, static_cast<void*>(this));
  if (needs_look_up_) {
    set(easy, CURLOPT_RESOLVER_START_FUNCTION, &Transfer::on_look_up);
    set(easy, CURLOPT_RESOLVER_START_DATA, static_cast<void*>(this));
    set_addresses("-" + request_.host + ":" + request_.port);  // those of an earlier request may be out of date
  }
  set(easy, CURLOPT_PREREQFUNCTION, &Transfer::on_request);
  set(easy, CURLOPT_PREREQDATA, static_cast<void*>(this));
}

void Transfer::set_policy_options() {
  CURL* easy = easy_.get();
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_PROXY, "");  // not even the one that http_proxy names
  set(easy, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_HTTP_CONTENT_DECODING, 0L);  // the Decoder's work
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_HTTP_VERSION,
      static_cast<long>(request_.never_resend ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
  if (!request_.certificate_authorities.empty()) {
    set(easy, CURLOPT_CAINFO, request_.certificate_authorities.c_str());
  }
  if (request_.never_resend) {  // on a kept-alive connection that turns out dead, libcurl sends a POST again
    set(easy, CURLOPT_FRESH_CONNECT, 1L);
    set(easy, CURLOPT_FORBID_REUSE, 1L);
  }
}

std::size_t Transfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t bytes = size * count;
  return transfer.thrown_.keep(std::size_t{0}, [&] {
    if (transfer.decoder_.decode({data, bytes}, transfer.reply_.body)) return bytes;
    transfer.excess_ = Excess::body;
    return std::size_t{0};
  });
}

std::size_t Transfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  const std::size_t bytes = size * count;
  transfer.header_bytes_ += bytes;
  if (transfer.header_bytes_ > max_header_bytes) {
    transfer.excess_ = Excess::header;
    return 0;
  }
  return transfer.thrown_.keep(std::size_t{0}, [&] {
    transfer.read_header({data, bytes});
    return bytes;
  });
}

void Transfer::read_header(std::string_view line) {
  if (line.starts_with("HTTP/")) decoder_.begin_header();
  if (const auto value = header_value(line, "retry-after:")) reply_.retry_after = *value;
  if (const auto value = header_value(line, "content-encoding:")) decoder_.add_codings(*value);
}

curl_socket_t Transfer::on_open(void* self, curlsocktype, curl_sockaddr* address) {
  auto& transfer = *static_cast<Transfer*>(self);
  ++transfer.opened_;
  const curl_socket_t socket =
      transfer.thrown_.keep(CURL_SOCKET_BAD, [&] { return transfer.sockets_->open(*address); });
  if (socket == CURL_SOCKET_BAD && is_descriptor_shortage(errno)) transfer.lacked_descriptor_ = true;
  // By the time at which libcurl complains that it could not open the authorities, it has closed the socket.
  if (transfer.is_secure_ && !descriptor_is_free()) transfer.took_last_descriptor_ = true;
  return socket;
}

int Transfer::on_close(void* sockets, curl_socket_t socket) {
  return static_cast<Sockets*>(sockets)->close(socket);
}

/// An answer that came before its request is nobody's: a 408 that was not asked for, or what followed the last answer.
/// libcurl takes a kept connection with such bytes for a live one, and them for the answer.
int Transfer::on_request(void* self, char* peer_ip, char* own_ip, int peer_port, int own_port) {
  auto& transfer = *static_cast<Transfer*>(self);
  const bool is_kept = transfer.opened_ == 0;
  transfer.found_unasked_bytes_ = is_kept && transfer.thrown_.keep(true, [&] {
    const std::string ends = connection_end(own_ip, own_port) + connection_end(peer_ip, peer_port);
    return transfer.sockets_->holds_unasked_bytes(ends);
  });
  if (transfer.found_unasked_bytes_) return CURL_PREREQFUNC_ABORT;  // which closes the connection
  transfer.reply_.started = Clock::now();                           // again when libcurl sends again
  transfer.request_left_ = true;
  return CURL_PREREQFUNC_OK;
}

bool Transfer::wants_new_connection() {
  if (!std::exchange(found_unasked_bytes_, false)) return false;
  set(easy_.get(), CURLOPT_FRESH_CONNECT, 1L);
  return true;
}

int Transfer::on_look_up(void*, void*, void* self) {
  auto& transfer = *static_cast<Transfer*>(self);
  constexpr int most = 2;  // a second time when a connection that was to be reused had died
  if (transfer.look_ups_ == most) return 1;
  ++transfer.look_ups_;
  transfer.look_up_begun_ = Clock::now();
  transfer.wants_addresses_ = true;
  return 1;  // which ends the transfer, until it is started again with the addresses
}

void Transfer::add_setup_queueing(Clock::duration waited) {
  if (!request_left_) setup_queueing_ += waited;
}

void Transfer::read_status() {
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 0) reply_.status = status;
}

void Transfer::note_version() {
  long version = CURL_HTTP_VERSION_NONE;
  curl_socket_t socket = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  curl_easy_getinfo(easy_.get(), CURLINFO_ACTIVESOCKET, &socket);
  if (version >= CURL_HTTP_VERSION_2_0 && socket != CURL_SOCKET_BAD) sockets_->note_streams(socket);
}

bool Transfer::is_line_too_long(CURLcode code) const {
  // libcurl gives up on a header line above 100 KiB before it shows it to us: as out of memory, or, from 8.6 on, as
  // CURLE_TOO_LARGE.
  constexpr int too_large = 100;
  return reply_.status && reply_.body.empty() && (code == CURLE_OUT_OF_MEMORY || static_cast<int>(code) == too_large);
}

bool Transfer::lacked_descriptor(CURLcode code) const {
  if (request_left_ || code == CURLE_OK) return false;
  return lacked_descriptor_ || (code == CURLE_SSL_CACERT_BADFILE && took_last_descriptor_);
}

void Transfer::conclude(Clock::time_point at) {
  const auto age = std::chrono::duration<double>(Clock::now() - at).count();
  reply_.timestamp = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count() - age;
  reply_.finished = at;
  if (reply_.started == Clock::time_point()) reply_.started = at;
  reply_.request_left = request_left_;
  reply_.response_bytes = static_cast<std::int64_t>(decoder_.decoded());
  reply_.body_is_intact = decoder_.is_intact();
}

double Transfer::setup_ms() const {
  long connections = 0;
  curl_off_t connect_us = 0;
  curl_off_t handshake_us = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_NUM_CONNECTS, &connections);
  if (connections == 0) return 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_CONNECT_TIME_T, &connect_us);
  curl_easy_getinfo(easy_.get(), CURLINFO_APPCONNECT_TIME_T, &handshake_us);
  const double connected = static_cast<double>(std::max(connect_us, handshake_us)) / 1000;
  return milliseconds(look_up_time_) + std::max(0.0, connected - milliseconds(setup_queueing_));
}

HttpReply Transfer::finish(CURLcode code, Clock::time_point seen) {
  // A quick peer answers within the very call in which the request left: then what was seen before it was not the
  // answer.
  conclude(seen > reply_.started ? seen : Clock::now());
  read_status();
  note_version();
  reply_.setup_ms = setup_ms();
  reply_.latency_ms = milliseconds(reply_.finished - reply_.started);
  if (excess_ == Excess::header || is_line_too_long(code)) {
    reply_.failure = {ErrorClass::too_large, "header", "the header of the answer is larger than 64 KiB", {}};
  } else if (excess_ == Excess::body) {
    reply_.failure = {ErrorClass::too_large,
                      "",
                      "the answer is larger than " + std::to_string(request_.max_response_bytes) + " bytes",
                      {}};
  } else if (code == CURLE_OUT_OF_MEMORY) {
    throw std::bad_alloc();
  } else if (code != CURLE_OK) {
    long os_error = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &os_error);
    reply_.failure = failure_of(code, os_error);
  }
  return std::move(reply_);
}

HttpReply Transfer::fail(Failure failure, Clock::time_point at) {
  conclude(at);
  reply_.failure = std::move(failure);
  return std::move(reply_);
}

HttpReply Transfer::time_out(Clock::time_point now) {
  return is_awaiting() ? fail(late_look_up(), now) : finish(CURLE_OPERATION_TIMEDOUT, now);
}

}  // namespace rpcroute::rpc
