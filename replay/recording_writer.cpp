#include "replay/recording_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/body_store.hpp"
#include "replay/content_coding.hpp"
#include "replay/database.hpp"
#include "replay/digest.hpp"
#include "replay/recording_rows.hpp"
#include "replay/recording_schema.hpp"
#include "replay/redact.hpp"

namespace gatedrill::replay {
namespace {

// Saved after so many exchanges, if nobody asks for it before.
constexpr std::uint64_t kExchangesPerSave = 10'000;

// A rollback journal holds only the pages that were there before, and rows are appended: it costs
// next to nothing, and what was committed stays whole when the process is killed. Nothing is synced
// before the end, so a machine that loses power may lose the file.
constexpr const char* kSettings =
    "PRAGMA page_size = 8192; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF; "
    "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -32000; BEGIN;";

std::string system_text(int code) {
  return std::strerror(code);
}

// Nothing else that stands at the target's place may be overwritten: `-o shop.pcap` is a slip.
Result<void> check_target(const std::string& path) {
  if (path.empty() || path == "-") {
    return usage_error("'" + path + "' is no file for a recording; name one, such as traffic.db");
  }

  struct stat status {};

  if (stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) {
    return usage_error(path + ": is a directory; name a file in it, such as traffic.db");
  }
  if (!is_recording(path)) {
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

std::string journal_of(const std::string& path) {
  return path + "-journal";
}

// Empty, a journal has nothing to undo.
void remove_if_empty(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) == 0 && status.st_size == 0) std::remove(path.c_str());
}

// Of rules and a key: equal for equal ones, and without the key it says nothing about it.
std::string mark_of(const RedactionRules& rules, Redactor& redactor) {
  std::string text = std::string("redaction rules\nnumbers ") + (rules.numbers ? "1" : "0") + "\n";
  const auto add = [&](std::string_view kind, std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      text.append(kind).append(" ").append(name).append("\n");
  };
  add("field", rules.fields);
  add("parameter", rules.parameters);
  add("json", rules.json);
  add("allowed", rules.allowed);
  const std::string pseudonym = redactor.pseudonym(text);
  return pseudonym.substr(pseudonym.find('-') + 1);
}

constexpr const char* kBodiesStored = "bodies stored";
constexpr const char* kBodiesRepeated = "bodies repeated";
constexpr const char* kSecretsKept = "redacted";

std::vector<LedgerLine> ledger_of(const BodyStore::Counts& bodies,
                                  const Redactor* redactor,
                                  const std::string& redaction_mark) {
  std::vector<LedgerLine> lines;
  lines.push_back({kBodiesStored, bodies.bodies, bodies.bytes,
                   std::to_string(bodies.stored_bytes) + " bytes on disk"});
  lines.push_back({kBodiesRepeated, bodies.repeated, bodies.repeated_bytes, "stored once"});
  if (redactor == nullptr) {
    lines.push_back({kSecretsKept, 0, 0, "secrets were kept on request"});
    return lines;
  }
  const RedactionCounts counts = redactor->counts();
  lines.push_back({std::string(kRedactionLine), 0, 0, redaction_mark});
  lines.push_back({"redacted fields", counts.fields, 0, "credentials, cookies, URLs"});
  lines.push_back({"redacted bodies", counts.bodies, 0, "messages"});
  lines.push_back({"redacted parameters", counts.content.parameters, 0, "of URLs and forms"});
  lines.push_back({"redacted members", counts.content.members, 0, "of JSON, XML, multipart"});
  lines.push_back({"redacted tokens", counts.content.tokens, 0, "known by their form"});
  lines.push_back({"redacted numbers", counts.content.numbers, 0, "of cards and phones"});
  lines.push_back({"redacted bodies dropped", counts.dropped_bodies, counts.dropped_bytes,
                   "content coding that cannot be undone, so not searched"});
  return lines;
}

// The lines of the recording's maker and the writer's own, each name once. What is imported from a
// recording brings the lines of that one's writer: what was hidden there is hidden still.
// Whose rules and key hid what cannot be told once others were asked for on the way.
std::vector<LedgerLine> with_own(std::span<const LedgerLine> ledger,
                                 std::vector<LedgerLine> own,
                                 bool hides,
                                 bool as_asked) {
  std::vector<LedgerLine> all(ledger.begin(), ledger.end());
  const auto find = [&](std::string_view what) {
    return std::find_if(all.begin(), all.end(),
                        [&](const LedgerLine& line) { return line.what == what; });
  };
  if (hides) std::erase_if(all, [](const LedgerLine& line) { return line.what == kSecretsKept; });
  for (LedgerLine& line : own) {
    const auto brought = find(line.what);
    if (brought == all.end()) {
      const bool untrue = line.what == kSecretsKept && find(kRedactionLine) != all.end();
      if (!untrue) all.push_back(std::move(line));
    } else if (line.what == kBodiesStored || line.what == kBodiesRepeated) {
      *brought = std::move(line);
    } else if (line.what == kRedactionLine) {
      if (as_asked && line.note != brought->note) all.push_back(std::move(line));
    } else {
      brought->count = std::max(brought->count, line.count);
      brought->bytes = std::max(brought->bytes, line.bytes);
    }
  }
  return all;
}

}  // namespace

struct RecordingWriter::State {
  std::string path;
  std::string temporary;
  std::optional<Database> database;
  std::optional<RecordingRows> rows;
  std::optional<BodyStore> bodies;
  std::optional<Redactor> redactor;
  std::string redaction_mark;
  bool redacts_as_asked = false;  // by rules or a key that somebody gave
  std::int64_t next_id = 1;
  std::unordered_set<std::int64_t> connections;
  std::uint64_t exchanges = 0;
  std::uint64_t saved = 0;      // of `exchanges`
  std::uint64_t backwards = 0;  // of `exchanges`: whose clock was set back
  Digest sha1 = Digest::sha1();

