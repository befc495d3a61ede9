// The table of differences, tests/golden/differential.txt: what each proxy makes of each input, and
// beside each difference from ours its reason. A text that people read and write:
//
//   [chunks] a size with a sign
//     sent       "POST / HTTP/1.1\r\n..."
//     gatedrill  400 (malformed_request), closed
//                nothing
//     nginx      ...
//                ...
//     haproxy    ...
//                ...
//     nginx:     stricter: RFC 9112 7.1 knows no sign
//     haproxy:   wording: ...
//
// The second line of an outcome is what the origin saw. The outcomes are the test's to write, the
// reasons are a person's; `both:` is a reason for the two of them.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/outcome.hpp"
#include "tests/differential/proxy.hpp"

namespace gatedrill::differential {

struct Row {
  std::string section;
  std::string name;
  std::string sent;
  std::map<Program, Outcome> outcomes = {};
  std::map<std::string, std::string> reasons = {};  // by nginx, haproxy or both

  // Ours differs from theirs.
  [[nodiscard]] bool differs_from(Program program) const;
  // Empty if there is none.
  [[nodiscard]] std::string reason_for(Program program) const;
};

struct Table {
  std::map<Program, std::string> versions;  // that the columns come from
  std::vector<Row> rows;

  [[nodiscard]] Row* find(const std::string& name);
};

// The kinds of reasons: the word before the colon.
inline constexpr std::array kReasonKinds = {"stricter", "laxer",   "status", "rewriting",
                                            "limits",   "failure", "missing"};

[[nodiscard]] Table read_table(const std::string& path);
void write_table(const Table& table, const std::string& path);

// What was sent, on one line.
[[nodiscard]] std::string sent_text(const Input& input);
[[nodiscard]] std::string row_text(const Row& row);

}  // namespace gatedrill::differential
