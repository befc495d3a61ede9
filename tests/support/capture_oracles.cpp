#include "tests/support/capture_oracles.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace gatedrill::tests {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = line.find('\t', begin);
    cells.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) return cells;
    begin = end + 1;
  }
}

// Rows by the names of their columns.
using Row = std::map<std::string, std::string>;

Row named(const std::vector<std::string>& names, const std::vector<std::string>& cells) {
  Row row;
  for (std::size_t i = 0; i < names.size(); ++i)
    row[names[i]] = i < cells.size() ? cells[i] : "";
  return row;
}

// "1700000000.123456789"
std::int64_t ns_of(const std::string& seconds) {
  const std::size_t point = seconds.find('.');
  std::string fraction = point == std::string::npos ? "" : seconds.substr(point + 1);
  fraction.resize(9, '0');
  return std::stoll(seconds.substr(0, point)) * 1'000'000'000 + std::stoll(fraction);
}

}  // namespace

FoundMessages read_tshark(const std::filesystem::path& table) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cells_of(line);
  std::vector<Row> rows;
  while (std::getline(file, line))
    rows.push_back(named(names, cells_of(line)));
  FoundMessages found;
  std::map<std::string, FoundPair> requests;  // by the frame that completes them
  for (const Row& row : rows) {
    const bool request = row.at("kind") == "req";
    ++(request ? found.requests : found.responses);
    // Of two that one frame completes, the first is meant.
    if (request) {
      requests.emplace(row.at("frame"),
                       FoundPair{row.at("sport") + " " + row.at("method") + " " + row.at("uri"),
                                 row.at("body_sha1"),
                                 {}});
    }
    if (!row.at("body_sha1").empty()) found.bodies.insert(row.at("body_sha1"));
  }
  for (const Row& row : rows) {
    const std::string& status = row.at("status");
    const bool final = status == "101" || (!status.empty() && status[0] != '1');
    const auto request = requests.find(row.at("request_in"));
    const bool request_row = row.at("kind") == "req";
    if (row.at("proto") == "h1" && (request_row || (final && status != "101"))) {
      found.times.push_back({request_row ? row.at("method") : status, ns_of(row.at("time"))});
    }
    if (!final || request == requests.end()) continue;
    FoundPair pair = request->second;
    pair.text += " " + status;
    pair.response_body = row.at("body_sha1");
    found.pairs.push_back(std::move(pair));
  }
  return found;
}

FoundExchanges read_zeek(const std::filesystem::path& log) {
  constexpr std::string_view kFields = "#fields\t";
  FoundExchanges found;
  std::vector<std::string> names;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kFields)) names = cells_of(line.substr(kFields.size()));
    if (line.empty() || line[0] == '#') continue;
    if (names.empty()) {
      names = cells_of(line);
      continue;
    }
    const Row row = named(names, cells_of(line));
    const auto status = row.find("status_code");
    const std::string& uri = row.at("uri");
    found.insert(row.at("method") + " " + (uri == "(empty)" ? "" : uri) + " " +
                 (status == row.end() ? "?" : status->second));
  }
  return found;
}

FoundExchanges as_in_zeek(const FoundExchanges& seen, const FoundExchanges& zeek) {
  const auto digit = [](char c) {
    return std::string_view("0123456789abcdef").find(static_cast<char>(std::tolower(c)));
  };
  FoundExchanges out;
  FoundExchanges unknown;  // those that zeek has only the status of
  for (const std::string& exchange : zeek) {
    if (exchange.starts_with("- - ")) unknown.insert(exchange);
  }
  const bool statuses = zeek.empty() || !zeek.begin()->ends_with(" ?");
  for (const std::string& exchange : seen) {
    std::string text;
    for (std::size_t i = 0; i < exchange.size(); ++i) {
      const bool escape = exchange[i] == '%' && i + 2 < exchange.size() &&
                          digit(exchange[i + 1]) < 16 && digit(exchange[i + 2]) < 16;
      text.push_back(escape
                         ? static_cast<char>(digit(exchange[i + 1]) * 16 + digit(exchange[i + 2]))
                         : exchange[i]);
      if (escape) i += 2;
    }
    const std::string status = text.substr(text.rfind(' ') + 1);
    if (!statuses) text = text.substr(0, text.rfind(' ')) + " ?";
    const auto same = unknown.find("- - " + status);
    if (!zeek.contains(text) && same != unknown.end()) {
      text = *same;
      unknown.erase(same);
    }
    out.insert(text);
  }
  return out;
}

FoundExchanges read_har(const std::filesystem::path& har) {
  FoundExchanges found;
  std::ifstream file(har);
  const nlohmann::json json = nlohmann::json::parse(file);
  for (const auto& entry : json.at("log").at("entries")) {
    const auto& request = entry.at("request");
    const std::string url = request.at("url").get<std::string>();
    const std::size_t host = url.find("://");
    const std::size_t path = url.find('/', host == std::string::npos ? 0 : host + 3);
    const auto& response = entry.at("response");
    found.insert(request.at("method").get<std::string>() + " " +
                 (path == std::string::npos ? url : url.substr(path)) + " " +
                 (response.is_null() ? "-" : std::to_string(response.at("status").get<int>())));
  }
  return found;
}

std::string difference(const std::multiset<std::string>& seen,
                       const std::multiset<std::string>& expected) {
  std::vector<std::string> missing;
  std::vector<std::string> surplus;
  std::set_difference(expected.begin(), expected.end(), seen.begin(), seen.end(),
                      std::back_inserter(missing));
  std::set_difference(seen.begin(), seen.end(), expected.begin(), expected.end(),
                      std::back_inserter(surplus));
  std::string text;
  if (!surplus.empty()) text += "+" + std::to_string(surplus.size());
  if (!missing.empty()) text += (text.empty() ? "-" : " -") + std::to_string(missing.size());
  return text;
}

std::string difference(std::vector<FoundPair> seen, std::vector<FoundPair> expected) {
  const auto told = [](const std::string& body) { return !body.empty(); };
  // Those that tell most are matched first.
  std::sort(expected.begin(), expected.end(), [&](const FoundPair& a, const FoundPair& b) {
    return told(a.request_body) + told(a.response_body) >
           told(b.request_body) + told(b.response_body);
  });
  std::size_t missing = 0;
  for (const FoundPair& one : expected) {
    const auto same = std::find_if(seen.begin(), seen.end(), [&](const FoundPair& other) {
      return one.text == other.text &&
             (!told(one.request_body) || one.request_body == other.request_body) &&
             (!told(one.response_body) || one.response_body == other.response_body);
    });
    if (same == seen.end()) {
      ++missing;
    } else {
      seen.erase(same);
    }
  }
  std::string text;
  if (!seen.empty()) text += "+" + std::to_string(seen.size());
  if (missing > 0) text += (text.empty() ? "-" : " -") + std::to_string(missing);
  return text;
}

std::string missing(std::vector<FoundTime> expected, std::vector<FoundTime> seen) {
  constexpr std::int64_t kNearNs = 2'000;
  const std::size_t count = static_cast<std::size_t>(
      std::count_if(expected.begin(), expected.end(), [&](const FoundTime& one) {
        const auto near = std::find_if(seen.begin(), seen.end(), [&](const FoundTime& other) {
          return one.what == other.what && std::abs(one.at_ns - other.at_ns) <= kNearNs;
        });
        if (near == seen.end()) return true;
        seen.erase(near);
        return false;
      }));
  return count == 0 ? "" : "-" + std::to_string(count);
}

}  // namespace gatedrill::tests
