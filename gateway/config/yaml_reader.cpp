#include "gateway/config/yaml_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "gateway/config/suggestion.hpp"

namespace gatedrill::gateway {
namespace {

std::string joined(std::initializer_list<std::string_view> keys) {
  std::string text;
  for (const std::string_view key : keys) {
    text += text.empty() ? "" : ", ";
    text += key;
  }
  return text;
}

std::string_view described(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a value";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a mapping (key: value)";
  }
  return {};
}

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (text.empty() || error != std::errc{} || stop != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

bool YamlReader::has(std::string_view key) {
  return find(key) != nullptr;
}

std::string YamlReader::exactly_one_of(std::initializer_list<std::string_view> keys) {
  const std::string found = at_most_one_of(keys);
  if (found.empty() && clean() && !wrong_kind_) problem("needs one of " + joined(keys));
  return found;
}

std::string YamlReader::at_most_one_of(std::initializer_list<std::string_view> keys) {
  std::string first;
  for (const std::string_view key : keys) {
    if (find(key) == nullptr) continue;
    if (!first.empty()) {
      problem_at(key, "cannot stand beside " + first + "; give one of " + joined(keys));
      return first;
    }
    first = key;
  }
  return first;
}

std::optional<std::string> YamlReader::scalar(std::string_view what) {
  if (node_->kind == YamlNode::Kind::scalar) return node_->text;
  problem("expected " + std::string(what) + ", got " + gateway::described(*node_));
  return std::nullopt;
}

std::optional<std::int64_t> YamlReader::whole_number(std::int64_t min, std::int64_t max) {
  const std::optional<std::string> text = scalar("a whole number");
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (text->empty() || stop != end || error == std::errc::invalid_argument) {
    problem("expected a whole number, got '" + *text + "'");
    return std::nullopt;
  }
  if (error != std::errc{} || value < min || value > max) {
    problem("expected a whole number from " + std::to_string(min) + " to " + std::to_string(max) +
            ", got '" + *text + "'");
    return std::nullopt;
  }
  return value;
}

std::optional<std::size_t> YamlReader::choice(const std::vector<std::string>& choices) {
  std::string listed;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) listed += i + 1 == choices.size() ? " or " : ", ";
    listed += choices[i];
  }
  const std::optional<std::string> text = scalar(listed);
  if (!text) return std::nullopt;
  const auto found = std::find(choices.begin(), choices.end(), *text);
  if (found == choices.end()) {
    const std::string near = nearest(*text, choices);
    problem("expected " + listed + ", got '" + *text + "'" +
            (near.empty() ? "" : "; did you mean " + near + "?"));
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - choices.begin());
}

void YamlReader::defines(std::string_view kind, std::string_view name) {
  session_.defined[std::string(kind)].emplace_back(name);
}

void YamlReader::refers(std::string_view kind, std::string_view name) {
  session_.references.push_back({std::string(kind), std::string(name), path_, node_->place});
}

void YamlReader::problem(std::string text) {
  session_.problems.push_back({node_->place, path_, std::move(text)});
}

void YamlReader::problem_at(std::string_view key, std::string text) {
  const YamlNode* value = node_->find(key);
  session_.problems.push_back(
      {value == nullptr ? node_->place : value->place, path_of(key), std::move(text)});
}

void YamlReader::adopt(const std::vector<Problem>& problems) {
  session_.problems.insert(session_.problems.end(), problems.begin(), problems.end());
}

const YamlNode* YamlReader::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return expect(YamlNode::Kind::map) ? node_->find(key) : nullptr;
}

bool YamlReader::expect(YamlNode::Kind kind) {
  if (node_->kind == kind) return true;
  if (!wrong_kind_) {
    problem("expected " + std::string(described(kind)) + ", got " + gateway::described(*node_));
  }
  wrong_kind_ = true;
  return false;
}

bool YamlReader::accept(std::string_view key, std::string problem) {
  if (problem.empty()) return true;
  problem_at(key, std::move(problem));
  return false;
}

void YamlReader::report_missing(std::string_view key) {
  if (!wrong_kind_) problem_at(key, "is required");
}

