// The two ways in which the room says no.
#pragma once

#include <stdexcept>
#include <string>

namespace rpcroute::model {

/// A model that is not evaluated. The message begins "model refused: " and names the field by its path in the file.
class ModelError : public std::runtime_error {
 public:
  explicit ModelError(const std::string& why) : std::runtime_error("model refused: " + why) {}
};

/// libxgboost is absent, or failed while training, explaining or checking. The message is one line, without the
/// library's time stamp, source position and stack trace.
class LibraryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace rpcroute::model
