#include "replay/reconcile_rows.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "gateway/core/ascii.hpp"
#include "gateway/core/random.hpp"
#include "replay/database.hpp"
#include "replay/recorded_fields.hpp"
#include "replay/recording_schema.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::string_view kSelect =
    "SELECT e.id, e.at_ns, c.client, c.server, e.method, e.target, e.request_fields, e.status, "
    "e.request_complete, e.request_redacted, e.request_bytes, e.request_body_hash, "
    "e.response_complete, e.response_redacted, e.response_bytes, e.response_body_hash, "
    "e.response_fields "
    "FROM t_exchanges e LEFT JOIN t_connections c USING (connection) ORDER BY e.at_ns, e.id";

// Its pseudonyms may be of this recording only.
std::string without_pseudonyms(std::string_view text) {
  constexpr std::string_view kMark = "redacted-";
  constexpr std::size_t kDigits = 16;
  std::string out;
  for (;;) {
    const std::size_t found = text.find(kMark);
    if (found == std::string_view::npos) return out.append(text);
    out.append(text.substr(0, found + kMark.size()));
    text.remove_prefix(found + kMark.size());
    const std::size_t digits = text.find_first_not_of("0123456789abcdef");
    if (std::min(digits, text.size()) >= kDigits) text.remove_prefix(kDigits);
  }
}

std::string_view id_of(const std::vector<RecordedField>& fields, const std::string& id_field) {
  if (!id_field.empty()) return value_of(fields, id_field);
  for (const std::string_view name : {"x-request-id", "x-correlation-id", "traceparent"}) {
    if (const std::string_view id = value_of(fields, name); !id.empty()) return id;
  }
  return {};
}

// Of fields and trailers in any order: that is for their writer to choose. Their names become lower
// case.
std::uint64_t fields_hash(std::vector<RecordedField>& fields,
                          std::vector<RecordedField>& trailers) {
  std::uint64_t hash = 0;
  const auto add = [&](std::vector<RecordedField>& list, std::uint64_t seed) {
    for (RecordedField& field : list) {
      std::transform(field.name.begin(), field.name.end(), field.name.begin(), to_small);
      hash += stable_hash(field.value, stable_hash(field.name, seed));
    }
  };
  add(fields, 1);
  add(trailers, 2);
  return hash;
}

std::uint16_t port_of(std::string_view address) {
  std::uint16_t port = 0;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return port;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  return port;
}

// Four columns.
ReconciledMessage message_of(const Statement& row, int first) {
  ReconciledMessage message;
  message.seen = !row.is_null(first);
  if (!message.seen) return message;
  message.whole = row.integer(first) != 0;
  message.redacted = row.integer(first + 1) != 0;
  message.bytes = row.integer(first + 2);
  row.bytes(first + 3).copy(message.hash.data(), message.hash.size());
  return message;
}

class Texts {
 public:
  explicit Texts(std::vector<std::string>& texts) : texts_(texts) {}

  std::uint32_t number(std::string_view text) {
    const auto [found, added] =
        numbers_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
    if (added) texts_.emplace_back(text);
    return found->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// The lines of a ledger that say something is missing.
bool tells_a_loss(const LedgerLine& line) {
  if (line.count == 0 && line.bytes == 0) return false;
  if (line.what.starts_with("lost: ") || line.what.starts_with("tap overflow")) return true;
  constexpr std::string_view kLosses[] = {"kernel drops",
                                          "interface drops",
                                          "queue drops",
                                          "gaps",
                                          "requests partial",
                                          "answers partial",
                                          "packets cut short",
                                          "packets: undecodable",
                                          "connections forgotten",
                                          "fragments never completed",
                                          "redacted bodies dropped"};
  return std::find(std::begin(kLosses), std::end(kLosses), line.what) != std::end(kLosses);
}

}  // namespace

std::uint64_t ReconcileRow::exchange_key() const {
  const std::array<std::uint64_t, 3> parts{connection_hash, request_hash, id_hash};
  return stable_hash({reinterpret_cast<const char*>(parts.data()), sizeof parts});
}

std::optional<std::uint64_t> ReconcileRow::id_key() const {
  if (id_hash == 0) return std::nullopt;
  return id_hash;
}

std::optional<std::uint64_t> ReconcileRow::request_key() const {
  if (!request.seen) return std::nullopt;
  const std::string_view body(request.hash.data(), request.hash.size());
  return request.redacted ? request_hash : stable_hash(body, request_hash);
}

std::optional<std::uint64_t> ReconcileRow::answer_key() const {
  if (!answer.seen) return std::nullopt;
  const std::string_view body(answer.hash.data(), answer.hash.size());
  const std::uint64_t seed = connection_hash + static_cast<std::uint64_t>(status.value_or(0));
  return stable_hash(answer.redacted ? std::string_view() : body, seed);
}

ReconciledExchange ReconcileRows::describe(const ReconcileRow& row) const {
  return {
      row.id,    row.at, texts[row.client], texts[row.server], texts[row.method], texts[row.target],
      row.status};
}

Result<ReconcileRows> read_reconcile_rows(const std::string& path,
                                          const ReconcileOptions& options) {
  auto recording = Recording::open(path);
  if (!recording) return recording.error();
  auto ledger = recording->ledger();
  if (!ledger) return ledger.error();
  ReconcileRows result;
  int marks = 0;
  for (const LedgerLine& line : *ledger) {
    if (line.what != kRedactionLine) continue;
    // Of a recording that was merged from several, nothing is known.
    result.redaction = marks++ == 0 ? line.note : std::string();
  }
  std::copy_if(ledger->begin(), ledger->end(), std::back_inserter(result.losses), tells_a_loss);
  auto database = Database::open(path, Database::Mode::read);
  if (!database) return database.error();
  auto select = database->prepare(kSelect);
  if (!select) return select.error();
  Texts texts(result.texts);
  for (;;) {
    auto more = select->step();
    if (!more) return more.error();
    if (!*more) return result;
    const std::string_view server = select->bytes(3);
    if (!options.ports.empty() && std::find(options.ports.begin(), options.ports.end(),
                                            port_of(server)) == options.ports.end()) {
      continue;
    }
    ReconcileRow& row = result.rows.emplace_back();
    row.id = select->integer(0);
    row.at = {select->integer(1)};
    row.client = texts.number(select->bytes(2));
    row.server = texts.number(server);
    row.connection_hash = stable_hash(server, stable_hash(select->bytes(2)));
    row.method = texts.number(select->bytes(4));
    const std::string target = without_pseudonyms(select->bytes(5));
    row.target = texts.number(target);
    row.request_hash = stable_hash(target, stable_hash(select->bytes(4)));
    std::vector<RecordedField> fields;
    std::vector<RecordedField> trailers;
    decode_fields(select->bytes(6), fields, trailers);
    if (const std::string_view id = id_of(fields, options.id_field); !id.empty()) {
      row.id_hash = stable_hash(id) | 1U;
    }
    if (!select->is_null(7)) row.status = static_cast<int>(select->integer(7));
    row.request = message_of(*select, 8);
    row.request.head = stable_hash(select->bytes(5), fields_hash(fields, trailers));
    row.answer = message_of(*select, 12);
    fields.clear();
    trailers.clear();
    decode_fields(select->bytes(16), fields, trailers);
    row.answer.head = fields_hash(fields, trailers);
  }
}

}  // namespace gatedrill::replay
