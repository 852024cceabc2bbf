// Keeping secrets out of every text that leaves this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rpcroute::rpc {

/// The texts of one endpoint that nobody may see: what variables were expanded to, the URL's path and query, the header
/// values; each as it is, percent-decoded and percent-encoded.
class Secrets {
 public:
  /// A secret as a whole. What is shorter than 3 characters is no secret: it would be met in every message.
  void add(std::string_view secret);

  /// The parts of `text` between any of `separators`, each if it is long enough (6) to be a key and not a word like
  /// "v2".
  void add_parts(std::string_view text, std::string_view separators);

  /// `text` with every secret, in any case of letters, replaced by `***`.
  std::string scrubbed(std::string_view text) const;

  /// The same for a JSON text of any size that is data, not a message: only secrets long enough (8) not to be met by
  /// chance, as they are written, and none that is a number, which could not be replaced inside JSON.
  std::string scrubbed_json(std::string json) const;

 private:
  std::vector<std::string> secrets_;  // longest first, so that a key goes before the part of it that is also one
};

}  // namespace rpcroute::rpc
