// What other readers found in a capture: tshark (F.expected.tsv and F.expected-alt.tsv), zeek
// (F.zeek-http.log) and pcap2har (F.oracle.har).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gatedrill::tests {

// A request and its final answer, both whole. Of bodies the SHA-1 in hex, decoded; empty where
// there is none, or where its reader does not say.
struct FoundPair {
  std::string text;  // client's port, method, target and status: "40000 GET /a 200"
  std::string request_body;
  std::string response_body;
};

// "GET" or "200", and when its last byte was seen, in ns of Unix time.
struct FoundTime {
  std::string what;
  std::int64_t at_ns = 0;
};

struct FoundMessages {
  int requests = 0;
  int responses = 0;  // with the 1xx ones
  std::vector<FoundPair> pairs;
  std::multiset<std::string> bodies;  // SHA-1 in hex, decoded
  std::vector<FoundTime> times;       // of HTTP/1, of requests and final answers
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
[[nodiscard]] std::string difference(std::vector<FoundPair> seen, std::vector<FoundPair> expected);
// "-1": how many of `expected` were seen at no time that is within 2 us of it.
[[nodiscard]] std::string missing(std::vector<FoundTime> expected, std::vector<FoundTime> seen);

}  // namespace gatedrill::tests
