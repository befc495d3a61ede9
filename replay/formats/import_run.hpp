// Runs an import: from files of one format into a recording, with an account of what was in them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/formats/format.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::replay::formats {

struct ImportReport {
  std::uint64_t exchanges = 0;
  std::uint64_t losses = 0;
  std::vector<ImportLoss> first_losses;  // a few, for people
  std::vector<LedgerLine> ledger;
};

// `stop` ends it early; `progress` is told now and then how many exchanges there are. The writer
// is finished unless there was no exchange at all or an error comes back. Fails as the format's
// reader does, with the advice about what the file seems to be instead.
[[nodiscard]] Result<ImportReport> run_import(
    const Format& format,
    std::span<Input> inputs,
    RecordingWriter writer,
    const std::atomic<bool>& stop,
    const std::function<void(std::uint64_t exchanges)>& progress);

}  // namespace gatedrill::replay::formats
