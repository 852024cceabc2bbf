// tx_probe, tx_send and tx_wait, pointed at a world in virtual time.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "transaction/scan.hpp"
#include "transaction_world.hpp"

namespace rpcroute::transaction::test {

// Accounts of the well-known test mnemonic: they guard nothing.
inline constexpr const char* first_key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
inline constexpr const char* second_key = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
inline const std::string first_account = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";

/// A world of honest nodes, and tx_probe pointed at it.
class Bench {
 public:
  explicit Bench(const std::vector<std::string>& ids) {
    setenv("RPCROUTE_KEY", first_key, 1);
    setenv("RPCROUTE_KEY_2", second_key, 1);
    for (const std::string& id : ids) world.nodes[id];
    plan.seed = 7;
    plan.follow.timeout_sec = 60;
    plan.follow.poll_ms = 100;
    plan.signer = "env:RPCROUTE_KEY";
  }
  ~Bench() {
    unsetenv("RPCROUTE_KEY");
    unsetenv("RPCROUTE_KEY_2");
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Desk desk(rpc::Interrupt interrupt = {}) { return {world, book, broadcasts, "here", std::move(interrupt)}; }

  /// As another process has it: the book is the machine's, the memory of what was sent is not.
  Desk another_desk() { return {world, another_book, others_broadcasts, "there", {}}; }

  std::unique_ptr<Records> scan_of(std::vector<rpc::Provider> providers, rpc::Interrupt interrupt = {}) {
    return probe(desk(std::move(interrupt)), std::move(providers), plan, {});
  }

  std::vector<Record> scan() { return all_of(*scan_of(world.providers())); }

  Record only() {
    const auto records = scan();
    REQUIRE(records.size() == 1);
    return records.front();
  }

  std::vector<Record> send(const std::vector<Record>& records) {
    return all_of(*transaction::send(desk(), references(records), world.providers(), follow));
  }

  std::vector<Record> wait(const std::vector<Record>& records) {
    return all_of(*transaction::wait(desk(), references(records), world.providers(), follow));
  }

  template <class Rows>
  static std::vector<Record> all_of(Rows&& rows) {
    std::vector<Record> records;
    while (auto record = rows.next()) records.push_back(std::move(*record));
    return records;
  }

  static std::vector<Reference> references(const std::vector<Record>& records) {
    std::vector<Reference> all;
    for (const auto& record : records) {
      all.push_back({record.provider_id, record.tx_hash.value_or(""), record.raw.value_or(""), record.timestamp});
    }
    return all;
  }

  /// Draws come to this node, and the others only watch.
  World::Node& drawn(const std::string& id) {
    plan.forced_providers = {id};
    return world.nodes.at(id);
  }

  World world;
  BookDirectory directory;
  NonceBook book{directory.path()};
  NonceBook another_book{directory.path()};
  Broadcasts broadcasts;
  Broadcasts others_broadcasts;
  Plan plan;
  FollowPlan follow{60, 100, rpc::Milliseconds(3500)};
};

/// The node does its work, and the answer says something else.
inline World::Fault after(rpc::Answer answer) {
  return [answer](const auto& honest) {
    honest();
    return answer;
  };
}

/// The node does nothing but answer this.
inline World::Fault instead(rpc::Answer answer) {
  return [answer](const auto&) { return answer; };
}

inline int sends(const World& world) {
  int all = 0;
  for (const auto& [id, node] : world.nodes) {
    for (const char* method : {"eth_sendRawTransaction", "eth_sendTransaction"}) {
      const auto found = node.asked.find(method);
      if (found != node.asked.end()) all += found->second;
    }
  }
  return all;
}

inline const std::string send_raw = "eth_sendRawTransaction";

}  // namespace rpcroute::transaction::test
