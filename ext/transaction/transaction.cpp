#include "transaction/transaction.hpp"

#include <cstdlib>

namespace rpcroute::transaction {

std::string default_signer() {
  const char* key = std::getenv("RPCROUTE_KEY");
  return key != nullptr && *key != 0 ? "env:RPCROUTE_KEY" : "node";
}

std::string_view name(TransactionState state) {
  switch (state) {
    case TransactionState::prepared:
      return "prepared";
    case TransactionState::pending:
      return "pending";
    case TransactionState::confirmed:
      return "confirmed";
    case TransactionState::reverted:
      return "reverted";
    case TransactionState::rejected:
      return "rejected";
    case TransactionState::timeout:
      return "timeout";
  }
  return "";
}

}  // namespace rpcroute::transaction
