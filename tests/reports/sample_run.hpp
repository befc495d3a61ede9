// A whole run as an incident would leave it, made up from a seed: a rolling restart with a slow
// dependency, four variants of which one is not ours. For the tests of what is rendered, and to
// look at the page (reports_sample DIR).
#pragma once

#include <string>

namespace gatedrill::reports {

// Writes the run.db, finished and judged.
void make_sample_run(const std::string& path);

}  // namespace gatedrill::reports