std::string YamlReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

bool YamlReader::finish() {
  if (!takes_any_key_ && !known_.empty()) {
    for (const YamlEntry& entry : node_->entries) {
      if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
      session_.problems.push_back({entry.key_place, path_of(entry.key),
                                   "is not a known setting" + suggestion(entry.key, known_)});
    }
  }
  return clean();
}

Result<YamlDocument> YamlDocument::from_file(const std::string& path) {
  Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  return from_text(*text, path);
}

YamlDocument YamlDocument::from_text(std::string_view text, const std::string& source) {
  YamlDocument document;
  document.root_ = parse_yaml(text, source, document.session_.problems);
  return document;
}

YamlDocument YamlDocument::from_node(YamlNode root) {
  YamlDocument document;
  document.root_ = std::move(root);
  return document;
}

bool YamlDocument::readable() {
  if (root_.kind != YamlNode::Kind::nothing) return true;
  if (session_.problems.empty())
    session_.problems.push_back({root_.place, {}, "holds no settings"});
  return false;
}

void YamlDocument::resolve_references() {
  for (const YamlSession::Reference& reference : session_.references) {
    const auto defined = session_.defined.find(reference.kind);
    if (defined == session_.defined.end()) continue;
    const std::vector<std::string>& names = defined->second;
    if (std::find(names.begin(), names.end(), reference.name) != names.end()) continue;
    session_.problems.push_back({reference.place, reference.path,
                                 "there is no " + reference.kind + " '" + reference.name + "'" +
                                     suggestion(reference.name, names)});
  }
  session_.references.clear();
}

std::vector<Problem> YamlDocument::problems() const {
  std::vector<Problem> problems = session_.problems;
  put_in_order(problems);
  return problems;
}

void read_yaml(YamlReader& reader, bool& value) {
  const std::optional<std::string> text = reader.scalar("true or false");
  if (!text) return;
  if (*text != "true" && *text != "false") {
    reader.problem("expected true or false, got '" + *text + "'");
    return;
  }
  value = *text == "true";
}

void read_yaml(YamlReader& reader, double& value) {
  const std::optional<std::string> text = reader.scalar("a number");
  if (!text) return;
  const std::optional<double> number = decimal(*text);
  if (!number) {
    reader.problem("expected a number, got '" + *text + "'");
    return;
  }
  value = *number;
}

void read_yaml(YamlReader& reader, std::string& value) {
  if (std::optional<std::string> text = reader.scalar("a text")) value = std::move(*text);
}

void read_yaml(YamlReader& reader, Duration& value) {
  reader.parsed(value, "a duration such as 250ms or 2s", parse_duration);
}

void read_yaml(YamlReader& reader, Rate& value) {
  reader.parsed(value, "a rate such as 500/s or 30/m", parse_rate);
}

void read_yaml(YamlReader& reader, Address& value) {
  reader.parsed(value, "an address such as 127.0.0.1:8080 or [::1]:8080", parse_address);
}

void read_yaml(YamlReader& reader, Cause& value) {
  const std::optional<std::string> text = reader.scalar("a cause such as stale_reuse");
  if (!text) return;
  const std::optional<Cause> cause = cause_from_string(*text);
  if (!cause) {
    std::vector<std::string> names;
    for (int i = 0; i < kCauseCount; ++i)
      names.emplace_back(to_string(static_cast<Cause>(i)));
    const std::string near = nearest(*text, names);
    reader.problem("expected a cause such as stale_reuse, got '" + *text + "'" +
                   (near.empty() ? "" : "; did you mean " + near + "?"));
    return;
  }
  value = *cause;
}

void read_yaml(YamlReader& reader, NameId& value) {
  std::string name;
  read_yaml(reader, name);
  if (reader.clean()) value = intern(name);
}