  ~State() {
    close_database();
    if (temporary.empty()) return;
    std::remove(temporary.c_str());
    std::remove(journal_of(temporary).c_str());
  }

  void close_database() {
    rows.reset();
    bodies.reset();
    database.reset();
  }

  template <class Message>
  Result<StoredBody> store_body(const std::optional<Message>& message,
                                const std::optional<std::string>& plain);
  Result<void> add(std::int64_t id,
                   const RecordedExchange& exchange,
                   const RedactedBodies& looked_into);
  Result<void> connect(const RecordedExchange& exchange);
  Result<void> commit();
  Result<void> complete(std::span<const LedgerLine> ledger);
  Result<void> checked(Result<void> done);
};

Result<RecordingWriter> RecordingWriter::create(const std::string& path,
                                                const RecordingOptions& options) {
  auto names = SecretNames::create(options.redaction);
  if (!names) return names.error();
  if (auto target = check_target(path); !target) return target.error();
  auto state = std::make_unique<State>();
  state->path = path;
  const std::string temporary = path + std::string(kUnfinishedSuffix) + std::to_string(getpid());
  std::remove(journal_of(temporary).c_str());  // of a process long gone
  if (auto file = create_file(temporary, path); !file) return file.error();
  state->temporary = temporary;
  auto database = Database::open(temporary, Database::Mode::create);
  if (!database) return database.error();
  state->database.emplace(std::move(*database));
  if (auto done = state->database->execute(kSettings); !done) return done.error();
  if (auto done = state->database->execute(recording_tables()); !done) return done.error();
  auto rows = RecordingRows::create(*state->database);
  if (!rows) return rows.error();
  state->rows.emplace(std::move(*rows));
  auto bodies = BodyStore::create(*state->database);
  if (!bodies) return bodies.error();
  state->bodies.emplace(std::move(*bodies));
  if (auto done = state->commit(); !done) return done.error();
  if (!options.keep_secrets) {
    state->redactor.emplace(std::move(*names), options.redaction_key.empty()
                                                   ? Pseudonyms()
                                                   : Pseudonyms(options.redaction_key));
    state->redacts_as_asked =
        options.redaction != RedactionRules{} || !options.redaction_key.empty();
    state->redaction_mark = mark_of(options.redaction, *state->redactor);
  }
  return RecordingWriter(std::move(state));
}

RecordingWriter::RecordingWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

// `plain` is the body without its codings, if that is known already.
template <class Message>
Result<StoredBody> RecordingWriter::State::store_body(const std::optional<Message>& message,
                                                      const std::optional<std::string>& plain) {
  StoredBody stored;
  if (!message || message->body.empty()) return stored;
  const std::string hash = sha1.of(message->body);
  auto row = bodies->store(message->body, hash);
  if (!row) return row.error();
  stored.row = *row;
  if (!message->complete) return stored;  // the hash of a part says nothing
  const std::string_view coding = value_of(message->fields, "Content-Encoding");
  if (plain) {
    if (!plain->empty()) stored.sha1 = sha1.of(*plain);
  } else {
    stored.sha1 = is_coded(coding) ? decoded_sha1(sha1, message->body, coding) : hash;
  }
  return stored;
}

Result<void> RecordingWriter::State::connect(const RecordedExchange& exchange) {
  if (!connections.insert(exchange.connection).second) return {};
  return rows->add(RecordedConnection{
      .connection = exchange.connection, .client = exchange.client, .server = exchange.server});
}

Result<void> RecordingWriter::State::add(std::int64_t id,
                                         const RecordedExchange& exchange,
                                         const RedactedBodies& looked_into) {
  if (auto done = connect(exchange); !done) return done;
  const auto request = store_body(exchange.request, looked_into.request.plain);
  if (!request) return request.error();
  const auto response = store_body(exchange.response, looked_into.response.plain);
  if (!response) return response.error();
  if (auto done = rows->add(id, exchange, *request, *response); !done) return done;
  ++exchanges;
  if (exchanges - saved < kExchangesPerSave) return {};
  return commit();
}

Result<void> RecordingWriter::State::commit() {
  if (auto done = bodies->flush(); !done) return done;
  if (auto done = database->execute("COMMIT; BEGIN;"); !done) return done;
  saved = exchanges;
  return {};
}

// After a failure the file goes back to what was saved last. If that is worth something it stays.
Result<void> RecordingWriter::State::checked(Result<void> done) {
  if (done) return done;
  static_cast<void>(database->execute("ROLLBACK"));  // SQLite may have done so itself
  close_database();
  remove_if_empty(journal_of(temporary));
  if (saved == 0) return done;
  const std::string kept = std::exchange(temporary, {});
  return Error{done.error().code, done.error().message + "; the first " + std::to_string(saved) +
                                      " exchanges are in " + kept};
}

Result<std::int64_t> RecordingWriter::add(RecordedExchange exchange) {
  State& state = *state_;
  // How long it took is not known then.
  if (exchange.latency && exchange.latency->count() < 0) {
    exchange.latency.reset();
    ++state.backwards;
  }
  const RedactedBodies bodies =
      state.redactor ? state.redactor->redact(exchange) : RedactedBodies{};
  const std::int64_t id = exchange.id != 0 ? exchange.id : state.next_id;
  state.next_id = std::max(state.next_id, id + 1);
  if (auto done = state.checked(state.add(id, exchange, bodies)); !done) return done.error();
  for (const auto& [direction, bytes] : {std::pair("request", bodies.request.dropped_bytes),
                                         std::pair("response", bodies.response.dropped_bytes)}) {
    if (bytes == 0) continue;
    const RecordedLoss loss{.at = exchange.at,
                            .connection = exchange.connection,
                            .direction = direction,
                            .reason = "redacted",
                            .bytes = bytes};
    if (auto done = add(loss); !done) return done.error();
  }
  return id;
}

Result<void> RecordingWriter::add(const RecordedConnection& connection) {
  state_->connections.insert(connection.connection);
  return state_->checked(state_->rows->add(connection));
}

Result<void> RecordingWriter::add(const RecordedLoss& loss) {
  return state_->checked(state_->rows->add(loss));
}

Result<void> RecordingWriter::save() {
  return state_->checked(state_->commit());
}

Result<void> RecordingWriter::State::complete(std::span<const LedgerLine> ledger) {
  if (auto done = bodies->flush(); !done) return done;
  if (auto done = database->execute(kForgetUnfinished); !done) return done;
  auto own = ledger_of(bodies->counts(), redactor ? &*redactor : nullptr, redaction_mark);
  if (backwards > 0) {
    own.push_back({"latencies below zero", backwards, 0,
                   "left out: the clock was set back, or the packets are out of order"});
  }
  for (const LedgerLine& line :
       with_own(ledger, std::move(own), redactor.has_value(), redacts_as_asked)) {
    if (auto done = rows->add(line); !done) return done;
  }
  if (auto done = database->execute(recording_indices()); !done) return done;
  return database->execute("COMMIT; PRAGMA journal_mode = DELETE;");
}

Result<void> RecordingWriter::finish(std::span<const LedgerLine> ledger) {
  State& state = *state_;
  if (auto done = state.checked(state.complete(ledger)); !done) return done;
  state.close_database();
  if (auto done = sync_file(state.temporary); !done) return done;
  if (std::rename(state.temporary.c_str(), state.path.c_str()) != 0) {
    const int code = errno;
    const std::string kept = std::exchange(state.temporary, {});
    return outside_error(state.path + ": cannot be written here: " + system_text(code) +
                         "; the whole recording is in " + kept);
  }
  state.temporary.clear();
  return {};
}

}  // namespace gatedrill::replay
