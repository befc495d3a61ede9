#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

namespace gatedrill::tidy {
namespace {

using Folders = std::set<std::string>;

const std::map<std::string, Folders>& allowed_folders() {
  static const std::map<std::string, Folders> kAllowed = {
      {"gateway", {"gateway"}},
      {"reports", {"gateway", "reports"}},
      {"loadgen", {"gateway", "reports", "loadgen"}},
      {"chaos", {"gateway", "reports", "chaos"}},
      {"replay", {"gateway", "reports", "loadgen", "replay"}},
      {"scenarios", {"gateway", "reports", "loadgen", "chaos", "replay", "scenarios"}},
  };
  return kAllowed;
}

const std::map<std::string, Folders>& allowed_in_gateway() {
  static const std::map<std::string, Folders> kAllowed = {
      {"core", {"core"}},
      {"http", {"core", "http"}},
      {"policy", {"core", "http", "policy"}},
      {"access", {"core", "http", "access"}},
      {"config", {"core", "http", "policy", "access", "config"}},
      {"net", {"core", "http", "policy", "access", "net"}},
      {"proxy", {"core", "http", "policy", "access", "config", "net", "proxy"}},
  };
  return kAllowed;
}

bool ends_with_one_of(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

bool is_cpp(std::string_view path) {
  return ends_with_one_of(path, {".cpp", ".hpp"});
}

// The rules' own words and samples would be found too.
bool is_tidy(std::string_view path) {
  return path.starts_with("tests/tidy/");
}

std::string part(std::string_view path, int index) {
  std::stringstream stream{std::string(path)};
  std::string piece;
  for (int i = 0; i <= index; ++i) {
    if (!std::getline(stream, piece, '/')) return {};
  }
  return piece;
}

void each_line(std::string_view text, const std::function<void(int, const std::string&)>& visit) {
  std::stringstream stream{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number)
    visit(number, line);
}

// Each line in which `pattern` is found. `words`: one of them is in every match, so that the slow
// regular expression only sees the few lines that count.
Findings matching_lines(const File& file,
                        std::string_view text,
                        std::initializer_list<std::string_view> words,
                        const std::regex& pattern,
                        const std::string& what) {
  Findings findings;
  const auto holds = [](std::string_view where, std::string_view word) {
    return where.find(word) != std::string_view::npos;
  };
  if (std::none_of(words.begin(), words.end(), [&](auto word) { return holds(text, word); })) {
    return findings;
  }
  each_line(text, [&](int number, const std::string& line) {
    std::smatch match;
    if (std::none_of(words.begin(), words.end(), [&](auto word) { return holds(line, word); }) ||
        !std::regex_search(line, match, pattern)) {
      return;
    }
    findings.push_back({file.path, number, what + ": " + match.str()});
  });
  return findings;
}

struct Include {
  int line;
  std::string path;
};

std::vector<Include> includes_of(const File& file) {
  std::vector<Include> includes;
  each_line(file.text, [&](int number, const std::string& line) {
    constexpr std::string_view kInclude = "#include \"";
    if (!line.starts_with(kInclude)) return;
    const std::size_t end = line.find('"', kInclude.size());
    if (end == std::string::npos) return;
    includes.push_back({number, line.substr(kInclude.size(), end - kInclude.size())});
  });
  return includes;
}

// The end of the full expression that begins at `from`: a ; outside brackets, or the bracket that
// closes one opened before.
std::size_t expression_end(std::string_view code, std::size_t from) {
  int depth = 0;
  for (std::size_t at = from; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth < 0 || (c == ';' && depth == 0)) return at;
  }
  return code.size();
}

// The words of each call of a CMake function: its arguments, comments left out.
std::vector<std::vector<std::string>> calls_of(std::string_view cmake, std::string_view function) {
  std::string text;
  each_line(cmake,
            [&](int, const std::string& line) { text += line.substr(0, line.find('#')) + "\n"; });
  std::vector<std::vector<std::string>> calls;
  const std::string opening = std::string(function) + "(";
  for (std::size_t at = text.find(opening); at != std::string::npos;
       at = text.find(opening, at + 1)) {
    const std::size_t begin = at + opening.size();
    std::stringstream words(text.substr(begin, text.find(')', begin) - begin));
    std::vector<std::string>& call = calls.emplace_back();
    for (std::string word; words >> word;)
      call.push_back(word);
  }
  return calls;
}

// The words after `keyword` up to the next keyword.
std::vector<std::string> values_of(const std::vector<std::string>& call, std::string_view keyword) {
  static const std::set<std::string, std::less<>> kKeywords = {
      "HEADERS", "SOURCES", "DEPENDS", "PRIVATE_DEPENDS", "LABEL", "TIMEOUT"};
  std::vector<std::string> values;
  auto at = std::find(call.begin(), call.end(), keyword);
  if (at == call.end()) return values;
  for (++at; at != call.end() && !kKeywords.contains(*at); ++at)
    values.push_back(*at);
  return values;
}

std::string beside(const File& file, const std::string& name) {
  return (std::filesystem::path(file.path).parent_path() / name).lexically_normal().string();
}

}  // namespace

std::string to_string(const Finding& finding) {
  return finding.path + ":" + std::to_string(finding.line) + ": " + finding.text;
}

Findings upward_includes(const File& file) {
  Findings findings;
  const auto allowed = allowed_folders().find(part(file.path, 0));
  if (allowed == allowed_folders().end() || !is_cpp(file.path)) return findings;
  const auto allowed_inside = allowed_in_gateway().find(part(file.path, 1));
  for (const Include& include : includes_of(file)) {
    const std::string folder = part(include.path, 0);
    const bool upward = (allowed_folders().contains(folder) || folder == "tests") &&
                        !allowed->second.contains(folder);
    const bool upward_inside = allowed->first == "gateway" && folder == "gateway" &&
                               allowed_inside != allowed_in_gateway().end() &&
                               !allowed_inside->second.contains(part(include.path, 1));
    if (upward || upward_inside) {
      findings.push_back({file.path, include.line, "includes what is above it: " + include.path});
    }
  }
  return findings;
}

Findings private_includes(const File& file, const std::set<std::string>& public_headers) {
  Findings findings;
  const std::string folder = part(file.path, 0);
  if (!allowed_folders().contains(folder) || !is_cpp(file.path)) return findings;
  for (const Include& include : includes_of(file)) {
    const std::string other = part(include.path, 0);
    if (other == folder || !allowed_folders().contains(other)) continue;
    if (!public_headers.contains(include.path)) {
      findings.push_back({file.path, include.line,
                          "includes a header that is not public (HEADERS): " + include.path});
    }
  }
  return findings;
}

Findings clock_reads(const File& file) {
  static const std::regex kPattern(
      R"(steady_clock::now|system_clock|high_resolution_clock|gettimeofday|timespec_get|)"
      R"(clock_gettime\s*\(\s*CLOCK_(REALTIME|MONOTONIC|BOOTTIME|TAI)|)"
      R"((^|[^\w.>:])(std::|::)?time\s*\(\s*(nullptr|NULL|0|&))");
  if (!is_cpp(file.path) || is_tidy(file.path) || file.path.starts_with("gateway/core/time.")) {
    return {};
  }
  return matching_lines(file, code_of(file.text), {"_clock", "time"}, kPattern, "reads a clock");
}

Findings hidden_randomness(const File& file) {
  static const std::regex kPattern(
      R"(random_device|\bs?rand\s*\(|[a-z]rand48|mt19937|default_random_engine|std::\w+_distribution|)"
      R"(std::shuffle|random_shuffle|arc4random|getrandom|getentropy)");
  if (!is_cpp(file.path) || is_tidy(file.path) || file.path.starts_with("gateway/core/random.")) {
    return {};
  }
  return matching_lines(file, code_of(file.text),
                        {"rand", "mt19937", "_distribution", "std::shuffle", "getentropy"},
                        kPattern, "draws random numbers of its own");
}

Findings banned_names(const File& file) {
  static const std::set<std::string> kBanned = {"util",   "utils",   "utility", "utilities",
                                                "helper", "helpers", "common",  "misc",
                                                "base",   "manager"};
  std::stringstream path(file.path);
  for (std::string piece; std::getline(path, piece, '/');) {
    std::stringstream words(piece.substr(0, piece.find('.')));
    for (std::string word; std::getline(words, word, '_');) {
      if (kBanned.contains(word)) return {{file.path, 1, "is named after nothing: " + word}};
    }
  }
  return {};
}

Findings unnumbered_todos(const File& file) {
  static const std::regex kPattern(R"(\b(TODO|FIXME|XXX)\b(?!\s*\(?#\d))");
  if (is_tidy(file.path) || file.path.ends_with(".md")) return {};
  return matching_lines(file, file.text, {"TODO", "FIXME", "XXX"}, kPattern,
                        "is without an issue's number, as in TO"
                        "DO(#12)");
}

Findings values_inside_co_await(const File& file) {
  static const std::regex kPattern(R"(\[[^\]]+\]\s*[({]|[(,]\s*\{|[A-Z][A-Za-z]*\{)");
  Findings findings;
  if (!is_cpp(file.path) || is_tidy(file.path)) return findings;
  const std::string code = code_of(file.text);
  for (std::size_t at = code.find("co_await"); at != std::string::npos;
       at = code.find("co_await", at + 1)) {
    const std::string expression = code.substr(at, expression_end(code, at) - at);
    std::smatch match;
    if (!std::regex_search(expression, match, kPattern)) continue;
    const auto line =
        1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    findings.push_back({file.path, static_cast<int>(line),
                        "makes a value inside a co_await expression: " + match.str()});
  }
  return findings;
}

Findings switches_on_co_await(const File& file) {
  static const std::regex kPattern(R"(\bswitch\s*\([^{]*\bco_await\b)");
  if (!is_cpp(file.path) || is_tidy(file.path)) return {};
  return matching_lines(file, code_of(file.text), {"switch"}, kPattern,
                        "switches on an awaited value");
}

Findings sleeping(const File& file) {
  static const std::regex kPattern(R"(sleep_for|sleep_until|\b(u|nano)?sleep\s*\()");
  return matching_lines(file, code_of(file.text), {"sleep"}, kPattern, "sleeps");
}

Findings machine_paths(const File& file) {
  static const std::regex kPattern(R"((^|[^\w.\-/])/(home/\w+|root|srv)/[\w.]*)");
  if (is_tidy(file.path)) return {};
  return matching_lines(file, file.text, {"/home/", "/root/", "/srv/"}, kPattern,
                        "names a path of one machine");
}

// A package comes from whatever registry the machine is set up for.
Findings registry_addresses(const File& file) {
  static const std::regex kPattern(R"((registry|index-url|"resolved")\s*[=:]\s*"?(\w+\+)?https?:)");
  if (is_tidy(file.path)) return {};
  return matching_lines(file, file.text, {"registry", "index-url", "\"resolved\""}, kPattern,
                        "names a package registry");
}

std::vector<std::string> test_sources(const File& cmake, const std::set<std::string>& labels) {
  std::vector<std::string> sources;
  for (const std::vector<std::string>& call : calls_of(cmake.text, "gd_test")) {
    const std::vector<std::string> label = values_of(call, "LABEL");
    if (label.empty() || !labels.contains(label[0])) continue;
    for (const std::string& source : values_of(call, "SOURCES")) {
      sources.push_back(beside(cmake, source));
    }
  }
  return sources;
}

std::vector<std::string> public_headers(const File& cmake) {
  std::vector<std::string> headers;
  for (const std::vector<std::string>& call : calls_of(cmake.text, "gd_library")) {
    for (const std::string& header : values_of(call, "HEADERS")) {
      headers.push_back(beside(cmake, header));
    }
  }
  return headers;
}

std::string code_of(std::string_view text) {
  std::string code(text);
  const auto blank = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    std::size_t end = 0;  // of what is blanked, counted from `at`
    if (rest.starts_with("//")) {
      end = std::min(rest.find('\n'), rest.size());
      blank(at, at + end);
    } else if (rest.starts_with("/*")) {
      end = std::min(rest.find("*/", 2), rest.size() - 2) + 2;
      blank(at, at + end);
    } else if (rest.starts_with("R\"")) {
      const std::string close = ")" + std::string(rest.substr(2, rest.find('(') - 2)) + "\"";
      end = std::min(rest.find(close), rest.size() - close.size()) + close.size();
      blank(at + 2, at + end - 1);
    } else if (rest.front() == '"' ||
               // Not the separator of digits.
               (rest.front() == '\'' &&
                (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0))) {
      end = 1;
      while (end < rest.size() && rest[end] != rest.front() && rest[end] != '\n') {
        end += rest[end] == '\\' ? std::size_t{2} : std::size_t{1};
      }
      blank(at + 1, at + end);
      ++end;
    }
    if (end > 0) at += end - 1;
  }
  return code;
}

}  // namespace gatedrill::tidy
