#include "replay/recording_writer.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "replay/content_coding.hpp"
#include "replay/database.hpp"
#include "replay/digest.hpp"
#include "replay/recording_schema.hpp"
#include "replay/redact.hpp"

namespace gatedrill::replay {
namespace {

// What is remembered to find equal bodies again; past it, equal ones are stored twice.
constexpr std::size_t kKnownBodiesMax = 500'000;
constexpr int kZstdLevel = 1;

constexpr std::string_view kInsertExchange =
    "INSERT INTO t_exchanges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
    "?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, "
    "?33, ?34, ?35, ?36, ?37, ?38)";
constexpr std::string_view kInsertBody = "INSERT INTO t_bodies VALUES (?1, ?2, ?3, ?4)";
constexpr std::string_view kInsertConnection =
    "INSERT OR REPLACE INTO t_connections VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
    "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)";
constexpr std::string_view kInsertLoss = "INSERT INTO t_losses VALUES (NULL, ?1, ?2, ?3, ?4, ?5)";
constexpr std::string_view kInsertLedger = "INSERT INTO t_ledger VALUES (NULL, ?1, ?2, ?3, ?4)";

std::string system_text(int code) {
  return std::strerror(code);
}

// Nothing else that stands at the target's place may be overwritten: `-o shop.pcap` is a slip.
Result<void> check_target(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) {
    return usage_error(path + ": is a directory; name a file in it, such as traffic.db");
  }
  if (!Recording::open(path)) {
    return usage_error(path + ": exists and is not a recording; name another file");
  }
  return {};
}

// Creates the file, so that what is wrong with its place has a clear name.
Result<void> create_file(const std::string& path, const std::string& target) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) {
    return outside_error(target + ": cannot be written here: " + system_text(errno));
  }
  close(file);
  return {};
}

Result<void> sync_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return outside_error(path + ": " + system_text(errno));
  const bool synced = fsync(file) == 0;
  const int code = errno;
  close(file);
  if (!synced) return outside_error(path + ": cannot be written: " + system_text(code));
  return {};
}

struct Statements {
  Statement exchange;
  Statement body;
  Statement connection;
  Statement loss;
  Statement ledger;
};

Result<Statements> prepare(const Database& database) {
  auto exchange = database.prepare(kInsertExchange);
  if (!exchange) return exchange.error();
  auto body = database.prepare(kInsertBody);
  if (!body) return body.error();
  auto connection = database.prepare(kInsertConnection);
  if (!connection) return connection.error();
  auto loss = database.prepare(kInsertLoss);
  if (!loss) return loss.error();
  auto ledger = database.prepare(kInsertLedger);
  if (!ledger) return ledger.error();
  return Statements{std::move(*exchange), std::move(*body), std::move(*connection),
                    std::move(*loss), std::move(*ledger)};
}

struct FreeZstd {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

// Where a body is in the file, and its public hash.
struct StoredBody {
  std::int64_t row = 0;
  std::string sha1;
};

}  // namespace

struct RecordingWriter::State {
  std::string path;
  std::string temporary;
  std::optional<Database> database;
  std::optional<Statements> statements;
  std::optional<Redactor> redactor;
  std::int64_t next_id = 1;
  std::unordered_set<std::int64_t> connections;
  std::unordered_map<std::string, std::int64_t> bodies;
  std::int64_t next_body = 1;
  std::uint64_t body_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t repeated_bodies = 0;
  std::uint64_t repeated_bytes = 0;
  Digest sha1 = Digest::sha1();
  Digest sha256 = Digest::sha256();
  std::unique_ptr<ZSTD_CCtx, FreeZstd> zstd{ZSTD_createCCtx()};
  std::string packed;

  ~State() {
    statements.reset();
    database.reset();
    if (!temporary.empty()) std::remove(temporary.c_str());
  }

  Result<StoredBody> store_body(std::string_view body, std::string_view coding, bool complete);
  Result<std::int64_t> store_bytes(std::string_view body);
  Result<void> connect(std::int64_t connection, std::string_view client, std::string_view server);
  Result<void> bind_request(const RecordedRequest& request, StoredBody& body);
  Result<void> bind_response(const RecordedResponse& response, StoredBody& body);
  Result<void> write_connection(const RecordedConnection& connection);
  Result<void> write_ledger(const LedgerLine& line);
  std::vector<LedgerLine> own_ledger() const;
};

