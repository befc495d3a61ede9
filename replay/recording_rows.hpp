// The rows of a recording: what is bound where. Private to replay.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/core/result.hpp"
#include "replay/database.hpp"
#include "replay/recording.hpp"
#include "replay/zstd_frame.hpp"

namespace gatedrill::replay {

// Where a body is in the file, and its public hash.
struct StoredBody {
  std::int64_t row = 0;  // 0: there is none
  std::string sha1;      // empty: none is shown
};

// Inserts into the tables of recording_schema. Not thread-safe.
class RecordingRows {
 public:
  // `database` outlives this object.
  static Result<RecordingRows> create(const Database& database);

  Result<void> add(std::int64_t id,
                   const RecordedExchange& exchange,
                   const StoredBody& request,
                   const StoredBody& response);
  // Replaces what was said of that connection before.
  Result<void> add(const RecordedConnection& connection);
  Result<void> add(const RecordedLoss& loss);
  Result<void> add(const LedgerLine& line);

 private:
  RecordingRows(Statement exchange, Statement connection, Statement loss, Statement ledger);

  Statement exchange_;
  Statement connection_;
  Statement loss_;
  Statement ledger_;
  ZstdPacker packer_;
  std::string request_fields_;
  std::string response_fields_;
  std::uint64_t lost_bytes_ = 0;  // of all losses, whose sum SQL must be able to tell
};

}  // namespace gatedrill::replay
