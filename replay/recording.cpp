#include "replay/recording.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "gateway/http/head.hpp"
#include "replay/body_store.hpp"
#include "replay/database.hpp"
#include "replay/recorded_fields.hpp"
#include "replay/recording_schema.hpp"
#include "replay/row_readers.hpp"

namespace gatedrill::replay {
namespace {

// Before those of kCourseColumns.
constexpr std::string_view kOwnColumns =
    "e.id, e.at_ns, e.connection, c.client, c.server, e.protocol, e.host, e.latency_ns, e.tunnel, "
    "e.informational, "
    "e.method, e.target, e.request_version, e.request_fields, e.request_body, e.request_complete, "
    "e.request_redacted, e.request_defects, "
    "e.status, e.reason, e.response_version, e.response_fields, e.response_body, "
    "e.response_complete, e.response_redacted, e.response_defects, ";

std::string select_exchanges(std::string_view rest) {
  std::string sql = "SELECT ";
  sql.append(kOwnColumns).append(kCourseColumns);
  sql.append(" FROM t_exchanges e LEFT JOIN t_connections c USING (connection) ");
  return sql.append(rest);
}

constexpr int kMethodColumn = 10;
constexpr int kStatusColumn = 18;
constexpr int kCourseColumn = 26;

std::vector<int> split_numbers(std::string_view text) {
  std::vector<int> numbers;
  for (bool fresh = true; const char c : text) {
    if (c == ',') {
      fresh = true;
      continue;
    }
    if (fresh) numbers.push_back(0);
    fresh = false;
    numbers.back() = numbers.back() * 10 + (c - '0');
  }
  return numbers;
}

}  // namespace

bool is_recording(const std::string& path) {
  const auto database = Database::open(path, Database::Mode::read);
  if (!database) return false;
  const auto application = database->pragma("application_id");
  return application && *application == kRecordingApplicationId;
}

struct Recording::State {
  std::string path;
  Database database;
  mutable std::optional<BodyReader> bodies{};
  bool finished = true;

  Result<std::string> read_body(std::int64_t row) const;
  Result<RecordedExchange> read_exchange(const Statement& row) const;
  template <class Message>
  Result<void> read_message(const Statement& row, int first, Message& message) const;
};

Result<Recording> Recording::open(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) {
    return outside_error(path + ": there is no such file; make one with gatedrill capture");
  }
  if (S_ISDIR(status.st_mode)) return usage_error(path + ": is a directory, not a recording");
  if (access(path.c_str(), R_OK) != 0) {
    return outside_error(path + ": cannot be read; check its permissions");
  }
  auto database = Database::open(path, Database::Mode::read);
  if (!database) return database.error();
  const auto application = database->pragma("application_id");
  const auto version = database->pragma("user_version");
  if (!application && application.error().code == ErrorCode::outside) return application.error();
  if (!application || !version) {
    return usage_error(path + ": is not a recording (traffic.db); make one with gatedrill capture");
  }
  if (*application != kRecordingApplicationId) {
    return usage_error(path + ": is not a recording (traffic.db); make one with gatedrill capture");
  }
  if (*version != kRecordingVersion) {
    return usage_error(path + ": is a recording of format " + std::to_string(*version) +
                       ", and this gatedrill reads format " + std::to_string(kRecordingVersion));
  }
  const auto pages = database->pragma("page_count");
  const auto page_bytes = database->pragma("page_size");
  if (!pages || !page_bytes || status.st_size < *pages * *page_bytes) {
    return usage_error(path + ": is damaged: its end is missing; copy or make it again");
  }
  auto unfinished = database->has_row("SELECT 1 FROM t_ledger WHERE what = 'unfinished'");
  if (!unfinished) return unfinished.error();
  auto state = std::make_unique<State>(State{path, std::move(*database), {}, !*unfinished});
  auto bodies = BodyReader::create(state->database);
  if (!bodies) return bodies.error();
  state->bodies.emplace(std::move(*bodies));
  return Recording(std::move(state));
}

Recording::Recording(std::unique_ptr<State> state) : state_(std::move(state)) {}

Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

bool Recording::finished() const {
  return state_->finished;
}

Result<std::string> Recording::State::read_body(std::int64_t row) const {
  auto bytes = bodies->read(row);
  if (!bytes) return bytes.error();
  if (!*bytes) return usage_error(path + ": body " + std::to_string(row) + " is damaged");
  return std::move(**bytes);
}

