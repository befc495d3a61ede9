#include "gateway/config/yaml_tree.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <tuple>

#include <yaml-cpp/yaml.h>

namespace gatedrill::gateway {
namespace {

// Aliases can make a small text a huge tree ("a billion laughs"), or one without an end.
constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 200'000;

std::string child_path(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Copies yaml-cpp's nodes into ours.
class Copier {
 public:
  Copier(NameId source, std::vector<Problem>& problems) : source_(source), problems_(problems) {}

  YamlNode copy(const YAML::Node& from, const std::string& path, int depth) {
    YamlNode node;
    node.place = place_of(from.Mark());
    if (depth > kMaxDepth || ++count_ > kMaxNodes) {
      if (!gave_up_) {
        problems_.push_back({node.place, path,
                             depth > kMaxDepth ? "is nested too deeply" : "holds too many values"});
      }
      gave_up_ = true;
      return node;
    }
    if (from.IsScalar()) {
      node.kind = YamlNode::Kind::scalar;
      node.text = from.Scalar();
    } else if (from.IsSequence()) {
      node.kind = YamlNode::Kind::list;
      for (const YAML::Node& item : from) {
        if (gave_up_) break;
        const std::string item_path = path + "[" + std::to_string(node.items.size()) + "]";
        node.items.push_back(copy(item, item_path, depth + 1));
      }
    } else if (from.IsMap()) {
      node.kind = YamlNode::Kind::map;
      copy_entries(from, path, depth, node);
    }
    return node;
  }

 private:
  [[nodiscard]] Place place_of(const YAML::Mark& mark) const {
    return mark.is_null() ? Place{source_, 1, 1} : Place{source_, mark.line + 1, mark.column + 1};
  }

  void copy_entries(const YAML::Node& from, const std::string& path, int depth, YamlNode& node) {
    std::vector<YamlNode> merged;
    for (const auto& entry : from) {
      const YAML::Node& key = entry.first;
      const YAML::Node& value = entry.second;
      if (gave_up_) return;
      const Place key_place = place_of(key.Mark());
      if (!key.IsScalar()) {
        problems_.push_back({key_place, path, "has a key that is not plain text"});
        continue;
      }
      const std::string& name = key.Scalar();
      if (name == "<<") {
        merged.push_back(copy(value, path, depth + 1));
      } else if (node.find(name) != nullptr) {
        problems_.push_back({key_place, child_path(path, name), "is set twice"});
      } else {
        YamlNode child = copy(value, child_path(path, name), depth + 1);
        // yaml-cpp places an absent value at whatever follows it.
        if (child.kind == YamlNode::Kind::nothing) child.place = key_place;
        node.entries.push_back({name, key_place, std::move(child)});
      }
    }
    for (const YamlNode& base : merged)
      merge_missing(base, path, node);
  }

  // What is written here wins over what is merged, and the first merged over the next.
  void merge_missing(const YamlNode& base, const std::string& path, YamlNode& node) {
    if (base.kind == YamlNode::Kind::list) {
      for (const YamlNode& item : base.items)
        merge_missing(item, path, node);
    } else if (base.kind == YamlNode::Kind::map) {
      for (const YamlEntry& entry : base.entries) {
        if (node.find(entry.key) == nullptr) node.entries.push_back(entry);
      }
    } else {
      problems_.push_back(
          {base.place, path, "merges (<<) " + described(base) + "; only mappings can be merged"});
    }
  }

  NameId source_;
  std::vector<Problem>& problems_;
  int count_ = 0;
  bool gave_up_ = false;
};

// One step of a path as written for set_value.
struct Step {
  std::string key;                   // or
  std::optional<std::size_t> index;  // in brackets
};

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// Nothing if the path is not well formed.
std::optional<std::vector<Step>> split_path(std::string_view path) {
  std::vector<Step> steps;
  while (true) {
    Step step;
    if (path.starts_with('"')) {
      const std::size_t close = path.find('"', 1);
      if (close == std::string_view::npos) return std::nullopt;
      step.key = path.substr(1, close - 1);
      path.remove_prefix(close + 1);
    } else {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      step.key = path.substr(0, end);
      path.remove_prefix(end);
    }
    if (step.key.empty()) return std::nullopt;
    steps.push_back(std::move(step));
    while (path.starts_with('[')) {
      const std::size_t close = path.find(']');
      if (close == std::string_view::npos) return std::nullopt;
      const std::optional<std::size_t> index = whole_number(path.substr(1, close - 1));
      if (!index) return std::nullopt;
      steps.push_back({{}, index});
      path.remove_prefix(close + 1);
    }
    if (path.empty()) return steps;
    if (path.front() != '.') return std::nullopt;
    path.remove_prefix(1);
  }
}

std::string counted_entries(std::size_t count) {
  return count == 1 ? "1 entry" : std::to_string(count) + " entries";
}

// The item of a list that a step means; null after reporting why there is none.
YamlNode* step_into_list(YamlNode& list,
                         const Step& step,
                         const std::string& path,
                         Place place,
                         std::vector<Problem>& problems) {
  const std::optional<std::size_t> index = step.index ? step.index : whole_number(step.key);
  if (index) {
    if (*index < list.items.size()) return &list.items[*index];
    problems.push_back({place, path + "[" + std::to_string(*index) + "]",
                        "does not exist; the list has " + counted_entries(list.items.size()) +
                            ", counted from 0"});
    return nullptr;
  }
  for (YamlNode& item : list.items) {
    const YamlNode* name = item.kind == YamlNode::Kind::map ? item.find("name") : nullptr;
    if (name != nullptr && name->text == step.key) return &item;
  }
  problems.push_back(
      {place, child_path(path, step.key), "does not exist; no entry of the list has this name"});
  return nullptr;
}

}  // namespace

std::string to_string(const Problem& problem) {
  std::string text(name_of(problem.place.source));
  if (problem.place.line > 0) {
    text += ":" + std::to_string(problem.place.line) + ":" + std::to_string(problem.place.column);
  }
  text += ": ";
  if (!problem.path.empty()) text += problem.path + ": ";
  text += problem.text;
  // Texts quote the file, which may hold anything; a terminal gets no control characters of it.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, '?');
  return text;
}

std::string to_string(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += to_string(problem);
  }
  return text;
}

void put_in_order(std::vector<Problem>& problems) {
  std::vector<NameId> sources;
  for (const Problem& problem : problems) {
    if (std::find(sources.begin(), sources.end(), problem.place.source) == sources.end()) {
      sources.push_back(problem.place.source);
    }
  }
  const auto rank = [&](const Problem& problem) {
    return std::tuple{std::find(sources.begin(), sources.end(), problem.place.source),
                      problem.place.line, problem.place.column};
  };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](const Problem& a, const Problem& b) { return rank(a) < rank(b); });
  std::set<std::tuple<std::uint32_t, int, int, std::string>> seen;
  std::erase_if(problems, [&](const Problem& problem) {
    const Place& place = problem.place;
    return !seen.emplace(place.source.value, place.line, place.column, problem.text).second;
  });
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

