// What the C library has to say, in English: a message must not depend on the language of the host.
#pragma once

#include <string>

namespace rpcroute::text {

/// What an errno means, in lower case.
std::string system_words(int error);

/// Why the last dlopen() of this thread failed.
std::string loader_words();

}  // namespace rpcroute::text