// The six columns that requests and responses share, from the version on.
template <class Message>
Result<void> Recording::State::read_message(const Statement& row,
                                            int first,
                                            Message& message) const {
  message.version = row.text(first);
  decode_fields(row.bytes(first + 1), message.fields, message.trailers);
  if (!row.is_null(first + 2)) {
    auto bytes = read_body(row.integer(first + 2));
    if (!bytes) return bytes.error();
    message.body = std::move(*bytes);
  }
  message.complete = row.integer(first + 3) != 0;
  message.redacted = row.integer(first + 4) != 0;
  message.body_dropped = row.integer(first + 4) == kBodyDropped;
  message.defects = row.text(first + 5);
  return {};
}

Result<RecordedExchange> Recording::State::read_exchange(const Statement& row) const {
  RecordedExchange exchange;
  exchange.id = row.integer(0);
  exchange.at = UnixTime{row.integer(1)};
  exchange.connection = row.integer(2);
  exchange.client = row.text(3);
  exchange.server = row.text(4);
  exchange.protocol = row.text(5);
  exchange.host = row.text(6);
  exchange.latency = optional_duration(row, 7);
  exchange.tunnel = row.integer(8) != 0;
  exchange.informational = split_numbers(row.bytes(9));
  if (!row.is_null(kMethodColumn)) {
    RecordedRequest& request = exchange.request.emplace();
    request.method = row.text(kMethodColumn);
    request.target = row.text(kMethodColumn + 1);
    if (auto done = read_message(row, kMethodColumn + 2, request); !done) return done.error();
  }
  if (!row.is_null(kStatusColumn)) {
    RecordedResponse& response = exchange.response.emplace();
    response.status = static_cast<int>(row.integer(kStatusColumn));
    response.reason = row.text(kStatusColumn + 1);
    if (auto done = read_message(row, kStatusColumn + 2, response); !done) return done.error();
  }
  const ExchangeCourse course = read_course(row, kCourseColumn);
  exchange.request_end = course.request_end;
  exchange.response_begin = course.response_begin;
  exchange.response_end = course.response_end;
  exchange.ordinal = course.ordinal;
  exchange.idle_before = course.idle_before;
  exchange.transport = course.transport;
  exchange.reset = course.reset;
  exchange.tls = course.tls;
  return exchange;
}

Result<void> Recording::for_each(const std::function<bool(const RecordedExchange&)>& use) const {
  auto rows = state_->database.prepare(select_exchanges("ORDER BY e.at_ns, e.id"));
  if (!rows) return rows.error();
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    auto exchange = state_->read_exchange(*rows);
    if (!exchange) return exchange.error();
    if (!use(*exchange)) return {};
  }
}

Result<std::vector<RecordedExchange>> Recording::read_all() const {
  std::vector<RecordedExchange> all;
  auto done = for_each([&](const RecordedExchange& exchange) {
    all.push_back(exchange);
    return true;
  });
  if (!done) return done.error();
  return all;
}

Result<std::optional<RecordedExchange>> Recording::find(std::int64_t id) const {
  auto rows = state_->database.prepare(select_exchanges("WHERE e.id = ?1"));
  if (!rows) return rows.error();
  rows->bind(1, id);
  auto row = rows->step();
  if (!row) return row.error();
  if (!*row) return std::optional<RecordedExchange>{};
  auto exchange = state_->read_exchange(*rows);
  if (!exchange) return exchange.error();
  return std::optional<RecordedExchange>(std::move(*exchange));
}

Result<std::vector<RecordedConnection>> Recording::connections() const {
  auto rows = state_->database.prepare("SELECT " + std::string(kConnectionColumns) +
                                       " FROM t_connections c ORDER BY connection");
  if (!rows) return rows.error();
  std::vector<RecordedConnection> all;
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return all;
    all.push_back(read_connection(*rows, 0));
  }
}

Result<std::vector<RecordedLoss>> Recording::losses() const {
  auto rows = state_->database.prepare(
      "SELECT at_ns, connection, direction, reason, bytes FROM t_losses ORDER BY loss");
  if (!rows) return rows.error();
  std::vector<RecordedLoss> all;
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return all;
    RecordedLoss& loss = all.emplace_back();
    loss.at = UnixTime{rows->integer(0)};
    loss.connection = rows->integer(1);
    loss.direction = rows->text(2);
    loss.reason = rows->text(3);
    loss.bytes = static_cast<std::uint64_t>(rows->integer(4));
  }
}

Result<std::vector<LedgerLine>> Recording::ledger() const {
  auto rows =
      state_->database.prepare("SELECT what, count, bytes, note FROM t_ledger ORDER BY line");
  if (!rows) return rows.error();
  std::vector<LedgerLine> all;
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return all;
    all.push_back({rows->text(0), static_cast<std::uint64_t>(rows->integer(1)),
                   static_cast<std::uint64_t>(rows->integer(2)), rows->text(3)});
  }
}

}  // namespace gatedrill::replay
