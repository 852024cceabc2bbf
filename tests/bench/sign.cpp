// How many probe transactions one core signs in a second, encoding, hashing and signature together.
//
//   build/tests/rpcroute-bench-sign [seconds]
//
// Each has a number of its own, as in a scan; the last one is read back and its signer recovered. The goal is 10,000.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "chain/evm_signer.hpp"

namespace {

using namespace rpcroute::chain;
using Clock = std::chrono::steady_clock;

constexpr double goal = 10'000;
constexpr int batch = 500;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Transactions per second in the best of the batches that fit the time: the host's other work only ever adds.
double best_rate(const PrivateKey& key, Eip1559Transaction& transaction, double seconds) {
  double best = 0;
  for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
    const auto begin_of_batch = Clock::now();
    for (int i = 0; i < batch; ++i) {
      ++transaction.nonce;
      if (sign_probe_transfer(transaction, key).raw.empty()) std::abort();
    }
    best = std::max(best, batch / seconds_since(begin_of_batch));
  }
  return best;
}

bool reads_back(const PrivateKey& key, const Eip1559Transaction& transaction) {
  const auto read = read_signed_payload(sign_probe_transfer(transaction, key).raw);
  return read && read->first.nonce == transaction.nonce && recover_sender(read->first, read->second) == key.address();
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  // The first account of the mnemonic that development nodes start with: it guards nothing.
  const auto key = PrivateKey::read("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80", "the key");
  Eip1559Transaction transaction;
  transaction.chain_id = 11155111;
  transaction.max_fee_per_gas = 3'000'000'000;
  transaction.max_priority_fee_per_gas = 1'000'000'000;
  transaction.gas_limit = 21000;
  transaction.to = key.address();
  const double rate = best_rate(key, transaction, seconds);
  const bool right = reads_back(key, transaction);
  std::printf("%.0f transactions signed per second on one core (goal %.0f); the last one reads back %s\n", rate, goal,
              right ? "right" : "WRONG");
  return right && rate >= goal ? EXIT_SUCCESS : EXIT_FAILURE;
}
