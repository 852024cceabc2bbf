#include "rpc/decoder.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <new>
#include <utility>

#include "text/ascii.hpp"

namespace rpcroute::rpc {

class Inflater {
 public:
  enum class Format { gzip, deflate };

  explicit Inflater(Format format) : format_(format) {}
  ~Inflater() {
    if (open_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Hands out what `bytes` inflate to, piece by piece, until `take` says enough; false then.
  bool feed(std::string_view bytes, const std::function<bool(std::string_view)>& take) {
    if (!open_) {
      front_ += bytes;
      if (front_.size() < 2) return true;  // two bytes tell the wrapper
      open();
      return inflate_all(std::exchange(front_, {}), take);
    }
    return inflate_all(bytes, take);
  }

  bool is_intact() const { return state_ == State::member_ended || state_ == State::over; }

 private:
  enum class State { within, member_ended, over, broken };

  void open() {
    constexpr int largest_window = 15;
    constexpr int gzip_wrapper = 16;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(front_[i]); };
    const bool is_gzip = byte(0) == 0x1F && byte(1) == 0x8B;                            // RFC 1952 section 2.3.1
    const bool is_zlib = (byte(0) & 0x0F) == 8 && (byte(0) * 256 + byte(1)) % 31 == 0;  // RFC 1950 section 2.2
    if (is_gzip) format_ = Format::gzip;
    const int window = is_zlib                   ? largest_window
                       : format_ == Format::gzip ? largest_window + gzip_wrapper
                                                 : -largest_window;
    if (is_zlib) format_ = Format::deflate;
    if (inflateInit2(&stream_, window) != Z_OK) throw std::bad_alloc();
    open_ = true;
  }

  bool inflate_all(std::string_view bytes, const std::function<bool(std::string_view)>& take) {
    std::array<char, 16384> out;
    while (!bytes.empty()) {
      if (state_ == State::member_ended) begin_member();
      if (state_ != State::within) return true;
      const std::size_t portion = std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(portion);
      int code = Z_OK;
      do {
        stream_.next_out = reinterpret_cast<Bytef*>(out.data());
        stream_.avail_out = static_cast<uInt>(out.size());
        code = inflate(&stream_, Z_NO_FLUSH);
        const std::size_t count = out.size() - stream_.avail_out;
        in_member_ += count;
        if (count > 0 && !take({out.data(), count})) return false;
      } while (code == Z_OK && (stream_.avail_in > 0 || stream_.avail_out == 0));
      bytes.remove_prefix(portion - stream_.avail_in);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code == Z_STREAM_END) {
        state_ = format_ == Format::gzip ? State::member_ended : State::over;
        ++members_;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {  // the latter: it wants more
        // What follows a whole member and does not even begin another one is no part of the answer.
        state_ = members_ > 0 && in_member_ == 0 ? State::over : State::broken;
      }
    }
    return true;
  }

  void begin_member() {
    inflateReset(&stream_);
    in_member_ = 0;
    state_ = State::within;
  }

  Format format_;
  State state_ = State::within;
  bool open_ = false;
  std::string front_;
  z_stream stream_{};
  std::size_t members_ = 0;
  std::size_t in_member_ = 0;
};

Decoder::Decoder(std::size_t most) : most_(most) {}
Decoder::~Decoder() = default;

void Decoder::begin_header() {
  if (!begun_) codings_.clear();
}

void Decoder::add_codings(std::string_view value) {
  while (!begun_ && !value.empty()) {
    const std::size_t end = std::min(value.find(','), value.size());
    std::string coding = text::lower(text::trimmed(value.substr(0, end)));
    if (!coding.empty() && coding != "identity" && coding != "none") codings_.push_back(std::move(coding));
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

bool Decoder::decode(std::string_view bytes, std::string& body) {
  if (!begun_) {
    begun_ = true;
    for (auto coding = codings_.rbegin(); coding != codings_.rend(); ++coding) {
      const bool is_gzip = *coding == "gzip" || *coding == "x-gzip";
      known_ = known_ && (is_gzip || *coding == "deflate");
      stages_.push_back(std::make_unique<Inflater>(is_gzip ? Inflater::Format::gzip : Inflater::Format::deflate));
    }
    passed_.resize(stages_.size());
  }
  return decode_from(0, bytes, body);
}

bool Decoder::decode_from(std::size_t stage, std::string_view bytes, std::string& body) {
  if (stage == stages_.size()) {
    decoded_ += bytes.size();
    if (body.size() + bytes.size() > most_) return false;
    body += bytes;
    return true;
  }
  constexpr std::size_t wrapping = 1024;
  passed_[stage] += bytes.size();
  if (passed_[stage] > most_ + most_ / 64 + wrapping) return false;  // a coding adds at most a few bytes a block
  if (!known_) return true;
  return stages_[stage]->feed(bytes, [&](std::string_view piece) { return decode_from(stage + 1, piece, body); });
}

bool Decoder::is_intact() const {
  return known_ && std::all_of(stages_.begin(), stages_.end(), [](const auto& stage) { return stage->is_intact(); });
}

}  // namespace rpcroute::rpc
