// Connections in several threads at once, each with its own; and a process that opens and closes many.
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "counting_server.hpp"
#include "host.hpp"

using rpcroute::test::CountingServer;
using rpcroute::test::Host;
using rpcroute::test::Rows;

namespace {

/// Trains on a line, predicts from it, and polls a provider: what a connection does in its life.
Rows live(const std::string& url) {
  Host host;
  host.run(
      "CREATE TABLE rpc_models (model TEXT PRIMARY KEY, content, active DEFAULT 0);"
      "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199) "
      "INSERT INTO rpc_models SELECT 'm', train_confirm('{\"features\":[\"x\"],\"num_round\":5}', i * 2.0, i), 1 FROM "
      "n");
  return host.run(
      "SELECT predict_confirm(17), round(predict_confirm('m', 150), 3);"
      "SELECT ok, block_number FROM rpc_probe('[{\"provider_id\":\"a\",\"url\":\"" +
      url + "\"}]')");
}

}  // namespace

TEST_CASE("eight threads with a connection each see what one sees") {
  const CountingServer server;
  const Rows alone = live(server.url());
  std::vector<Rows> seen(8);
  std::vector<std::thread> threads;
  for (Rows& rows : seen) threads.emplace_back([&] { rows = live(server.url()); });
  for (std::thread& thread : threads) thread.join();
  for (const Rows& rows : seen) CHECK(rows == alone);
}

TEST_CASE("connections can be opened, used and closed one after another") {
  const CountingServer server;
  const Rows first = live(server.url());
  for (int i = 0; i < 20; ++i) CHECK(live(server.url()) == first);
}
