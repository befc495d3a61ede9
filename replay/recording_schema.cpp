#include "replay/recording_schema.hpp"

#include <algorithm>

namespace gatedrill::replay {

namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE t_connections (
  connection             INTEGER PRIMARY KEY,
  client                 TEXT NOT NULL,
  server                 TEXT NOT NULL,
  opened_ns              INTEGER,
  closed_ns              INTEGER,
  closed_by              TEXT,
  how                    TEXT NOT NULL DEFAULT 'open',
  idle_before_close_ns   INTEGER,
  gap_bytes              INTEGER NOT NULL DEFAULT 0,
  connect                TEXT,
  syns                   INTEGER NOT NULL DEFAULT 0,
  answered_ns            INTEGER,
  established_ns         INTEGER,
  client_fin_ns          INTEGER,
  client_rst_ns          INTEGER,
  client_fin_acked       INTEGER,
  client_rst_acked       INTEGER,
  client_sent            INTEGER NOT NULL DEFAULT 0,
  client_acked           INTEGER NOT NULL DEFAULT 0,
  client_retransmissions INTEGER NOT NULL DEFAULT 0,
  client_zero_windows    INTEGER NOT NULL DEFAULT 0,
  server_fin_ns          INTEGER,
  server_rst_ns          INTEGER,
  server_fin_acked       INTEGER,
  server_rst_acked       INTEGER,
  server_sent            INTEGER NOT NULL DEFAULT 0,
  server_acked           INTEGER NOT NULL DEFAULT 0,
  server_retransmissions INTEGER NOT NULL DEFAULT 0,
  server_zero_windows    INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE t_bodies (
  body  INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL,
  block INTEGER NOT NULL,
  place INTEGER NOT NULL
) STRICT;

CREATE TABLE t_blocks (
  block   INTEGER PRIMARY KEY,
  bytes   INTEGER NOT NULL,
  packing TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;

CREATE TABLE t_exchanges (
  id                  INTEGER PRIMARY KEY,
  at_ns               INTEGER NOT NULL,
  connection          INTEGER NOT NULL,
  protocol            TEXT NOT NULL,
  host                TEXT NOT NULL,
  latency_ns          INTEGER,
  tunnel              INTEGER NOT NULL DEFAULT 0,
  informational       TEXT,
  method              TEXT,
  target              TEXT,
  request_version     TEXT,
  request_fields      BLOB,
  request_bytes       INTEGER,
  request_body        INTEGER,
  request_body_hash   BLOB,
  request_complete    INTEGER,
  request_redacted    INTEGER,
  request_defects     TEXT,
  status              INTEGER,
  reason              TEXT,
  response_version    TEXT,
  response_fields     BLOB,
  response_bytes      INTEGER,
  response_body       INTEGER,
  response_body_hash  BLOB,
  response_complete   INTEGER,
  response_redacted   INTEGER,
  response_defects    TEXT,
  request_end_ns      INTEGER,
  response_begin_ns   INTEGER,
  response_end_ns     INTEGER,
  ordinal             INTEGER,
  idle_before_ns      INTEGER,
  request_begin_place INTEGER,
  request_end_place   INTEGER,
  request_acked       INTEGER,
  request_after_fin   INTEGER,
  retransmissions     INTEGER,
  reset_by            TEXT,
  reset_ns            INTEGER,
  tls                 INTEGER
) STRICT;

CREATE TABLE t_losses (
  loss       INTEGER PRIMARY KEY,
  at_ns      INTEGER NOT NULL,
  connection INTEGER,
  direction  TEXT,
  reason     TEXT NOT NULL,
  bytes      INTEGER NOT NULL
) STRICT;

CREATE TABLE t_ledger (
  line  INTEGER PRIMARY KEY,
  what  TEXT NOT NULL,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  note  TEXT NOT NULL
) STRICT;
)sql";

constexpr const char* kViews = R"sql(
CREATE VIEW exchanges AS
SELECT e.id, e.at_ns, e.connection, c.client, c.server, e.protocol, e.method, e.host, e.target,
       e.request_version, e.request_bytes,
       nullif(lower(hex(e.request_body_hash)), '') AS request_body_sha1,
       e.status, e.response_bytes,
       nullif(lower(hex(e.response_body_hash)), '') AS response_body_sha1,
       e.latency_ns / 1e6 AS latency_ms, e.request_complete, e.response_complete,
       e.ordinal, e.idle_before_ns / 1e6 AS idle_before_ms,
       (e.request_end_ns - e.at_ns) / 1e6 AS request_ms,
       (e.response_begin_ns - e.request_end_ns) / 1e6 AS ttfb_ms,
       e.request_acked, e.retransmissions, e.reset_by, e.reset_ns, e.tls
FROM t_exchanges e LEFT JOIN t_connections c USING (connection);

CREATE VIEW connections AS
SELECT connection, client, server, opened_ns, closed_ns, closed_by, how,
       (SELECT count(*) FROM t_exchanges e WHERE e.connection = c.connection) AS exchanges,
       idle_before_close_ns / 1e6 AS idle_before_close_ms, gap_bytes,
       connect, (answered_ns - opened_ns) / 1e6 AS connect_ms,
       client_fin_ns, client_rst_ns, server_fin_ns, server_rst_ns,
       client_retransmissions + server_retransmissions AS retransmissions,
       client_zero_windows + server_zero_windows AS zero_windows
FROM t_connections c;

CREATE VIEW ledger AS SELECT what, count, bytes, note FROM t_ledger ORDER BY line;

CREATE VIEW losses AS SELECT at_ns, connection, direction, reason, bytes FROM t_losses;
)sql";

constexpr const char* kUnfinished =
    "INSERT INTO t_ledger VALUES (NULL, 'unfinished', 1, 0, "
    "'its writer did not come to the end: what was not saved yet is missing');";

}  // namespace

std::string recording_tables() {
  return std::string(kTables) + kViews + kUnfinished +
         "PRAGMA application_id = " + std::to_string(kRecordingApplicationId) +
         "; PRAGMA user_version = " + std::to_string(kRecordingVersion) + ";";
}

const char* recording_indices() {
  return "CREATE INDEX t_exchanges_by_time ON t_exchanges (at_ns); "
         "CREATE INDEX t_exchanges_by_connection ON t_exchanges (connection);";
}

}  // namespace gatedrill::replay
