// The content codings of an answer (RFC 9110 section 8.4), undone within a bound. libcurl's own decoder reports bytes
// after the end of a gzip stream, and a second member of one, as if the answer could not be written.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::rpc {

/// One coding being undone: bytes in, pieces out.
class Inflater;

/// Lenient where what came is whole all the same: gzip may have any number of members and bytes after the last one, and
/// deflate may lack its zlib wrapper; one may be called by the other's name.
class Decoder {
 public:
  /// `most` bytes are decoded, or taken undecoded with a little more for what a coding adds.
  explicit Decoder(std::size_t most);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  /// A header begins: what an interim one said of codings is void.
  void begin_header();

  /// The value of a Content-Encoding header; one that follows the body is ignored.
  void add_codings(std::string_view value);

  /// Appends what the bytes decode to; false when that is more than allowed. Bytes that cannot be decoded are dropped.
  bool decode(std::string_view bytes, std::string& body);

  /// How many bytes came out, one piece beyond the bound included.
  std::size_t decoded() const { return decoded_; }

  /// Whether what came out is all that was put in, as far as can be told.
  bool is_intact() const;

 private:
  bool decode_from(std::size_t stage, std::string_view bytes, std::string& body);

  std::size_t most_;
  std::vector<std::string> codings_;  // in the order of the header: the last one is undone first
  bool begun_ = false;
  bool known_ = true;
  std::vector<std::unique_ptr<Inflater>> stages_;
  std::vector<std::size_t> passed_;  // bytes into each stage
  std::size_t decoded_ = 0;
};

}  // namespace rpcroute::rpc