YamlNode* YamlNode::find(std::string_view key) {
  return const_cast<YamlNode*>(std::as_const(*this).find(key));
}

std::string described(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::nothing:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "'" + node.text + "'";
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a mapping";
  }
  return {};
}

Result<std::string> read_text_file(const std::string& path) {
  constexpr std::uintmax_t kLargest = 16 * 1024 * 1024;
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return outside_error(path + ": there is no such file");
  }
  if (status.type() == std::filesystem::file_type::directory) {
    return outside_error(path + ": is a directory; name the file inside it");
  }
  std::ifstream file(path, std::ios::binary);
  if (error || !file) return outside_error(path + ": may not be read; check its permissions");
  std::string text;
  std::vector<char> chunk(64 * 1024);
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || file.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kLargest) {
      return outside_error(path + ": is larger than 16MiB; this is not a configuration");
    }
  }
  return text;
}

YamlNode parse_yaml(std::string_view text,
                    const std::string& source,
                    std::vector<Problem>& problems) {
  const NameId source_id = intern(source);
  YamlNode nothing;
  nothing.place = {source_id, 1, 1};
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty()) return nothing;
    Copier copier(source_id, problems);
    YamlNode root = copier.copy(documents[0], {}, 0);
    if (documents.size() > 1) {
      const YAML::Mark mark = documents[1].Mark();
      problems.push_back({{source_id, mark.line + 1, mark.column + 1},
                          {},
                          "a second document begins here; write one document a file"});
    }
    return root;
  } catch (const YAML::Exception& e) {
    const bool known = !e.mark.is_null();
    problems.push_back({{source_id, known ? e.mark.line + 1 : 1, known ? e.mark.column + 1 : 1},
                        {},
                        "is not valid YAML: " + e.msg});
  }
  return nothing;
}

