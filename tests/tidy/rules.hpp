// The rules of this repository that a program can judge, each a function from a file to what is
// wrong with it. What they are for is said beside each; CONTRIBUTING.md says how to live with them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gatedrill::tidy {

// A text file of the repository; the path is from its root.
struct File {
  std::string path;
  std::string text;
};

struct Finding {
  std::string path;
  int line = 0;
  std::string text;
};

using Findings = std::vector<Finding>;

// "gateway/core/time.cpp:3: reads a clock: ..."
[[nodiscard]] std::string to_string(const Finding& finding);

// Folders know only what is below them: scenarios > replay, chaos > loadgen > reports > gateway,
// and within gateway core < http < policy < ... < proxy.
[[nodiscard]] Findings upward_includes(const File& file);

// A folder is entered through its public headers: those in HEADERS of a gd_library.
[[nodiscard]] Findings private_includes(const File& file,
                                        const std::set<std::string>& public_headers);

// Decisions take the time as an argument; only core/time.cpp asks what time it is.
[[nodiscard]] Findings clock_reads(const File& file);

// All randomness is core/random's, from one seed; otherwise a run cannot be repeated.
[[nodiscard]] Findings hidden_randomness(const File& file);

// A file is named for what it holds; util, helper, common, misc, base and manager hold anything.
[[nodiscard]] Findings banned_names(const File& file);

// What is to be done is an issue, and its number stands beside it.
[[nodiscard]] Findings unnumbered_todos(const File& file);

// GCC 12 destroys temporaries of a co_await expression twice or too early: no braced value and no
// capturing lambda inside one. Name it on the line before.
[[nodiscard]] Findings values_inside_co_await(const File& file);

// GCC 12 compiles a switch over an awaited value inside an if to code that never runs it, the rest
// of the coroutine included. Await it on the line before.
[[nodiscard]] Findings switches_on_co_await(const File& file);

// For the sources of unit and sim tests: they wait for nothing.
[[nodiscard]] Findings sleeping(const File& file);

// Nothing of one machine, and no package registry's address, is written down.
[[nodiscard]] Findings machine_paths(const File& file);
[[nodiscard]] Findings registry_addresses(const File& file);

// The sources of the gd_test programs with one of these labels in a CMakeLists.txt.
[[nodiscard]] std::vector<std::string> test_sources(const File& cmake,
                                                    const std::set<std::string>& labels);
// The HEADERS of the gd_library targets in a CMakeLists.txt.
[[nodiscard]] std::vector<std::string> public_headers(const File& cmake);

// C++ with its comments and the insides of its literals blanked, lines and columns kept.
[[nodiscard]] std::string code_of(std::string_view text);

}  // namespace gatedrill::tidy
