#include "text/words.hpp"

#include <dlfcn.h>
#include <locale.h>
#include <string.h>

#include "text/ascii.hpp"

namespace rpcroute::text {
namespace {

locale_t english() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

}  // namespace

std::string system_words(int error) {
  return lower(strerror_l(error, english()));
}

std::string loader_words() {
  const locale_t before = uselocale(english());
  const char* const words = dlerror();
  uselocale(before);
  return words == nullptr ? "no reason was given" : words;
}

}  // namespace rpcroute::text