namespace {

void read_uniform(YamlReader& reader, Distribution& value) {
  std::vector<Duration> ends;
  read_yaml(reader, ends);
  if (!reader.clean()) return;
  if (ends.size() != 2 || ends[1] < ends[0]) {
    reader.problem("expected the shortest and the longest duration, as in [1ms, 5ms]");
    return;
  }
  value = Distribution::uniform(ends[0], ends[1]);
}

void read_quantiles(YamlReader& reader, Distribution& value) {
  std::vector<std::pair<double, Duration>> points;
  reader.each_entry([&](const std::string& key, YamlReader& entry) {
    const std::optional<double> percent = decimal(key);
    if (!percent || *percent < 0 || *percent > 100) {
      entry.problem("expected a quantile from 0 to 100 before the colon, got '" + key + "'");
      return;
    }
    Duration duration{0};
    read_yaml(entry, duration);
    points.emplace_back(*percent / 100, duration);
  });
  if (!reader.clean()) return;
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool ascending =
      std::is_sorted(points.begin(), points.end(),
                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (points.empty() || !ascending) {
    reader.problem(points.empty() ? "must not be empty" : "a higher quantile cannot be shorter");
    return;
  }
  value = Distribution::quantiles(std::move(points));
}

void read_log_normal(YamlReader& reader, Distribution& value) {
  Duration p50{0};
  Duration p99{0};
  const bool has_p50 = reader.required("p50", p50, positive);
  const bool has_p99 = reader.required("p99", p99, positive);
  if (!has_p50 || !has_p99) return;
  if (p99 < p50) {
    reader.problem_at("p99", "cannot be shorter than p50 (" + to_text(p50) + ")");
    return;
  }
  value = Distribution::log_normal(p50, p99);
}

}  // namespace

void read_yaml(YamlReader& reader, Distribution& value) {
  constexpr std::string_view kWhat =
      "a duration such as 40ms, or {p50: 40ms, p99: 80ms}, {uniform: [1ms, 5ms]} or "
      "{quantiles: {50: 40ms, 99: 80ms}}";
  if (!reader.is_map()) {
    Duration duration{0};
    if (reader.parsed(duration, kWhat, parse_duration)) value = Distribution::fixed(duration);
    return;
  }
  const std::string form = reader.at_most_one_of({"p50", "uniform", "quantiles"});
  if (!reader.clean()) {
    static_cast<void>(reader.has("p99"));  // known, and not missed
  } else if (form == "uniform") {
    reader.required("uniform", [&](YamlReader& ends) { read_uniform(ends, value); });
  } else if (form == "quantiles") {
    reader.required("quantiles", [&](YamlReader& table) { read_quantiles(table, value); });
  } else {
    read_log_normal(reader, value);
  }
}

namespace detail {

void read_size(YamlReader& reader, std::uint64_t& value, std::uint64_t max) {
  std::uint64_t bytes = 0;
  if (!reader.parsed(bytes, "a size such as 64KiB or 10MB", parse_size)) return;
  if (bytes > max) {
    reader.problem("must be at most " + size_text(max) + ", got " + size_text(bytes));
    return;
  }
  value = bytes;
}

void read_percent(YamlReader& reader, double& value) {
  reader.parsed(value, "a percentage such as 5%", parse_percent);
}

void read_whole_percent(YamlReader& reader, int& value) {
  double ratio = 0;
  read_percent(reader, ratio);
  if (!reader.clean()) return;
  const double percent = std::round(ratio * 100);
  if (std::abs(percent - ratio * 100) > 1e-9) {
    reader.problem("expected a whole percentage such as 5%, got '" + reader.node().text + "'");
    return;
  }
  value = static_cast<int>(percent);
}

void read_path(YamlReader& reader, std::string& value) {
  std::string name;
  read_yaml(reader, name);
  if (!reader.clean()) return;
  if (name.empty()) {
    reader.problem("must not be empty");
    return;
  }
  // A place without a line is an option, not a file.
  const std::filesystem::path folder =
      reader.place().line == 0
          ? std::filesystem::path{}
          : std::filesystem::path(name_of(reader.place().source)).parent_path();
  value = (folder / name).lexically_normal().string();
}

std::string shown(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), error == std::errc{} ? end : text.data()};
}

}  // namespace detail
}  // namespace gatedrill::gateway