Result<RecordingWriter> RecordingWriter::create(const std::string& path,
                                                const RecordingOptions& options) {
  if (auto target = check_target(path); !target) return target.error();
  auto state = std::make_unique<State>();
  state->path = path;
  const std::string temporary = path + std::string(kUnfinishedSuffix) + std::to_string(getpid());
  if (auto file = create_file(temporary, path); !file) return file.error();
  state->temporary = temporary;
  auto database = Database::open(temporary, Database::Mode::create);
  if (!database) return database.error();
  // Nobody reads the file before `finish`, and a failure removes it: no journal is needed.
  constexpr const char* kSettings =
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
      "PRAGMA page_size = 8192; PRAGMA cache_size = -32000; BEGIN;";
  if (auto done = database->execute(kSettings); !done) return done.error();
  if (auto done = database->execute(recording_tables()); !done) return done.error();
  auto statements = prepare(*database);
  if (!statements) return statements.error();
  state->database.emplace(std::move(*database));
  state->statements.emplace(std::move(*statements));
  if (!options.keep_secrets) state->redactor.emplace();
  return RecordingWriter(std::move(state));
}

RecordingWriter::RecordingWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

Result<std::int64_t> RecordingWriter::State::store_bytes(std::string_view body) {
  const std::string key = sha256.of(body);
  if (const auto known = bodies.find(key); known != bodies.end()) {
    ++repeated_bodies;
    repeated_bytes += body.size();
    return known->second;
  }
  packed.resize(ZSTD_compressBound(body.size()));
  const std::size_t size = ZSTD_compressCCtx(zstd.get(), packed.data(), packed.size(), body.data(),
                                             body.size(), kZstdLevel);
  const bool smaller = ZSTD_isError(size) == 0 && size < body.size();
  const std::string_view content = smaller ? std::string_view(packed).substr(0, size) : body;
  Statement& insert = statements->body;
  insert.bind(1, next_body);
  insert.bind(2, static_cast<std::int64_t>(body.size()));
  insert.bind_text(3, smaller ? "zstd" : "none");
  insert.bind_blob(4, content);
  if (auto done = insert.run(); !done) return done.error();
  if (bodies.size() >= kKnownBodiesMax) bodies.clear();
  bodies.emplace(key, next_body);
  body_bytes += body.size();
  stored_bytes += content.size();
  return next_body++;
}

Result<StoredBody> RecordingWriter::State::store_body(std::string_view body,
                                                      std::string_view coding,
                                                      bool complete) {
  StoredBody stored;
  if (body.empty()) return stored;
  auto row = store_bytes(body);
  if (!row) return row.error();
  stored.row = *row;
  if (complete) stored.sha1 = decoded_sha1(sha1, body, coding);  // that of a part says nothing
  return stored;
}

Result<void> RecordingWriter::State::connect(std::int64_t connection,
                                             std::string_view client,
                                             std::string_view server) {
  if (connections.contains(connection)) return {};
  return write_connection(
      {.connection = connection, .client = std::string(client), .server = std::string(server)});
}

