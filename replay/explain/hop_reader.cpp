#include "replay/explain/hop_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/database.hpp"
#include "replay/recorded_fields.hpp"
#include "replay/recording.hpp"
#include "replay/row_readers.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr std::string_view kOwnColumns =
    "e.id, e.at_ns, e.method, e.target, e.request_fields, e.request_body_hash, e.request_complete, "
    "e.status, e.response_fields, e.response_complete, "
    "e.response_defects, e.tunnel, e.protocol";
constexpr int kProtocolColumn = 12;
constexpr int kCourseColumn = 13;
constexpr int kConnectionColumn = kCourseColumn + kCourseColumnCount;

void move(std::optional<UnixTime>& time, Duration shift) {
  if (time) time->ns += shift.count();
}

void move(RecordedConnection& connection, Duration shift) {
  if (shift == Duration{0}) return;
  move(connection.opened, shift);
  move(connection.closed, shift);
  move(connection.answered, shift);
  move(connection.established, shift);
  for (RecordedSide* side : {&connection.client_side, &connection.server_side}) {
    move(side->fin, shift);
    move(side->rst, shift);
  }
}

std::string between(const std::string& column, const Spell& spell, const char* before) {
  return before + column + " BETWEEN " + std::to_string(spell.first.ns) + " AND " +
         std::to_string(spell.last.ns);
}

// When the exchange began that is so many before or after `from`; `end` where there are not so
// many.
Result<std::int64_t> far_from(
    const Database& database, UnixTime from, bool before, std::size_t exchanges, UnixTime end) {
  const std::string place = std::string(before ? "<" : ">") + " " + std::to_string(from.ns);
  auto row =
      database.prepare("SELECT at_ns FROM t_exchanges WHERE at_ns " + place + " ORDER BY at_ns" +
                       (before ? " DESC" : "") + " LIMIT 1 OFFSET " + std::to_string(exchanges));
  if (!row) return row.error();
  auto found = row->step();
  if (!found) return found.error();
  return *found ? row->integer(0) : end.ns;
}

}  // namespace

Result<Spell> with_exchanges(const std::string& path,
                             const Spell& least,
                             const Spell& most,
                             std::size_t exchanges) {
  auto database = Database::open(path, Database::Mode::read);
  if (!database) return database.error();
  auto first = far_from(*database, least.first, true, exchanges, most.first);
  if (!first) return first.error();
  auto last = far_from(*database, least.last, false, exchanges, most.last);
  if (!last) return last.error();
  return Spell{std::max(most.first, UnixTime{*first}), std::min(most.last, UnixTime{*last})};
}

struct HopReader::State {
  Database database;
  int recording;
  Duration shift;
  std::optional<Spell> within{};
  std::optional<Statement> rows{};
  std::optional<Statement> attempts{};
  std::string fields{};  // that were packed
  // By connection, when its server sent what is no answer, or broke off the form of one; and when
  // exchanges began whose answers were longer than is kept.
  std::unordered_map<std::int64_t, std::vector<UnixTime>> malformed_answers{};
  std::unordered_map<std::int64_t, std::vector<UnixTime>> long_answers{};

  Result<void> read_odd_answers();
};

Result<void> HopReader::State::read_odd_answers() {
  constexpr std::size_t kMost = 1'000'000;
  auto row = database.prepare(
      "SELECT connection, at_ns, reason IN ('body_limit', 'memory_limit') FROM t_losses "
      "WHERE direction = 'response' AND connection NOT NULL "
      "AND reason IN ('not_a_message', 'malformed_framing', 'body_limit', 'memory_limit')" +
      (within ? between("at_ns", *within, " AND ") : std::string()) + " ORDER BY at_ns LIMIT " +
      std::to_string(kMost));
  if (!row) return row.error();
  for (;;) {
    auto found = row->step();
    if (!found) return found.error();
    if (!*found) return {};
    auto& times = row->integer(2) != 0 ? long_answers : malformed_answers;
    times[row->integer(0)].push_back(UnixTime{row->integer(1)});
  }
}

// The first of that connection at or after `from`.
std::optional<UnixTime> first_from(
    const std::unordered_map<std::int64_t, std::vector<UnixTime>>& times,
    std::int64_t connection,
    UnixTime from) {
  const auto found = times.find(connection);
  if (found == times.end()) return std::nullopt;
  const auto at = std::lower_bound(found->second.begin(), found->second.end(), from);
  return at == found->second.end() ? std::nullopt : std::optional(*at);
}

Result<HopReader> HopReader::open(const std::string& path,
                                  int recording,
                                  Duration shift,
                                  const std::optional<Spell>& within) {
  // Checks what the file is.
  if (auto checked = Recording::open(path); !checked) return checked.error();
  auto database = Database::open(path, Database::Mode::read);
  if (!database) return database.error();
  auto state = std::make_unique<State>(State{
      .database = std::move(*database), .recording = recording, .shift = shift, .within = within});
  std::string sql = "SELECT ";
  sql.append(kOwnColumns).append(", ").append(kCourseColumns).append(", ");
  sql.append(kConnectionColumns);
  sql += " FROM t_exchanges e LEFT JOIN t_connections c USING (connection)";
  if (within) sql += between("e.at_ns", *within, " WHERE ");
  sql += " ORDER BY e.at_ns, e.id";
  auto rows = state->database.prepare(sql);
  if (!rows) return rows.error();
  state->rows.emplace(std::move(*rows));
  if (auto done = state->read_odd_answers(); !done) return done.error();
  return HopReader(std::move(state));
}

