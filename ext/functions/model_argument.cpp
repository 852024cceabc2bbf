#include "functions/model_argument.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "model/document.hpp"
#include "model/error.hpp"
#include "model/limits.hpp"
#include "sqlite/query.hpp"
#include "sqlite/stored_call.hpp"

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

/// A model itself rather than the name of one. A NUL is in no name, but in binary files and pickles that were bound as
/// text: reading them says what to do.
bool is_content(sqlite::Value model) {
  const auto bytes = bytes_of(model);
  return model.is_blob() || model::is_document(bytes) ||
         std::find(bytes.begin(), bytes.end(), std::byte{0}) != bytes.end();
}

ModelPointer compiled(sqlite::Connection& connection, sqlite::Value content) {
  return connection.service<ModelCache>().get(bytes_of(content), connection.pulse());
}

ModelPointer compiled(sqlite::Connection& connection, sqlite::Value content, const std::string& name) {
  try {
    return compiled(connection, content);
  } catch (const model::ModelError& error) {
    throw sqlite::Error("model '" + name + "': " + error.what());
  }
}

/// No view: it could show what its maker, perhaps a stranger, may not read.
void require_models(sqlite::Connection& connection) {
  if (sqlite::required_relation(connection, "rpc_models", "main").is_view) {
    throw sqlite::Error("rpc_models is a view: models are read from a table");
  }
}

bool trusts_schema(sqlite::Connection& connection) {
  int trusted = 0;
  sqlite3_db_config(connection.db(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, -1, &trusted);
  return trusted != 0;
}

}  // namespace

ModelPointer ModelCache::get(std::span<const std::byte> content, const text::Pulse& pulse) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return equal(entry.content, content); });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->model;
  }
  text::Budget budget(model::limits::model(content.size()), pulse);
  ModelPointer model = model::Model::compile(content, budget);
  entries_.push_front({std::string(reinterpret_cast<const char*>(content.data()), content.size()), std::move(model)});
  const auto held = [&] {
    return std::accumulate(entries_.begin(), entries_.end(), std::size_t{0},
                           [](std::size_t sum, const Entry& entry) { return sum + entry.content.size(); });
  };
  while (entries_.size() > model::limits::kept_models || (entries_.size() > 1 && held() > model::limits::kept_bytes)) {
    entries_.pop_back();
  }
  return entries_.front().model;
}

ModelPointer find_model(sqlite::Connection& connection, sqlite::Value model) {
  if (is_content(model)) return compiled(connection, model);
  const std::string name(model.text());
  require_models(connection);
  Query row(connection, "SELECT content FROM main.rpc_models WHERE model = ?1");
  row.bind(1, name);
  if (!row.step()) throw sqlite::Error("no model " + sqlite::quoted(model) + " in rpc_models");
  return compiled(connection, row.value(0), name);
}

ModelPointer active_model(sqlite::Connection& connection) {
  require_models(connection);
  Query row(connection, "SELECT content, model FROM main.rpc_models WHERE active = 1 LIMIT 2");
  if (!row.step()) throw sqlite::Error("no active model in rpc_models: run sql/train.sql, or name a model");
  ModelPointer model = compiled(connection, row.value(0), row.text(1));
  if (row.step()) throw sqlite::Error("more than one row of rpc_models has active = 1");
  return model;
}

void ModelLookup::refuse_untrusted_calls(sqlite::Connection& connection) {
  if (is_trusted_) return;
  if (!trusts_schema(connection)) {
    for (const char* function : {"predict_confirm", "predict_confirm_named", "predict_confirm_contributions"}) {
      sqlite::refuse_stored_calls(connection, function);
    }
  }
  is_trusted_ = true;
}

const ModelPointer& ModelLookup::named(sqlite::Connection& connection, sqlite::Value model) {
  const auto bytes = bytes_of(model);
  if (!named_ || !equal(last_argument_, bytes)) {
    if (!is_content(model)) refuse_untrusted_calls(connection);
    named_ = find_model(connection, model);
    last_argument_.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return named_;
}

const ModelPointer& ModelLookup::active(sqlite::Connection& connection) {
  if (!active_) {
    refuse_untrusted_calls(connection);
    active_ = active_model(connection);
  }
  return active_;
}

}  // namespace rpcroute::functions