namespace {

void bind_optional(Statement& insert, int parameter, std::string_view text) {
  if (text.empty()) {
    insert.bind_null(parameter);
  } else {
    insert.bind_text(parameter, text);
  }
}

void bind_optional(Statement& insert, int parameter, std::optional<std::int64_t> number) {
  if (number) {
    insert.bind(parameter, *number);
  } else {
    insert.bind_null(parameter);
  }
}

void bind_optional(Statement& insert, int parameter, std::optional<UnixTime> time) {
  bind_optional(insert, parameter,
                time ? std::optional<std::int64_t>(time->ns) : std::optional<std::int64_t>());
}

void bind_optional(Statement& insert, int parameter, std::optional<Duration> duration) {
  bind_optional(
      insert, parameter,
      duration ? std::optional<std::int64_t>(duration->count()) : std::optional<std::int64_t>());
}

// Eight columns of one end of a connection.
void bind_side(Statement& insert, int first, const RecordedSide& side) {
  bind_optional(insert, first, side.fin);
  bind_optional(insert, first + 1, side.rst);
  bind_optional(insert, first + 2, side.fin_acked);
  bind_optional(insert, first + 3, side.rst_acked);
  insert.bind(first + 4, side.sent);
  insert.bind(first + 5, side.acked);
  insert.bind(first + 6, std::int64_t{side.retransmissions});
  insert.bind(first + 7, std::int64_t{side.zero_windows});
}

// Ten columns: when an exchange's parts were seen, and what TCP made of it.
void bind_course(Statement& insert, int first, const RecordedExchange& exchange) {
  bind_optional(insert, first, exchange.request_end);
  bind_optional(insert, first + 1, exchange.response_begin);
  bind_optional(insert, first + 2, exchange.response_end);
  if (exchange.ordinal == 0) {
    insert.bind_null(first + 3);
  } else {
    insert.bind(first + 3, std::int64_t{exchange.ordinal});
  }
  bind_optional(insert, first + 4, exchange.idle_before);
  if (!exchange.transport) {
    for (int i = first + 5; i < first + 10; ++i)
      insert.bind_null(i);
    return;
  }
  const RecordedTransport& transport = *exchange.transport;
  insert.bind(first + 5, transport.request_begin);
  insert.bind(first + 6, transport.request_end);
  insert.bind(first + 7, std::int64_t{transport.acknowledged});
  insert.bind(first + 8, std::int64_t{transport.after_fin});
  insert.bind(first + 9, std::int64_t{transport.retransmissions});
}

// Eight columns of one message, from its version on.
template <class Message>
void bind_message(Statement& insert,
                  int first,
                  const Message& message,
                  const std::string& fields,
                  const StoredBody& body) {
  insert.bind_text(first, message.version);
  insert.bind_blob(first + 1, fields);
  insert.bind(first + 2, static_cast<std::int64_t>(message.body.size()));
  if (body.row == 0) {
    insert.bind_null(first + 3);
  } else {
    insert.bind(first + 3, body.row);
  }
  if (body.sha1.empty()) {
    insert.bind_null(first + 4);
  } else {
    insert.bind_blob(first + 4, body.sha1);
  }
  insert.bind(first + 5, std::int64_t{message.complete});
  insert.bind(first + 6, std::int64_t{message.redacted});
  bind_optional(insert, first + 7, message.defects);
}

std::string join(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) {
    if (!text.empty()) text.push_back(',');
    text.append(std::to_string(number));
  }
  return text;
}

constexpr int kRequestColumn = 9;    // method, target, then the message
constexpr int kResponseColumn = 19;  // status, reason, then the message
constexpr int kCourseColumn = 29;

}  // namespace

Result<std::int64_t> RecordingWriter::add(RecordedExchange exchange) {
  State& state = *state_;
  if (state.redactor) state.redactor->redact(exchange);
  if (auto done = state.connect(exchange.connection, exchange.client, exchange.server); !done) {
    return done.error();
  }
  Statement& insert = state.statements->exchange;
  const std::int64_t id = exchange.id != 0 ? exchange.id : state.next_id;
  state.next_id = std::max(state.next_id, id + 1);
  const std::string informational = join(exchange.informational);
  insert.bind(1, id);
  insert.bind(2, exchange.at.ns);
  insert.bind(3, exchange.connection);
  insert.bind_text(4, exchange.protocol);
  insert.bind_text(5, exchange.host);
  bind_optional(insert, 6, exchange.latency);
  insert.bind(7, std::int64_t{exchange.tunnel});
  bind_optional(insert, 8, informational);
  // The texts are bound by reference, so they live to the end of this function.
  std::string request_fields;
  std::string response_fields;
  StoredBody request_body;
  StoredBody response_body;
  if (exchange.request) {
    const RecordedRequest& request = *exchange.request;
    auto body = state.store_body(request.body, value_of(request.fields, "Content-Encoding"),
                                 request.complete);
    if (!body) return body.error();
    request_body = std::move(*body);
    request_fields = encode_fields(request.fields);
    insert.bind_text(kRequestColumn, request.method);
    insert.bind_text(kRequestColumn + 1, request.target);
    bind_message(insert, kRequestColumn + 2, request, request_fields, request_body);
  } else {
    for (int i = kRequestColumn; i < kResponseColumn; ++i)
      insert.bind_null(i);
  }
  if (exchange.response) {
    const RecordedResponse& response = *exchange.response;
    auto body = state.store_body(response.body, value_of(response.fields, "Content-Encoding"),
                                 response.complete);
    if (!body) return body.error();
    response_body = std::move(*body);
    response_fields = encode_fields(response.fields);
    insert.bind(kResponseColumn, std::int64_t{response.status});
    insert.bind_text(kResponseColumn + 1, response.reason);
    bind_message(insert, kResponseColumn + 2, response, response_fields, response_body);
  } else {
    for (int i = kResponseColumn; i < kResponseColumn + 10; ++i)
      insert.bind_null(i);
  }
  bind_course(insert, kCourseColumn, exchange);
  if (auto done = insert.run(); !done) return done.error();
  return id;
}

