// What other readers found in a capture: tshark (F.expected.tsv and F.expected-alt.tsv), zeek
// (F.zeek-http.log) and pcap2har (F.oracle.har).
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace gatedrill::tests {

struct FoundMessages {
  int requests = 0;
  int responses = 0;                  // with the 1xx ones
  std::multiset<std::string> pairs;   // "GET /a 200", of final answers
  std::multiset<std::string> bodies;  // SHA-1 in hex, decoded
};

// A reader that lists exchanges: "GET /a 200", "-" for what is missing.
using FoundExchanges = std::multiset<std::string>;

[[nodiscard]] FoundMessages read_tshark(const std::filesystem::path& table);
// Targets are unescaped. Of the logs that have no status, it is "?".
[[nodiscard]] FoundExchanges read_zeek(const std::filesystem::path& log);
// `seen` as zeek would have written it: unescaped, and without what it did not know, which are the
// methods it does not know and in some logs the statuses.
[[nodiscard]] FoundExchanges as_in_zeek(const FoundExchanges& seen, const FoundExchanges& zeek);
[[nodiscard]] FoundExchanges read_har(const std::filesystem::path& har);

// "+2 -1": how many are only in `seen`, and only in `expected`; empty if equal.
[[nodiscard]] std::string difference(const std::multiset<std::string>& seen,
                                     const std::multiset<std::string>& expected);

}  // namespace gatedrill::tests
