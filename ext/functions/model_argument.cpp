#include "functions/model_argument.hpp"

#include <algorithm>
#include <cstring>

#include "sqlite/query.hpp"

namespace rpcroute::functions {
namespace {

using sqlite::Query;

bool equal(std::string_view cached, std::span<const std::byte> content) {
  return cached.size() == content.size() && std::memcmp(cached.data(), content.data(), content.size()) == 0;
}

/// The bytes of a TEXT or BLOB value, as they are.
std::span<const std::byte> bytes_of(sqlite::Value value) {
  if (value.is_blob()) return value.blob();
  return std::as_bytes(std::span(value.text()));
}

/// Both model formats are an object, and an object begins with '{'; a name does not.
bool is_content(std::span<const std::byte> bytes) {
  return !bytes.empty() && bytes[0] == std::byte{'{'};
}

ModelPointer compiled(sqlite::Connection& connection, sqlite::Value content, const std::string& name) {
  try {
    return connection.service<ModelCache>().get(bytes_of(content));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw sqlite::Error("model '" + name + "': " + error.what());
  }
}

}  // namespace

ModelPointer ModelCache::get(std::span<const std::byte> content) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return equal(entry.content, content); });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    ModelPointer model = model::Model::compile(content);
    entries_.push_front({std::string(reinterpret_cast<const char*>(content.data()), content.size()), std::move(model)});
    if (entries_.size() > kMost) entries_.pop_back();
  }
  return entries_.front().model;
}

ModelPointer find_model(sqlite::Connection& connection, sqlite::Value model) {
  const auto bytes = bytes_of(model);
  if (is_content(bytes)) return connection.service<ModelCache>().get(bytes);
  if (model.is_blob()) throw sqlite::Error("model refused: a BLOB that is not UBJSON");
  const std::string name(model.text());
  sqlite::required_relation(connection, "rpc_models", "main");
  Query row(connection, "SELECT content FROM main.rpc_models WHERE model = ?1");
  row.bind(1, name);
  if (!row.step()) throw sqlite::Error("no model " + sqlite::quoted(model) + " in rpc_models");
  return compiled(connection, row.value(0), name);
}

ModelPointer active_model(sqlite::Connection& connection) {
  sqlite::required_relation(connection, "rpc_models", "main");
  Query row(connection, "SELECT content, model FROM main.rpc_models WHERE active = 1 LIMIT 2");
  if (!row.step()) throw sqlite::Error("no active model in rpc_models: run sql/train.sql, or name a model");
  ModelPointer model = compiled(connection, row.value(0), row.text(1));
  if (row.step()) throw sqlite::Error("more than one row of rpc_models has active = 1");
  return model;
}

const ModelPointer& ModelLookup::named(sqlite::Connection& connection, sqlite::Value model) {
  const auto bytes = bytes_of(model);
  if (!named_ || !equal(last_argument_, bytes)) {
    named_ = find_model(connection, model);
    last_argument_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return named_;
}

const ModelPointer& ModelLookup::active(sqlite::Connection& connection) {
  if (!active_) active_ = active_model(connection);
  return active_;
}

}  // namespace rpcroute::functions
