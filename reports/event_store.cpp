#include "reports/event_store.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <variant>
#include <vector>

#include <sqlite3.h>

#include "reports/embedded.hpp"
#include "reports/hdr_codec.hpp"
#include "reports/row_writer.hpp"
#include "reports/run_file.hpp"
#include "reports/sqlite.hpp"

namespace gatedrill::reports {
namespace {

constexpr int kRowsPerTransaction = 20'000;

// A file in the way is replaced only if it is a run.db.
Result<void> clear_the_way(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (status.type() == std::filesystem::file_type::directory) {
    return usage_error(path + " is a folder; name a file in it, such as " + path + "/run.db");
  }
  if (std::filesystem::file_size(path, failed) > 0 && !failed && !is_run_file(path)) {
    return usage_error(path + " exists and is not a run.db, so it is not overwritten; choose " +
                       "another name");
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(path + suffix, failed);
    if (failed) return outside_error("cannot replace " + path + ": " + failed.message());
  }
  return {};
}

using RunValue = std::variant<std::string, std::int64_t, double>;

}  // namespace

struct EventStore::State {
  State(std::string path_to_write, Database opened)
      : path(std::move(path_to_write)), database(std::move(opened)) {}

  mutable std::mutex mutex;
  std::string path;
  Database database;
  std::optional<RowWriter> rows;
  Tally tally;
  std::int64_t settled_until = 0;
  TimePoint last_event{};
  int rows_in_transaction = 0;
  bool in_transaction = false;
  bool finished = false;
  std::vector<std::string> invalid_because;
  std::optional<Error> failure;

  void note(const Result<void>& result) {
    if (!result && !failure) failure = result.error();
  }

  void note(int code) {
    if (code != SQLITE_DONE && code != SQLITE_ROW && !failure) failure = database.error(code);
  }

  void begin() {
    if (in_transaction || failure) return;
    note(database.execute("BEGIN"));
    in_transaction = !failure;
  }

  void commit() {
    if (!in_transaction || failure) return;
    note(database.execute("COMMIT"));
    in_transaction = false;
    rows_in_transaction = 0;
  }

  void add(const Event& event, std::uint32_t weight) {
    assert(!finished);
    if (failure) return;
    begin();
    if (failure) return;
    note(rows->write(event, weight));
    last_event = std::max(last_event, RowWriter::time_of(event));
    if (++rows_in_transaction >= kRowsPerTransaction) {
      write_settled();
      commit();
      tally.compact();
    }
  }

  void set(std::string_view key, const RunValue& value) {
    assert(!finished);
    write_fact(key, value);
  }

  void write_fact(std::string_view key, const RunValue& value) {
    begin();
    if (failure) return;
    Result<Statement> insert = database.prepare(
        "INSERT INTO t_run VALUES(?, ?) ON CONFLICT(key) DO UPDATE "
        "SET value = excluded.value");
    if (!insert) {
      failure = insert.error();
      return;
    }
    insert->bind(1, key);
    std::visit(
        [&insert](const auto& known) {
          if constexpr (std::is_same_v<std::decay_t<decltype(known)>, std::string>) {
            insert->bind(2, std::string_view(known));
          } else {
            insert->bind(2, known);
          }
        },
        value);
    note(insert->run());
  }

