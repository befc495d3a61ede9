// What `traffic reconcile` keeps of each exchange: little, so that a million of them fit. Private
// to replay.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/reconcile.hpp"

namespace gatedrill::replay {

struct ReconciledMessage {
  bool seen = false;
  bool whole = false;
  bool redacted = false;
  std::int64_t bytes = 0;
  std::array<char, 20> hash{};  // zeros: it has no body
  std::uint64_t head = 0;       // of the target and the fields, in any order
};

struct ReconcileRow {
  std::int64_t id = 0;
  UnixTime at{};
  // Texts by their numbers in ReconcileRows.
  std::uint32_t client = 0;
  std::uint32_t server = 0;
  std::uint32_t method = 0;
  std::uint32_t target = 0;
  // Hashes of the texts: equal in both recordings.
  std::uint64_t connection_hash = 0;
  std::uint64_t request_hash = 0;  // method and target
  std::uint64_t id_hash = 0;       // 0: it has no request id
  std::optional<int> status{};
  ReconciledMessage request{};
  ReconciledMessage answer{};

  [[nodiscard]] std::uint64_t connection_key() const { return connection_hash; }

  [[nodiscard]] std::uint64_t exchange_key() const;
  [[nodiscard]] std::optional<std::uint64_t> id_key() const;
  [[nodiscard]] std::optional<std::uint64_t> request_key() const;
  // Of its answer on its connection, for where the request was not seen.
  [[nodiscard]] std::optional<std::uint64_t> answer_key() const;
};

struct ReconcileRows {
  std::vector<ReconcileRow> rows;  // in the order of their time
  std::vector<std::string> texts;
  std::vector<LedgerLine> losses;
  std::string redaction;  // equal in recordings that hide the same under one key; may be empty

  [[nodiscard]] std::string_view name(std::uint32_t text) const { return texts[text]; }

  [[nodiscard]] ReconciledExchange describe(const ReconcileRow& row) const;
};

[[nodiscard]] Result<ReconcileRows> read_reconcile_rows(const std::string& path,
                                                        const ReconcileOptions& options);

}  // namespace gatedrill::replay
