#include "replay/recording_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/recorded_fields.hpp"
#include "replay/recording_schema.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::string_view kInsertExchange =
    "INSERT INTO t_exchanges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
    "?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, "
    "?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41)";
constexpr std::string_view kInsertConnection =
    "INSERT OR REPLACE INTO t_connections VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
    "?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)";
constexpr std::string_view kInsertLoss = "INSERT INTO t_losses VALUES (NULL, ?1, ?2, ?3, ?4, ?5)";
constexpr std::string_view kInsertLedger = "INSERT INTO t_ledger VALUES (NULL, ?1, ?2, ?3, ?4)";
constexpr int kRequestColumn = 9;    // method, target, then the message
constexpr int kResponseColumn = 19;  // status, reason, then the message
constexpr int kCourseColumn = 29;
constexpr int kResetColumn = 39;
constexpr int kTlsColumn = 41;

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
                  std::string_view fields,
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
  insert.bind(first + 6, message.body_dropped ? kBodyDropped : std::int64_t{message.redacted});
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

}  // namespace

RecordingRows::RecordingRows(Statement exchange,
                             Statement connection,
                             Statement loss,
                             Statement ledger)
    : exchange_(std::move(exchange)),
      connection_(std::move(connection)),
      loss_(std::move(loss)),
      ledger_(std::move(ledger)) {}

Result<RecordingRows> RecordingRows::create(const Database& database) {
  auto exchange = database.prepare(kInsertExchange);
  if (!exchange) return exchange.error();
  auto connection = database.prepare(kInsertConnection);
  if (!connection) return connection.error();
  auto loss = database.prepare(kInsertLoss);
  if (!loss) return loss.error();
  auto ledger = database.prepare(kInsertLedger);
  if (!ledger) return ledger.error();
  return RecordingRows(std::move(*exchange), std::move(*connection), std::move(*loss),
                       std::move(*ledger));
}

Result<void> RecordingRows::add(std::int64_t id,
                                const RecordedExchange& exchange,
                                const StoredBody& request_body,
                                const StoredBody& response_body) {
  Statement& insert = exchange_;
  const std::string informational = join(exchange.informational);
  insert.bind(1, id);
  insert.bind(2, exchange.at.ns);
  insert.bind(3, exchange.connection);
  insert.bind_text(4, exchange.protocol);
  insert.bind_text(5, exchange.host);
  bind_optional(insert, 6, exchange.latency);
  insert.bind(7, std::int64_t{exchange.tunnel});
  bind_optional(insert, 8, informational);
  if (exchange.request) {
    const RecordedRequest& request = *exchange.request;
    encode_fields(request.fields, request.trailers, packer_, request_fields_);
    insert.bind_text(kRequestColumn, request.method);
    insert.bind_text(kRequestColumn + 1, request.target);
    bind_message(insert, kRequestColumn + 2, request, request_fields_, request_body);
  } else {
    for (int i = kRequestColumn; i < kResponseColumn; ++i)
      insert.bind_null(i);
  }
  if (exchange.response) {
    const RecordedResponse& response = *exchange.response;
    encode_fields(response.fields, response.trailers, packer_, response_fields_);
    insert.bind(kResponseColumn, std::int64_t{response.status});
    insert.bind_text(kResponseColumn + 1, response.reason);
    bind_message(insert, kResponseColumn + 2, response, response_fields_, response_body);
  } else {
    for (int i = kResponseColumn; i < kCourseColumn; ++i)
      insert.bind_null(i);
  }
  bind_course(insert, kCourseColumn, exchange);
  bind_optional(insert, kResetColumn, exchange.reset ? exchange.reset->by() : std::string_view());
  bind_optional(insert, kResetColumn + 1,
                exchange.reset ? std::optional(exchange.reset->at) : std::nullopt);
  bind_optional(insert, kTlsColumn,
                exchange.tls ? std::optional<std::int64_t>(*exchange.tls) : std::nullopt);
  return insert.run();
}

Result<void> RecordingRows::add(const RecordedConnection& connection) {
  Statement& insert = connection_;
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

Result<void> RecordingRows::add(const RecordedLoss& loss) {
  Statement& insert = loss_;
  insert.bind(1, loss.at.ns);
  if (loss.connection == 0) {
    insert.bind_null(2);
  } else {
    insert.bind(2, loss.connection);
  }
  bind_optional(insert, 3, loss.direction);
  insert.bind_text(4, loss.reason);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::uint64_t bytes = std::min(loss.bytes, kMost - lost_bytes_);
  lost_bytes_ += bytes;
  insert.bind(5, static_cast<std::int64_t>(bytes));
  return insert.run();
}

Result<void> RecordingRows::add(const LedgerLine& line) {
  Statement& insert = ledger_;
  insert.bind_text(1, line.what);
  insert.bind(2, static_cast<std::int64_t>(line.count));
  insert.bind(3, static_cast<std::int64_t>(line.bytes));
  insert.bind_text(4, line.note);
  return insert.run();
}

}  // namespace gatedrill::replay
