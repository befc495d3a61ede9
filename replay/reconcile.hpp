// Completeness of one recording against another of the same traffic: a tap against a capture, two
// captures against each other.
//
// An exchange is looked for in the other recording by, in this order:
//   connection   the same client, server, request id, method and target; or, where one has not seen
//                the request, the same answer on the same connection
//   id           the same request id; of those whose client and server the other never names
//   request      the same method, target and body; of those, too
// Several that are alike are told apart by their time, in order; a constant difference of the two
// clocks is taken out. To find an exchange, pseudonyms in targets count as equal.
//
// Messages in which secrets were replaced are compared if both recordings hide the same under one
// key (--redact-key).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

struct ReconcileOptions {
  std::vector<std::uint16_t> ports{};  // only exchanges with these ports of servers; none: all
  // The request field that names it. Empty: x-request-id, x-correlation-id, traceparent, whichever
  // it has.
  std::string id_field{};
  std::size_t listed = 10;  // of each kind
};

enum class MatchedBy : std::uint8_t { connection, id, request };

// In what an exchange differs from its counterpart. Sizes and hashes are those of whole messages.
enum class Difference : std::uint8_t {
  status,
  request_missing,
  answer_missing,
  request_partial,  // in one of them
  answer_partial,
  request_head,  // the target or the fields; of pairs on the same connection
  answer_head,
  request_body,
  answer_body,
};

inline constexpr std::size_t kMatchedByCount = 3;
inline constexpr std::size_t kDifferenceCount = 9;

[[nodiscard]] std::string_view to_string(MatchedBy how);
[[nodiscard]] std::string_view to_string(Difference difference);

// One side of a pair, as it is listed.
struct ReconciledExchange {
  std::int64_t id = 0;
  UnixTime at{};
  std::string client{};
  std::string server{};
  std::string method{};  // empty: only its answer was seen
  std::string target{};
  std::optional<int> status{};
};

struct ReconciledPair {
  ReconciledExchange a;
  ReconciledExchange b;
  std::vector<Difference> differences;
};

struct ReconciledSide {
  std::string path{};
  std::uint64_t exchanges = 0;
  std::uint64_t named = 0;           // whose request has the field that names it
  std::uint64_t only = 0;            // that the other does not hold
  std::uint64_t only_outside = 0;    // of these, before the other's first or after its last
  std::uint64_t only_elsewhere = 0;  // of these, with servers that the other never names
  std::vector<ReconciledExchange> first_only{};
  std::vector<LedgerLine> losses{};  // of its own ledger
};

struct Reconciliation {
  ReconciledSide a;
  ReconciledSide b;
  std::uint64_t matched = 0;
  std::array<std::uint64_t, kMatchedByCount> matched_by{};
  std::uint64_t differing = 0;
  std::array<std::uint64_t, kDifferenceCount> differences{};
  // Pairs whose heads or bodies cannot be compared, since secrets in them were replaced.
  std::uint64_t heads_not_compared = 0;
  std::uint64_t bodies_not_compared = 0;
  std::vector<ReconciledPair> first_differing{};

  // The share of the other's exchanges that this one holds; nothing if the other has none.
  [[nodiscard]] std::optional<double> completeness_of_a() const;
  [[nodiscard]] std::optional<double> completeness_of_b() const;

  [[nodiscard]] bool equal() const { return a.only == 0 && b.only == 0 && differing == 0; }
};

// Fails as Recording::open does.
[[nodiscard]] Result<Reconciliation> reconcile(const std::string& a,
                                               const std::string& b,
                                               const ReconcileOptions& options);

}  // namespace gatedrill::replay
