#include <catch2/catch.hpp>

#include "text/budget.hpp"

using rpcroute::text::Budget;
using rpcroute::text::OverBudget;

TEST_CASE("a budget gives what it has and refuses the rest before it is used") {
  Budget budget({.bytes = 10, .cells = 3});
  budget.bytes(10);
  CHECK_THROWS_AS(budget.bytes(1), OverBudget);
  budget.cells(2);
  CHECK_THROWS_AS(budget.cells(2), OverBudget);
  CHECK_NOTHROW(budget.cells(1));
  CHECK_THROWS_WITH(budget.cells(1), "more than 3 values");
}

TEST_CASE("a level of nesting is given back when it ends") {
  Budget budget({.depth = 2});
  for (int i = 0; i < 3; ++i) {
    const Budget::Level first(budget);
    const Budget::Level second(budget);
    CHECK_THROWS_AS(Budget::Level(budget), OverBudget);
  }
}

TEST_CASE("steps pulse once a stretch, taken singly or many at once, and end at their limit") {
  int pulses = 0;
  Budget budget({.steps = 4 * Budget::steps_between_pulses}, [&] { ++pulses; });
  for (std::uint32_t i = 0; i < Budget::steps_between_pulses; ++i) budget.step();
  CHECK(pulses == 1);
  budget.steps(Budget::steps_between_pulses - 1);
  CHECK(pulses == 1);
  budget.steps(1);
  CHECK(pulses == 2);
  budget.steps(2 * Budget::steps_between_pulses);
  CHECK(pulses == 3);
  CHECK_THROWS_AS(budget.steps(Budget::steps_between_pulses), OverBudget);
}

TEST_CASE("what the pulse throws ends the work") {
  struct Stop {};
  Budget budget([] { throw Stop(); });
  CHECK_THROWS_AS(budget.steps(Budget::steps_between_pulses), Stop);
}
