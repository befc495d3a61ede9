// What `traffic reconcile` prints.
#pragma once

#include <string>

#include "replay/reconcile.hpp"

namespace gatedrill::replay {

[[nodiscard]] std::string render(const Reconciliation& result);
// One JSON document, with a line feed.
[[nodiscard]] std::string render_json(const Reconciliation& result);

}  // namespace gatedrill::replay
