// libcurl, opened when it is first needed.
//
// Of the milliseconds that `.load` may take, libcurl and the thirty libraries behind it would take most, also where
// nobody polls. So nothing is linked against it: the functions that are used are defined here under their own names, and
// pass each call on to the library.
#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <stdexcept>

// The header wraps these in macros that check the types of options.
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

namespace {

/// The library's own function of that name. Throws when libcurl is not installed.
void* library_function(const char* name) {
  static void* const library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  void* const function = library == nullptr ? nullptr : dlsym(library, name);
  if (function == nullptr) throw std::runtime_error("libcurl.so.4 is not installed: polling needs libcurl 7.87 or newer");
  return function;
}

/// Options and information items tell by their number how their argument is passed.
enum class Passing { number, pointer, offset };

Passing passing_of(int option) {
  if (option < CURLOPTTYPE_OBJECTPOINT) return Passing::number;
  return option < CURLOPTTYPE_OFF_T || option >= CURLOPTTYPE_BLOB ? Passing::pointer : Passing::offset;
}

/// Calls a setopt function with the one argument that follows its option.
template <class Function, class Handle, class Option>
auto set_option(Function function, Handle handle, Option option, va_list arguments) {
  switch (passing_of(static_cast<int>(option))) {
    case Passing::number:
      return function(handle, option, va_arg(arguments, long));
    case Passing::offset:
      return function(handle, option, va_arg(arguments, curl_off_t));
    case Passing::pointer:
      break;
  }
  return function(handle, option, va_arg(arguments, void*));
}

}  // namespace

// Names a function of the library once; the rest follows from its declaration.
#define RPCROUTE_LIBRARY(name) static const auto function = reinterpret_cast<decltype(&(name))>(library_function(#name))

extern "C" {

CURLcode curl_global_init(long flags) {
  RPCROUTE_LIBRARY(curl_global_init);
  return function(flags);
}

CURL* curl_easy_init() {
  RPCROUTE_LIBRARY(curl_easy_init);
  return function();
}

void curl_easy_cleanup(CURL* easy) {
  RPCROUTE_LIBRARY(curl_easy_cleanup);
  function(easy);
}

void curl_easy_reset(CURL* easy) {
  RPCROUTE_LIBRARY(curl_easy_reset);
  function(easy);
}

CURLcode curl_easy_setopt(CURL* easy, CURLoption option, ...) {
  RPCROUTE_LIBRARY(curl_easy_setopt);
  va_list arguments;
  va_start(arguments, option);
  const CURLcode code = set_option(function, easy, option, arguments);
  va_end(arguments);
  return code;
}

CURLcode curl_easy_getinfo(CURL* easy, CURLINFO info, ...) {
  RPCROUTE_LIBRARY(curl_easy_getinfo);
  va_list arguments;
  va_start(arguments, info);
  const CURLcode code = function(easy, info, va_arg(arguments, void*));
  va_end(arguments);
  return code;
}

const char* curl_easy_strerror(CURLcode code) {
  RPCROUTE_LIBRARY(curl_easy_strerror);
  return function(code);
}

CURLM* curl_multi_init() {
  RPCROUTE_LIBRARY(curl_multi_init);
  return function();
}

CURLMcode curl_multi_cleanup(CURLM* multi) {
  RPCROUTE_LIBRARY(curl_multi_cleanup);
  return function(multi);
}

CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  RPCROUTE_LIBRARY(curl_multi_setopt);
  va_list arguments;
  va_start(arguments, option);
  const CURLMcode code = set_option(function, multi, option, arguments);
  va_end(arguments);
  return code;
}

CURLMcode curl_multi_add_handle(CURLM* multi, CURL* easy) {
  RPCROUTE_LIBRARY(curl_multi_add_handle);
  return function(multi, easy);
}

CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* easy) {
  RPCROUTE_LIBRARY(curl_multi_remove_handle);
  return function(multi, easy);
}

CURLMcode curl_multi_socket_action(CURLM* multi, curl_socket_t socket, int events, int* running) {
  RPCROUTE_LIBRARY(curl_multi_socket_action);
  return function(multi, socket, events, running);
}

CURLMsg* curl_multi_info_read(CURLM* multi, int* left) {
  RPCROUTE_LIBRARY(curl_multi_info_read);
  return function(multi, left);
}

curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  RPCROUTE_LIBRARY(curl_slist_append);
  return function(list, text);
}

void curl_slist_free_all(curl_slist* list) {
  RPCROUTE_LIBRARY(curl_slist_free_all);
  function(list);
}

CURLU* curl_url() {
  RPCROUTE_LIBRARY(curl_url);
  return function();
}

void curl_url_cleanup(CURLU* url) {
  RPCROUTE_LIBRARY(curl_url_cleanup);
  function(url);
}

#if LIBCURL_VERSION_NUM >= 0x080100
CURLUcode curl_url_get(const CURLU* url, CURLUPart part, char** text, unsigned int flags) {
#else
CURLUcode curl_url_get(CURLU* url, CURLUPart part, char** text, unsigned int flags) {
#endif
  RPCROUTE_LIBRARY(curl_url_get);
  return function(url, part, text, flags);
}

CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned int flags) {
  RPCROUTE_LIBRARY(curl_url_set);
  return function(url, part, text, flags);
}

const char* curl_url_strerror(CURLUcode code) {
  RPCROUTE_LIBRARY(curl_url_strerror);
  return function(code);
}

void curl_free(void* memory) {
  RPCROUTE_LIBRARY(curl_free);
  function(memory);
}

time_t curl_getdate(const char* text, const time_t* unused) {
  RPCROUTE_LIBRARY(curl_getdate);
  return function(text, unused);
}

curl_version_info_data* curl_version_info(CURLversion version) {
  RPCROUTE_LIBRARY(curl_version_info);
  return function(version);
}

}  // extern "C"
