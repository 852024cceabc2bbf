// The first door: a transaction is numbered, signed, sent and followed.
#pragma once

#include <optional>
#include <string>

#include "chain/evm_signer.hpp"
#include "chain/fees.hpp"
#include "transaction/life/life.hpp"
#include "transaction/nonce/request.hpp"

namespace rpcroute::transaction {

/// What a scan says of each of its probes.
struct ProbeWish {
  const chain::PrivateKey* key = nullptr;  ///< null when the node signs
  chain::Fees fees;
  bool wait = true;
  bool send = true;
  std::optional<double> propensity;
  std::optional<AccountState> known;  ///< see NonceWish
};

class ProbeLife final : public Life {
 public:
  ProbeLife(const Surroundings& surroundings, Fleet& fleet, std::size_t own, const std::string& region, ProbeWish wish);

  void start() override;

  /// Ends it at once, with nothing sent.
  void refuse(const rpc::Failure& failure);

  /// It was sent, or its signed bytes were handed out: it may cost what it can cost.
  bool may_cost() const { return record().state != State::rejected; }

  /// What the account's next number may be given without asking anybody; empty when this one got none.
  const std::optional<AccountState>& known_for_next() const { return wish_.known; }

 private:
  void take_back(const rpc::Failure& failure);
  void ask_account();
  void ask_nonce(const std::string& account);
  void number(Numbering numbering);
  void sign();
  void sign_and_send();
  void send_by_node();
  void delivered(const DeliveryOutcome& outcome) override;

  ProbeWish wish_;
  std::string account_;
  std::unique_ptr<NonceRequest> nonce_request_;
};

}  // namespace rpcroute::transaction
