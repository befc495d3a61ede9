// Reads the rows of a recording's tables. Private to replay.
#pragma once

#include <optional>
#include <string_view>

#include "replay/database.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

[[nodiscard]] std::optional<std::int64_t> optional_integer(const Statement& row, int column);
[[nodiscard]] std::optional<UnixTime> optional_time(const Statement& row, int column);
[[nodiscard]] std::optional<Duration> optional_duration(const Statement& row, int column);

// What read_connection reads, of t_connections as c.
inline constexpr std::string_view kConnectionColumns =
    "c.connection, c.client, c.server, c.opened_ns, c.closed_ns, c.closed_by, c.how, "
    "c.idle_before_close_ns, c.gap_bytes, c.connect, c.syns, c.answered_ns, c.established_ns, "
    "c.client_fin_ns, c.client_rst_ns, c.client_fin_acked, c.client_rst_acked, c.client_sent, "
    "c.client_acked, c.client_retransmissions, c.client_zero_windows, "
    "c.server_fin_ns, c.server_rst_ns, c.server_fin_acked, c.server_rst_acked, c.server_sent, "
    "c.server_acked, c.server_retransmissions, c.server_zero_windows";
[[nodiscard]] RecordedConnection read_connection(const Statement& row, int first);

// What read_course reads, of t_exchanges as e.
inline constexpr std::string_view kCourseColumns =
    "e.request_end_ns, e.response_begin_ns, e.response_end_ns, e.ordinal, e.idle_before_ns, "
    "e.request_begin_place, e.request_end_place, e.request_acked, e.request_after_fin, "
    "e.retransmissions, e.reset_by, e.reset_ns, e.tls";
inline constexpr int kCourseColumnCount = 13;

struct ExchangeCourse {
  std::optional<UnixTime> request_end{};
  std::optional<UnixTime> response_begin{};
  std::optional<UnixTime> response_end{};
  std::uint32_t ordinal = 0;
  std::optional<Duration> idle_before{};
  std::optional<RecordedTransport> transport{};
  std::optional<RecordedReset> reset{};
  std::optional<bool> tls{};
};

[[nodiscard]] ExchangeCourse read_course(const Statement& row, int first);

}  // namespace gatedrill::replay
