#include "text/words.hpp"

#include <dlfcn.h>
#include <locale.h>
#include <string.h>

#include <algorithm>

namespace rpcroute::text {
namespace {

locale_t english() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

}  // namespace

std::string system_words(int error) {
  std::string words = strerror_l(error, english());
  std::transform(words.begin(), words.end(), words.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return words;
}

std::string loader_words() {
  const locale_t before = uselocale(english());
  const char* const words = dlerror();
  uselocale(before);
  return words == nullptr ? "no reason was given" : words;
}

}  // namespace rpcroute::text
