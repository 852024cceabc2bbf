// Where private keys are read from: load_keys().
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "chain/evm_signer.hpp"
#include "text/ascii.hpp"
#include "text/words.hpp"

namespace rpcroute::chain {
namespace {

constexpr std::string_view variable_prefix = "RPCROUTE_KEY";
constexpr std::size_t largest_file = 1 << 16;

void add_key(std::vector<PrivateKey>& keys, PrivateKey key) {
  const bool known =
      std::any_of(keys.begin(), keys.end(), [&](const PrivateKey& other) { return other.address() == key.address(); });
  if (!known) keys.push_back(std::move(key));
}

bool is_key_variable(std::string_view name) {
  return name.starts_with(variable_prefix) &&
         name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string_view::npos;
}

std::vector<PrivateKey> keys_of_environment(std::string_view names) {
  std::vector<PrivateKey> keys;
  while (true) {
    const auto comma = names.find(',');
    const std::string name(text::trimmed(names.substr(0, comma)));
    if (!is_key_variable(name)) {  // not repeated: it may be the key itself, put where its variable's name belongs
      throw std::invalid_argument("signer: variables are named RPCROUTE_KEY, RPCROUTE_KEY_2 and so on");
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == 0) throw std::invalid_argument("signer: the variable " + name + " is not set");
    add_key(keys, PrivateKey::read(text::trimmed(value), "signer: " + name));
    if (comma == std::string_view::npos) return keys;
    names.remove_prefix(comma + 1);
  }
}

/// An open descriptor.
class File {
 public:
  explicit File(const char* path) : descriptor_(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// The checks are made on the open file, so that it cannot be exchanged between check and use.
std::size_t checked_size(const File& file, const std::string& name) {
  if (file.descriptor() < 0) throw std::invalid_argument(name + " cannot be opened: " + text::system_words(errno));
  struct stat status {};
  if (fstat(file.descriptor(), &status) != 0) throw std::invalid_argument(name + " cannot be examined");
  if (!S_ISREG(status.st_mode)) throw std::invalid_argument(name + " is not a regular file");
  if (status.st_uid != geteuid() && status.st_uid != 0) throw std::invalid_argument(name + " belongs to another user");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw std::invalid_argument(name + " can be read by others: chmod 600 it");
  }
  if (status.st_size <= 0) throw std::invalid_argument(name + " is empty");
  if (static_cast<std::size_t>(status.st_size) > largest_file) throw std::invalid_argument(name + " is too large");
  return static_cast<std::size_t>(status.st_size);
}

std::vector<PrivateKey> keys_of_file(const std::string& path) {
  const std::string name = "signer: the key file";
  const File file(path.c_str());
  SecretBytes content(checked_size(file, name));
  std::size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = read(file.descriptor(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::invalid_argument(name + " cannot be read");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  std::vector<PrivateKey> keys;
  std::string_view rest(reinterpret_cast<const char*>(content.data()), filled);
  for (int line = 1; !rest.empty(); ++line) {
    const auto end = rest.find('\n');
    const std::string_view text = text::trimmed(rest.substr(0, end));
    if (!text.empty())
      add_key(keys, PrivateKey::read(text, "signer: line " + std::to_string(line) + " of the key file"));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (keys.empty()) throw std::invalid_argument(name + " holds no key");
  return keys;
}

}  // namespace

std::vector<PrivateKey> load_keys(std::string_view signer) {
  if (signer.starts_with("env:")) return keys_of_environment(signer.substr(4));
  if (signer.starts_with("file:")) return keys_of_file(std::string(signer.substr(5)));
  throw std::invalid_argument("signer: 'env:RPCROUTE_KEY', 'file:/path' or 'node' is expected");
}

}  // namespace rpcroute::chain
