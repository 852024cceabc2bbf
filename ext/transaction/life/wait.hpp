// The third door: what became of a transaction that was sent, by this process or another.
#pragma once

#include <optional>

#include "transaction/life/life.hpp"
#include "transaction/reference.hpp"

namespace rpcroute::transaction {

class WaitLife final : public Life {
 public:
  WaitLife(const Surroundings& surroundings, const Fleets::Place& place, const std::optional<ReadTransaction>& read,
           Record record);

  void start() override;

 private:
  void delivered(const DeliveryOutcome&) override {}
  void unheard() override;
  void leave(const rpc::Failure& failure);
  rpc::Clock::time_point deadline() const;
};

}  // namespace rpcroute::transaction