Result<void> RecordingWriter::State::write_connection(const RecordedConnection& connection) {
  connections.insert(connection.connection);
  Statement& insert = statements->connection;
  insert.bind(1, connection.connection);
  insert.bind_text(2, connection.client);
  insert.bind_text(3, connection.server);
  bind_optional(insert, 4, connection.opened);
  bind_optional(insert, 5, connection.closed);
  bind_optional(insert, 6, connection.closed_by);
  insert.bind_text(7, connection.how);
  bind_optional(insert, 8, connection.idle_before_close);
  insert.bind(9, static_cast<std::int64_t>(connection.gap_bytes));
  bind_optional(insert, 10, connection.connect);
  insert.bind(11, std::int64_t{connection.syns});
  bind_optional(insert, 12, connection.answered);
  bind_optional(insert, 13, connection.established);
  bind_side(insert, 14, connection.client_side);
  bind_side(insert, 22, connection.server_side);
  return insert.run();
}

Result<void> RecordingWriter::add(const RecordedConnection& connection) {
  return state_->write_connection(connection);
}

Result<void> RecordingWriter::add(const RecordedLoss& loss) {
  Statement& insert = state_->statements->loss;
  insert.bind(1, loss.at.ns);
  if (loss.connection == 0) {
    insert.bind_null(2);
  } else {
    insert.bind(2, loss.connection);
  }
  bind_optional(insert, 3, loss.direction);
  insert.bind_text(4, loss.reason);
  insert.bind(5, static_cast<std::int64_t>(loss.bytes));
  return insert.run();
}

Result<void> RecordingWriter::State::write_ledger(const LedgerLine& line) {
  Statement& insert = statements->ledger;
  insert.bind_text(1, line.what);
  insert.bind(2, static_cast<std::int64_t>(line.count));
  insert.bind(3, static_cast<std::int64_t>(line.bytes));
  insert.bind_text(4, line.note);
  return insert.run();
}

std::vector<LedgerLine> RecordingWriter::State::own_ledger() const {
  std::vector<LedgerLine> lines;
  lines.push_back({"bodies stored", static_cast<std::uint64_t>(next_body - 1), body_bytes,
                   std::to_string(stored_bytes) + " bytes on disk"});
  lines.push_back({"bodies repeated", repeated_bodies, repeated_bytes, "stored once"});
  if (!redactor) {
    lines.push_back({"redacted", 0, 0, "secrets were kept on request"});
    return lines;
  }
  const RedactionCounts& counts = redactor->counts();
  lines.push_back({"redacted fields", counts.fields, 0, "credentials, cookies, URLs"});
  lines.push_back({"redacted parameters", counts.parameters, 0, "of queries, URLs and forms"});
  lines.push_back({"redacted bodies", counts.bodies, 0, "JSON, forms"});
  lines.push_back({"redacted bodies dropped", counts.dropped_bodies, counts.dropped_bytes,
                   "could not be decoded, so not be searched"});
  return lines;
}

Result<void> RecordingWriter::finish(std::span<const LedgerLine> ledger) {
  State& state = *state_;
  for (const LedgerLine& line : ledger) {
    if (auto done = state.write_ledger(line); !done) return done;
  }
  for (const LedgerLine& line : state.own_ledger()) {
    if (auto done = state.write_ledger(line); !done) return done;
  }
  // The marks of a whole recording come last: without them nobody takes the file for one.
  const std::string closing = std::string(recording_views()) +
                              "PRAGMA application_id = " + std::to_string(kRecordingApplicationId) +
                              "; PRAGMA user_version = " + std::to_string(kRecordingVersion) +
                              "; COMMIT;";
  if (auto done = state.database->execute(closing); !done) return done;
  state.statements.reset();
  state.database.reset();
  if (auto done = sync_file(state.temporary); !done) return done;
  if (std::rename(state.temporary.c_str(), state.path.c_str()) != 0) {
    return outside_error(state.path + ": cannot be written here: " + system_text(errno));
  }
  state.temporary.clear();
  return {};
}

}  // namespace gatedrill::replay
