// Targets for vegeta attack -format=json: one request a line, without its time.
#pragma once

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

Result<void> write_vegeta(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format vegeta_format();

}  // namespace gatedrill::replay::formats
