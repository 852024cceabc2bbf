// Scalar functions and aggregates as plain C++ types.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <vector>

#include "sqlite/connection.hpp"
#include "sqlite/doc.hpp"
#include "sqlite/error.hpp"
#include "sqlite/result.hpp"
#include "sqlite/value.hpp"

namespace rpcroute::sqlite {

/// One call of a function in progress.
class Call {
 public:
  Call(sqlite3_context* context, Connection& connection) : context_(context), connection_(connection) {}

  Connection& connection() { return connection_; }
  Result result() { return Result(context_); }

  /// The object of type T that lives as long as the execution of the statement, made by default construction on first
  /// use and shared by all calls of all functions in it.
  template <class T>
  T& per_execution() {
    static const int slot = next_slot();
    if (auto* found = static_cast<T*>(sqlite3_get_auxdata(context_, slot))) return *found;
    sqlite3_set_auxdata(context_, slot, new T(), [](void* object) { delete static_cast<T*>(object); });
    // Without memory SQLite has destroyed the object at once: ask for what is there.
    auto* kept = static_cast<T*>(sqlite3_get_auxdata(context_, slot));
    if (kept == nullptr) throw std::bad_alloc();
    return *kept;
  }

  sqlite3_context* raw() { return context_; }

 private:
  /// An auxdata index no other type has. Negative ones are those of the statement rather than of one argument; SQLite's
  /// JSON uses them so too.
  static int next_slot();

  sqlite3_context* context_;
  Connection& connection_;
};

/// How a function is registered.
struct FunctionSpec {
  const char* name;
  std::vector<int> arities;    ///< numbers of arguments accepted; {-1} = the function checks
  Reach reach = Reach::pure;
  bool deterministic = false;  ///< pure functions of their arguments
  bool returns_json = false;
  Doc doc;
};

/// A scalar function: `static FunctionSpec spec()` and `static void call(Call&, Arguments)`. Scalars do no I/O: SQLite
/// 3.40 runs even DIRECTONLY ones from a CHECK constraint.
template <class F>
concept ScalarFunction = requires(Call& call, Arguments arguments) {
  { F::spec() } -> std::same_as<FunctionSpec>;
  F::call(call, arguments);
};

/// An aggregate: `static FunctionSpec spec()`, one object per group, `step(Arguments)` per row, `finish(Call&)` once.
template <class A>
concept AggregateFunction = requires(A state, Call& call, Arguments arguments) {
  { A::spec() } -> std::same_as<FunctionSpec>;
  state.step(call, arguments);
  state.finish(call);
};

/// An aggregate that also serves as a window function.
template <class A>
concept WindowFunction = AggregateFunction<A> && requires(A state, Call& call, Arguments arguments) {
  state.inverse(call, arguments);
  state.value(call);
};

/// What sqlite3_user_data() points to: the connection, kept alive by every function registered on it, and the name.
struct FunctionData {
  std::shared_ptr<Connection> connection;
  const char* name;
};

/// A function ready to be registered.
struct Function {
  FunctionSpec spec;
  void (*call)(sqlite3_context*, int, sqlite3_value**) = nullptr;
  void (*step)(sqlite3_context*, int, sqlite3_value**) = nullptr;
  void (*final)(sqlite3_context*) = nullptr;
  void (*value)(sqlite3_context*) = nullptr;
  void (*inverse)(sqlite3_context*, int, sqlite3_value**) = nullptr;

  /// Registers every arity that `present(arity)` does not already report; throws Error naming the function.
  void create(const std::shared_ptr<Connection>& connection, int arity) const;
};

namespace detail {

inline FunctionData& data(sqlite3_context* context) {
  return *static_cast<FunctionData*>(sqlite3_user_data(context));
}

template <class Work>
void in_call(sqlite3_context* context, Work&& work) noexcept {
  FunctionData& function = data(context);
  const Outcome outcome = guard(function.name, [&] {
    Call call(context, *function.connection);
    work(call);
  });
  if (outcome.code != SQLITE_OK) report(context, outcome);
}

/// The group's state: a pointer in SQLite's zeroed aggregate memory to an object of ours.
template <class A>
A*& slot(sqlite3_context* context) {
  auto* memory = static_cast<A**>(sqlite3_aggregate_context(context, sizeof(A*)));
  if (memory == nullptr) throw std::bad_alloc();
  return *memory;
}

template <class A>
A& state(sqlite3_context* context) {
  A*& pointer = slot<A>(context);
  if (pointer == nullptr) pointer = new A();
  return *pointer;
}

template <class A>
void step(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  in_call(context, [&](Call& call) { state<A>(context).step(call, Arguments(count, values)); });
}

template <class A>
void inverse(sqlite3_context* context, int count, sqlite3_value** values) noexcept {
  in_call(context, [&](Call& call) { state<A>(context).inverse(call, Arguments(count, values)); });
}

template <class A>
void value(sqlite3_context* context) noexcept {
  in_call(context, [&](Call& call) { state<A>(context).value(call); });
}

template <class A>
void final(sqlite3_context* context) noexcept {
  // A group without rows has no memory, and gets none: size 0 asks for what is there.
  auto* memory = static_cast<A**>(sqlite3_aggregate_context(context, 0));
  std::unique_ptr<A> owned(memory == nullptr ? nullptr : *memory);
  if (memory != nullptr) *memory = nullptr;
  in_call(context, [&](Call& call) {
    if (!owned) owned = std::make_unique<A>();
    owned->finish(call);
  });
}

}  // namespace detail

template <ScalarFunction F>
Function scalar() {
  return {.spec = F::spec(), .call = [](sqlite3_context* context, int count, sqlite3_value** values) {
            detail::in_call(context, [&](Call& call) { F::call(call, Arguments(count, values)); });
          }};
}

template <AggregateFunction A>
Function aggregate() {
  Function function{.spec = A::spec(), .step = detail::step<A>, .final = detail::final<A>};
  if constexpr (WindowFunction<A>) {
    function.value = detail::value<A>;
    function.inverse = detail::inverse<A>;
  }
  return function;
}

}  // namespace rpcroute::sqlite