  void write(const Tally& totals);
  void write_settled();
  void write_totals();
  void write_dropped_reasons();
  void finish();
};

void EventStore::State::write(const Tally& totals) {
  for (const Tally::Outcome& outcome : totals.outcomes()) {
    if (!failure) note(rows->write(outcome));
  }
  totals.for_each_latency([this](const Tally::Latency& latency) {
    if (!failure) note(rows->write(latency));
  });
}

// So that a run of weeks needs no more memory than one of minutes, and leaves its totals even if it
// is killed.
void EventStore::State::write_settled() {
  constexpr std::int64_t kOpenSeconds = 120;  // later requests of theirs are rare
  constexpr std::int64_t kAtOnce = 30;
  const std::int64_t settled = tally.latest_second() - kOpenSeconds;
  if (failure || settled < settled_until + kAtOnce) return;
  settled_until = settled;
  begin();
  write(tally.take_before(settled));
}

void EventStore::State::write_totals() {
  begin();
  if (failure) return;
  write(tally);
  if (failure) return;
  const Result<std::optional<std::int64_t>> known =
      database.integer("SELECT count(*) FROM t_run WHERE key = 'duration_ms'");
  if (known && *known == 0) write_fact("duration_ms", to_ms(last_event.time_since_epoch()));
  note(
      database.execute("CREATE INDEX t_request_id ON t_request(gateway, request_id);"
                       "CREATE INDEX t_attempt_id ON t_attempt(gateway, request_id);"
                       "CREATE INDEX t_send_id ON t_send(gateway, request_id);"
                       "CREATE INDEX t_execution_id ON t_execution(gateway, request_id);"
                       "CREATE INDEX t_fault_hit_name ON t_fault_hit(gateway, fault, at_ns);"));
}

// What could not be recorded makes the rest no evidence.
void EventStore::State::write_dropped_reasons() {
  if (failure) return;
  Result<Statement> query = database.prepare(
      "SELECT place, coalesce(reason, 'not recorded'), sum(count) FROM t_dropped "
      "GROUP BY 1, 2 HAVING sum(count) > 0");
  if (!query) {
    failure = query.error();
    return;
  }
  while (query->step() == SQLITE_ROW) {
    invalid_because.push_back(std::to_string(query->integer(2)) + " lost at " + query->text(0) +
                              ": " + query->text(1));
  }
}

// `valid` comes last, when everything else is in the file itself and not in the log beside it.
void EventStore::State::finish() {
  write_totals();
  write_dropped_reasons();
  commit();
  rows.reset();
  if (!failure) note(database.execute("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE"));
  begin();
  std::string reasons;
  for (const std::string& reason : invalid_because) {
    reasons += (reasons.empty() ? "" : "\n") + reason;
  }
  if (!reasons.empty()) write_fact("invalid_because", reasons);
  write_fact("valid", std::int64_t{reasons.empty() ? 1 : 0});
  commit();
  finished = true;
}

Result<std::unique_ptr<EventStore>> EventStore::create(const std::string& path) {
  if (Result<void> cleared = clear_the_way(path); !cleared) return cleared.error();
  Result<Database> database = Database::open(path, Database::Mode::create);
  if (!database) return database.error();
  // The file needs no protection from a power cut while it is being written: it is no evidence
  // before finish(), which writes with full synchronisation.
  Result<void> made = database->execute(
      "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;" +
      std::string("PRAGMA application_id = ") + std::to_string(kRunApplicationId) +
      "; PRAGMA user_version = " + std::to_string(kRunSchemaVersion) + "; BEGIN;" +
      std::string(embedded::schema_sql) + "COMMIT;");
  if (!made) return made.error();
  auto state = std::make_unique<State>(path, std::move(*database));
  Result<RowWriter> rows = RowWriter::prepare(state->database);
  if (!rows) return rows.error();
  state->rows.emplace(std::move(*rows));
  return std::unique_ptr<EventStore>(new EventStore(std::move(state)));
}

EventStore::EventStore(std::unique_ptr<State> state) : state_(std::move(state)) {}

EventStore::~EventStore() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->finished) state_->commit();
  state_->rows.reset();
}

void EventStore::publish(const Event& event) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (const auto* request = std::get_if<RequestDone>(&event.body)) {
    state_->tally.count(event.gateway, *request);
  }
  state_->add(event, 1);
}

void EventStore::add_row(const Event& event, std::uint32_t weight) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->add(event, weight);
}

void EventStore::count(const Tally& tally) {
  const std::lock_guard lock(state_->mutex);
  state_->tally.merge(tally);
  state_->write_settled();
  state_->tally.compact();
}

void EventStore::set_run(std::string_view key, std::string_view value) {
  const std::lock_guard lock(state_->mutex);
  state_->set(key, std::string(value));
}

void EventStore::set_run(std::string_view key, double value) {
  const std::lock_guard lock(state_->mutex);
  state_->set(key, value);
}

void EventStore::set_run_integer(std::string_view key, std::int64_t value) {
  const std::lock_guard lock(state_->mutex);
  state_->set(key, value);
}

void EventStore::add_phase(std::string_view name, TimePoint from, TimePoint until, NameId gateway) {
  const std::lock_guard lock(state_->mutex);
  state_->begin();
  if (state_->failure) return;
  state_->note(state_->rows->write_phase(name, from, until, gateway));
}

void EventStore::invalidate(std::string_view reason) {
  const std::lock_guard lock(state_->mutex);
  state_->invalid_because.emplace_back(reason);
}

Result<void> EventStore::flush() {
  const std::lock_guard lock(state_->mutex);
  state_->commit();
  if (state_->failure) return *state_->failure;
  return {};
}

Result<void> EventStore::finish() {
  const std::lock_guard lock(state_->mutex);
  if (!state_->finished) state_->finish();
  if (state_->failure) return *state_->failure;
  return {};
}

std::optional<Error> EventStore::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

const std::string& EventStore::path() const {
  return state_->path;
}

}  // namespace gatedrill::reports