HopReader::HopReader(std::unique_ptr<State> state) : state_(std::move(state)) {}

HopReader::HopReader(HopReader&&) noexcept = default;
HopReader& HopReader::operator=(HopReader&&) noexcept = default;
HopReader::~HopReader() = default;

Result<bool> HopReader::next(Hop& hop) {
  const Statement& row = *state_->rows;
  auto found = state_->rows->step();
  if (!found) return found.error();
  if (!*found) return false;
  hop = {};
  hop.recording = state_->recording;
  hop.id = row.integer(0);
  hop.begin = UnixTime{row.integer(1) + state_->shift.count()};
  hop.method = row.text(2);
  hop.target = row.text(3);
  if (!row.is_null(7)) hop.status = static_cast<int>(row.integer(7));
  hop.request_whole = row.is_null(6) || row.integer(6) != 0;
  hop.answer_whole = row.is_null(9) || row.integer(9) != 0;
  hop.answer_defects = row.text(10);
  hop.tunnel = row.integer(11) != 0;
  if (hop.has_request()) {
    hop.request_head_bytes = hop.method.size() + hop.target.size() + 12;
    read_request_fields(fields_text(row.bytes(4), state_->fields), hop);
    hop.keys.push_back(content_key(hop, row.bytes(5)));
  }
  if (hop.status) read_answer_fields(fields_text(row.bytes(8), state_->fields), hop);
  const ExchangeCourse course = read_course(row, kCourseColumn);
  hop.request_end = course.request_end;
  hop.request_whole = hop.request_whole || hop.request_end.has_value();  // else too long to keep
  hop.answer_begin = course.response_begin;
  hop.answer_end = course.response_end;
  hop.ordinal = course.ordinal;
  hop.idle_before = course.idle_before;
  hop.transport = course.transport;
  hop.reset = course.reset;
  hop.connection = read_connection(row, kConnectionColumn);
  hop.client = hop.connection.client;
  hop.server = hop.connection.server;
  if (hop.reset) hop.reset->at.ns += state_->shift.count();
  const UnixTime begin{row.integer(1)};
  const std::int64_t connection = hop.connection.connection;
  if (first_from(state_->long_answers, connection, begin) == begin) hop.answer_whole = true;
  // On a connection with many streams such a loss names none of them.
  if (row.bytes(kProtocolColumn) != "h2" && (!hop.status || !hop.answer_whole)) {
    hop.malformed_answer = first_from(state_->malformed_answers, connection, begin);
    move(hop.malformed_answer, state_->shift);
  }
  move(hop.request_end, state_->shift);
  move(hop.answer_begin, state_->shift);
  move(hop.answer_end, state_->shift);
  move(hop.connection, state_->shift);
  return true;
}

Result<bool> HopReader::next(Attempt& attempt) {
  if (!state_->attempts) {
    auto rows = state_->database.prepare(
        "SELECT " + std::string(kConnectionColumns) +
        " FROM t_connections c WHERE c.connect IN ('refused', 'unanswered')" +
        (state_->within ? between("c.opened_ns", *state_->within, " AND ") : std::string()) +
        " ORDER BY c.opened_ns");
    if (!rows) return rows.error();
    state_->attempts.emplace(std::move(*rows));
  }
  auto found = state_->attempts->step();
  if (!found) return found.error();
  if (!*found) return false;
  attempt = {.connection = read_connection(*state_->attempts, 0)};
  move(attempt.connection, state_->shift);
  return true;
}

Result<std::uint64_t> HopReader::unseen_bytes() const {
  auto rows = state_->database.prepare(
      "SELECT total(CASE WHEN client_acked > client_sent + 1 THEN client_acked - client_sent END) "
      "+ "
      "total(CASE WHEN server_acked > server_sent + 1 THEN server_acked - server_sent END) "
      "FROM t_connections WHERE client_sent + server_sent > 0");
  if (!rows) return rows.error();
  auto row = rows->step();
  if (!row) return row.error();
  return static_cast<std::uint64_t>(rows->real(0));
}

Result<std::vector<IdleClose>> HopReader::idle_closes(std::size_t max) const {
  auto rows = state_->database.prepare(
      "SELECT server, closed_by = 'server', idle_before_close_ns FROM t_connections "
      "WHERE how = 'fin' AND idle_before_close_ns IS NOT NULL AND client_sent > 0 LIMIT " +
      std::to_string(max));
  if (!rows) return rows.error();
  std::vector<IdleClose> all;
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return all;
    all.push_back({rows->text(0), rows->integer(1) != 0, Duration{rows->integer(2)}});
  }
}

}  // namespace gatedrill::replay::explain