void set_value(YamlNode& root,
               std::string_view path,
               YamlNode value,
               std::vector<Problem>& problems) {
  const Place place = value.place;
  const std::optional<std::vector<Step>> steps = split_path(path);
  if (!steps) {
    problems.push_back({place, std::string(path),
                        "is not a path to a setting such as routes[0].timeouts.response"});
    return;
  }
  YamlNode* node = &root;
  std::string walked;
  for (const Step& step : *steps) {
    if (node->kind == YamlNode::Kind::list) {
      node = step_into_list(*node, step, walked, place, problems);
      if (node == nullptr) return;
    } else if (step.index || node->kind == YamlNode::Kind::scalar) {
      problems.push_back({place, walked, step.index ? "is not a list" : "has no settings inside"});
      return;
    } else {
      if (node->kind == YamlNode::Kind::nothing) {
        node->kind = YamlNode::Kind::map;
        node->place = place;
      }
      YamlNode* child = node->find(step.key);
      if (child == nullptr) {
        YamlNode fresh;
        fresh.place = place;
        child = &node->entries.emplace_back(YamlEntry{step.key, place, std::move(fresh)}).value;
      }
      node = child;
    }
    walked = step.index ? walked + "[" + std::to_string(*step.index) + "]"
                        : child_path(walked, step.key);
  }
  *node = std::move(value);
}

void set_value(YamlNode& root, std::string_view assignment, std::vector<Problem>& problems) {
  const std::string source = "--set " + std::string(assignment);
  const Place place{intern(source), 0, 0};
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    problems.push_back({place, {}, "expected key.path=value"});
    return;
  }
  std::vector<Problem> syntax;
  YamlNode value = parse_yaml(assignment.substr(equals + 1), source, syntax);
  for (Problem& problem : syntax) {
    problem.place = place;
    problems.push_back(std::move(problem));
  }
  if (!syntax.empty()) return;
  const auto forget_lines = [&](auto& self, YamlNode& node) -> void {
    node.place = place;
    for (YamlNode& item : node.items)
      self(self, item);
    for (YamlEntry& entry : node.entries) {
      entry.key_place = place;
      self(self, entry.value);
    }
  };
  forget_lines(forget_lines, value);
  set_value(root, assignment.substr(0, equals), std::move(value), problems);
}

void lay_over(YamlNode& under, const YamlNode& over) {
  if (under.kind != YamlNode::Kind::map || over.kind != YamlNode::Kind::map) {
    under = over;
    return;
  }
  for (const YamlEntry& entry : over.entries) {
    if (YamlNode* existing = under.find(entry.key)) {
      lay_over(*existing, entry.value);
    } else {
      under.entries.push_back(entry);
    }
  }
}

}  // namespace gatedrill::gateway
