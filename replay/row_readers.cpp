#include "replay/row_readers.hpp"

namespace gatedrill::replay {
namespace {

std::uint32_t small(const Statement& row, int column) {
  return static_cast<std::uint32_t>(row.integer(column));
}

RecordedSide read_side(const Statement& row, int first) {
  return {.fin = optional_time(row, first),
          .rst = optional_time(row, first + 1),
          .fin_acked = optional_integer(row, first + 2),
          .rst_acked = optional_integer(row, first + 3),
          .sent = row.integer(first + 4),
          .acked = row.integer(first + 5),
          .retransmissions = small(row, first + 6),
          .zero_windows = small(row, first + 7)};
}

}  // namespace

std::optional<std::int64_t> optional_integer(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return row.integer(column);
}

std::optional<UnixTime> optional_time(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return UnixTime{row.integer(column)};
}

std::optional<Duration> optional_duration(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return Duration{row.integer(column)};
}

RecordedConnection read_connection(const Statement& row, int first) {
  RecordedConnection connection{.connection = row.integer(first),
                                .client = row.text(first + 1),
                                .server = row.text(first + 2),
                                .opened = optional_time(row, first + 3),
                                .closed = optional_time(row, first + 4),
                                .closed_by = row.text(first + 5),
                                .how = row.text(first + 6),
                                .idle_before_close = optional_duration(row, first + 7),
                                .gap_bytes = static_cast<std::uint64_t>(row.integer(first + 8))};
  connection.connect = row.text(first + 9);
  connection.syns = small(row, first + 10);
  connection.answered = optional_time(row, first + 11);
  connection.established = optional_time(row, first + 12);
  connection.client_side = read_side(row, first + 13);
  connection.server_side = read_side(row, first + 21);
  return connection;
}

ExchangeCourse read_course(const Statement& row, int first) {
  ExchangeCourse course{.request_end = optional_time(row, first),
                        .response_begin = optional_time(row, first + 1),
                        .response_end = optional_time(row, first + 2),
                        .ordinal = small(row, first + 3),
                        .idle_before = optional_duration(row, first + 4)};
  if (!row.is_null(first + 11)) {
    course.reset = {.at = UnixTime{row.integer(first + 11)},
                    .by_client = row.text(first + 10) == "client"};
  }
  if (!row.is_null(first + 12)) course.tls = row.integer(first + 12) != 0;
  if (row.is_null(first + 5)) return course;
  course.transport = {.request_begin = row.integer(first + 5),
                      .request_end = row.integer(first + 6),
                      .acknowledged = row.integer(first + 7) != 0,
                      .after_fin = row.integer(first + 8) != 0,
                      .retransmissions = small(row, first + 9)};
  return course;
}

}  // namespace gatedrill::replay
