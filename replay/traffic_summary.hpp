// What is in a recording, in a page of text, and one exchange in full.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

struct TrafficSummary {
  struct Path {
    std::string method;
    std::string host;
    std::string path;
    std::uint64_t requests = 0;
    std::uint64_t failed = 0;  // answered with 5xx, or not at all
    double latency_ms_mean = 0;
    double latency_ms_max = 0;
  };

  struct Share {
    std::string name;
    std::uint64_t count = 0;
  };

  std::uint64_t exchanges = 0;
  std::uint64_t requests = 0;
  std::uint64_t answers = 0;
  std::uint64_t partial = 0;  // exchanges with a message that is not whole
  UnixTime first;
  UnixTime last;
  std::uint64_t connections = 0;
  std::vector<Share> closes;    // "fin by server", most first
  std::vector<Share> statuses;  // "200", "none", most first
  std::vector<Share> servers;
  std::vector<Path> paths;    // without query, most requested first
  std::vector<Share> losses;  // by reason
};

// `top` bounds the lists.
[[nodiscard]] Result<TrafficSummary> summarize(const std::string& path, int top);

[[nodiscard]] std::string render(const TrafficSummary& summary);
// The lines that are not zero; the account of a capture in columns.
[[nodiscard]] std::string render(const std::vector<LedgerLine>& ledger);
// Both messages with their heads and, as far as they are text, their decoded bodies.
[[nodiscard]] std::string render(const RecordedExchange& exchange);

// What a terminal would act on becomes a dot, line feeds too: nothing of the traffic may look like
// a line of ours.
[[nodiscard]] std::string printable(std::string_view text);

// "2023-11-14 22:13:20.123 UTC".
[[nodiscard]] std::string time_text(UnixTime at);

}  // namespace gatedrill::replay
