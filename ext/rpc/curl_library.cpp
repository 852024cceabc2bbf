// The functions of libcurl that this project calls, each opening the library when it is the first: linked, libcurl
// would come with the extension, and with its thirty libraries take more time to load than all the rest, also in a host
// that asks nobody. These functions stay inside the extension; a libcurl of the host's own is another one.
#include "rpc/curl_library.hpp"

#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <stdexcept>
#include <string>

#include "text/words.hpp"

// The parameter before the dots is an enum, as libcurl declares it and takes it itself.
#pragma GCC diagnostic ignored "-Wvarargs"

// Macros that check the types of their arguments.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

namespace {

void* open_library() {
  if (void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error("libcurl is not installed (Debian: apt install libcurl4): " +
                           rpcroute::text::loader_words());
}

template <class Function>
Function* find(const char* name) {
  static void* const library = open_library();  // tried again after a failure
  void* const symbol = dlsym(library, name);
  if (!symbol) throw std::runtime_error(std::string("libcurl lacks ") + name + ": 7.87 or later is needed");
  return reinterpret_cast<Function*>(symbol);
}

/// The last argument of libcurl's variadic functions: a long, an object or function pointer or a curl_off_t, which all
/// travel alike on the 64-bit machines we build for.
void* last_argument(std::va_list arguments) {
  static_assert(sizeof(void*) == sizeof(long) && sizeof(void*) == sizeof(curl_off_t));
  return va_arg(arguments, void*);
}

}  // namespace

namespace rpcroute::rpc {

bool curl_is_installed() {
  try {
    open_library();
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace rpcroute::rpc

#define RPCROUTE_REAL(name)                                \
  (*[] {                                                   \
    static auto* const real = find<decltype(name)>(#name); \
    return real;                                           \
  }())

extern "C" {

CURLcode curl_global_init(long flags) {
  return RPCROUTE_REAL(curl_global_init)(flags);
}
curl_version_info_data* curl_version_info(CURLversion age) {
  return RPCROUTE_REAL(curl_version_info)(age);
}
time_t curl_getdate(const char* text, const time_t* unused) {
  return RPCROUTE_REAL(curl_getdate)(text, unused);
}
void curl_free(void* memory) {
  RPCROUTE_REAL(curl_free)(memory);
}
curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  return RPCROUTE_REAL(curl_slist_append)(list, text);
}
void curl_slist_free_all(curl_slist* list) {
  RPCROUTE_REAL(curl_slist_free_all)(list);
}

CURL* curl_easy_init() {
  return RPCROUTE_REAL(curl_easy_init)();
}
void curl_easy_cleanup(CURL* easy) {
  RPCROUTE_REAL(curl_easy_cleanup)(easy);
}
void curl_easy_reset(CURL* easy) {
  RPCROUTE_REAL(curl_easy_reset)(easy);
}
const char* curl_easy_strerror(CURLcode code) {
  return RPCROUTE_REAL(curl_easy_strerror)(code);
}
CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = last_argument(arguments);
  va_end(arguments);
  return RPCROUTE_REAL(curl_easy_setopt)(easy, option, value);
}
CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  std::va_list arguments;
  va_start(arguments, info);
  void* const value = last_argument(arguments);
  va_end(arguments);
  return RPCROUTE_REAL(curl_easy_getinfo)(easy, info, value);
}

CURLM* curl_multi_init() {
  return RPCROUTE_REAL(curl_multi_init)();
}
CURLMcode curl_multi_cleanup(CURLM* multi) {
  return RPCROUTE_REAL(curl_multi_cleanup)(multi);
}
CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  return RPCROUTE_REAL(curl_multi_add_handle)(multi, easy);
}
CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  return RPCROUTE_REAL(curl_multi_remove_handle)(multi, easy);
}
CURLMcode curl_multi_socket_action(CURLM* multi, curl_socket_t socket, int events, int* running) {
  return RPCROUTE_REAL(curl_multi_socket_action)(multi, socket, events, running);
}
CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  return RPCROUTE_REAL(curl_multi_info_read)(multi, left);
}
CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  std::va_list arguments;
  va_start(arguments, option);
  void* const value = last_argument(arguments);
  va_end(arguments);
  return RPCROUTE_REAL(curl_multi_setopt)(multi, option, value);
}

CURLU* curl_url() {
  return RPCROUTE_REAL(curl_url)();
}
void curl_url_cleanup(CURLU* url) {
  RPCROUTE_REAL(curl_url_cleanup)(url);
}
CURLUcode curl_url_get(CURLU* url, CURLUPart part, char** text, unsigned int flags) {
  return RPCROUTE_REAL(curl_url_get)(url, part, text, flags);
}
CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned int flags) {
  return RPCROUTE_REAL(curl_url_set)(url, part, text, flags);
}
const char* curl_url_strerror(CURLUcode code) {
  return RPCROUTE_REAL(curl_url_strerror)(code);
}

}  // extern "C"
