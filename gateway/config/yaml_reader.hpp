// Reads plain structs from YAML and gathers every problem with its place:
//
//   struct RetryConfig { int max_attempts = 2; Duration timeout = 5s; };
//
//   void read_yaml(YamlReader& reader, RetryConfig& config) {
//     reader.optional("max_attempts", config.max_attempts, at_least(1));
//     reader.optional("timeout", config.timeout);
//   }
//
//   Result<YamlDocument> document = YamlDocument::from_file(path);
//   if (!document) return document.error();
//   GatewayConfig config;
//   document->read(config);
//   if (!document->problems().empty()) ...
//
// `read_yaml(YamlReader&, T&)` is one free function beside each struct (found by argument, whatever
// namespace the struct is in). It reads over the values that are there: defaults live in the
// struct, and a variant is read over its base. A value that cannot be read stays as it was; the
// reader reports it once, without follow-ups for what is inside it, and goes on.
//
// What is not asked for by `required`, `optional` or `has` is reported as unknown, with a
// suggestion.
//
// Values read by themselves: bool, whole and decimal numbers, std::string, Duration, Rate, Address,
// Distribution, Cause, NameId, std::optional, std::vector, std::map by name, and a lambda
// `[&](YamlReader& child) {...}` for what has no struct. A field whose type does not say its
// spelling is wrapped: as_size(bytes), as_percent(ratio), as_path(file), one_of(mode, {Mode::any,
// Mode::all}), refers_to("upstream", name).
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gateway/config/units.hpp"
#include "gateway/config/yaml_tree.hpp"
#include "gateway/core/cause.hpp"
#include "gateway/core/distribution.hpp"
#include "gateway/core/names.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

class YamlReader;

// What the readers of one document share.
struct YamlSession {
  struct Reference {
    std::string kind, name, path;
    Place place;
  };

  std::vector<Problem> problems;
  std::map<std::string, std::vector<std::string>> defined;  // kind → names
  std::vector<Reference> references;
};

// A field with a spelling of its own: see as_size and its kin below.
template <class T>
struct YamlField {
  T& target;
  std::function<void(YamlReader&, T&)> read;
};

// One node of the document. Lives only while its value is read.
class YamlReader {
 public:
  // ---- A mapping, by key. True if the key is there and its value was read without a problem.

  template <class T>
  bool required(std::string_view key, T&& value) {
    const YamlNode* node = find(key);
    if (node == nullptr) report_missing(key);
    return node != nullptr && read_child(*node, path_of(key), value);
  }

  template <class T>
  bool optional(std::string_view key, T&& value) {
    const YamlNode* node = find(key);
    return node != nullptr && read_child(*node, path_of(key), value);
  }

  // With a check of the value read: what is wrong with it as the rest of a sentence, or "".
  template <class T, class Check>
  bool required(std::string_view key, T&& value, const Check& check) {
    return required(key, std::forward<T>(value)) && accept(key, check(target_of(value)));
  }

  template <class T, class Check>
  bool optional(std::string_view key, T&& value, const Check& check) {
    return optional(key, std::forward<T>(value)) && accept(key, check(target_of(value)));
  }

  [[nodiscard]] bool has(std::string_view key);
  // Of settings that exclude each other; reports none or several. The one that is there, or "".
  std::string exactly_one_of(std::initializer_list<std::string_view> keys);
  std::string at_most_one_of(std::initializer_list<std::string_view> keys);

  // ---- The shape and the values of this node.

  [[nodiscard]] bool is_scalar() const { return node_->kind == YamlNode::Kind::scalar; }

  [[nodiscard]] bool is_list() const { return node_->kind == YamlNode::Kind::list; }

  [[nodiscard]] bool is_map() const { return node_->kind == YamlNode::Kind::map; }

  // The text of a scalar; otherwise reports "expected `what`, got a list".
  std::optional<std::string> scalar(std::string_view what);

  // Parses the scalar with a function such as parse_duration; reports its message.
  template <class T>
  bool parsed(T& value, std::string_view what, Result<T> (*parse)(std::string_view)) {
    const std::optional<std::string> text = scalar(what);
    if (!text) return false;
    Result<T> result = parse(*text);
    if (!result) {
      problem(result.error().message);
      return false;
    }
    value = std::move(result.value());
    return true;
  }

  std::optional<std::int64_t> whole_number(std::int64_t min, std::int64_t max);
  // The position among `choices` of the scalar.
  std::optional<std::size_t> choice(const std::vector<std::string>& choices);

  // Each item of a list, each entry of a mapping by its name.
  template <class Read>
  void each_item(const Read& read_item) {
    if (!expect(YamlNode::Kind::list)) return;
    for (std::size_t i = 0; i < node_->items.size(); ++i) {
      read_child(node_->items[i], path_ + "[" + std::to_string(i) + "]", read_item);
    }
  }

  template <class Read>
  void each_entry(const Read& read_entry) {
    if (!expect(YamlNode::Kind::map)) return;
    takes_any_key_ = true;
    for (const YamlEntry& entry : node_->entries) {
      read_child(entry.value, path_of(entry.key),
                 [&](YamlReader& reader) { read_entry(entry.key, reader); });
    }
  }

  // ---- Names that refer to each other: an unknown one is reported where it is used, once all of
  // the document has been read. Nothing is reported for a kind of which no name was defined.

  void defines(std::string_view kind, std::string_view name);
  void refers(std::string_view kind, std::string_view name);

  // ---- Problems and places.

  // At this node, or at the value of a key of it (at this node if it is absent).
  void problem(std::string text);
  void problem_at(std::string_view key, std::string text);
  // Problems found elsewhere, in a file that this one names.
  void adopt(const std::vector<Problem>& problems);

  // Nothing was reported about this node or what is inside it.
  [[nodiscard]] bool clean() const { return session_.problems.size() == problems_before_; }

  [[nodiscard]] const Place& place() const { return node_->place; }

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] const YamlNode& node() const { return *node_; }

 private:
  friend class YamlDocument;

  YamlReader(YamlSession& session, const YamlNode& node, std::string path)
      : session_(session),
        node_(&node),
        path_(std::move(path)),
        problems_before_(session.problems.size()) {}

  template <class T>
  bool read_child(const YamlNode& node, std::string path, T&& value) {
    YamlReader child(session_, node, std::move(path));
    child.read(value);
    return child.finish();
  }

  template <class T>
  void read(T& value) {
    if constexpr (std::invocable<T&, YamlReader&>) {
      value(*this);
    } else {
      read_yaml(*this, value);
    }
  }

  template <class T>
  static const T& target_of(const T& value) {
    return value;
  }

  template <class T>
  static const T& target_of(const YamlField<T>& field) {
    return field.target;
  }

  // The value of a key, which is known from now on. Null if absent or if this is no mapping.
  const YamlNode* find(std::string_view key);
  // Reports once if this node is of another kind.
  bool expect(YamlNode::Kind kind);
  bool accept(std::string_view key, std::string problem);
  void report_missing(std::string_view key);
  [[nodiscard]] std::string path_of(std::string_view key) const;
  // Reports unknown keys.
  bool finish();

  YamlSession& session_;
  const YamlNode* node_;
  std::string path_;
  std::size_t problems_before_;
  std::vector<std::string> known_;
  bool takes_any_key_ = false;
  bool wrong_kind_ = false;
};

// A document, from its text to a struct.
class YamlDocument {
 public:
  // ErrorCode::outside if the file cannot be read; bad syntax is a problem of the document.
  [[nodiscard]] static Result<YamlDocument> from_file(const std::string& path);
  [[nodiscard]] static YamlDocument from_text(std::string_view text, const std::string& source);
  // A part of another document; its places stay what they are.
  [[nodiscard]] static YamlDocument from_node(YamlNode root);

  // Overrides before reading: see yaml_tree.hpp.
  void set(std::string_view assignment) { set_value(root_, assignment, session_.problems); }

  void set(std::string_view path, YamlNode value) {
    set_value(root_, path, std::move(value), session_.problems);
  }

  void overlay(const YamlNode& over) { lay_over(root_, over); }

  template <class T>
  void read(T&& value) {
    if (!readable()) return;
    YamlReader reader(session_, root_, {});
    reader.read(value);
    reader.finish();
    resolve_references();
  }

  // In the order of the text.
  [[nodiscard]] std::vector<Problem> problems() const;

  [[nodiscard]] const YamlNode& root() const { return root_; }

 private:
  // Not after bad syntax, nor if there is nothing, which is reported.
  bool readable();
  void resolve_references();

  YamlNode root_;
  YamlSession session_;
};

// All of it: the value, or every problem in one error (ErrorCode::usage), one a line.
template <class T>
[[nodiscard]] Result<T> load_yaml(const std::string& path,
                                  const std::vector<std::string>& assignments = {}) {
  Result<YamlDocument> document = YamlDocument::from_file(path);
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    document->set(assignment);
  T value;
  document->read(value);
  const std::vector<Problem> problems = document->problems();
  if (!problems.empty()) return usage_error(to_string(problems));
  return value;
}

// ---- Readers of plain values.

void read_yaml(YamlReader& reader, bool& value);
void read_yaml(YamlReader& reader, double& value);
void read_yaml(YamlReader& reader, std::string& value);
void read_yaml(YamlReader& reader, Duration& value);
void read_yaml(YamlReader& reader, Rate& value);
void read_yaml(YamlReader& reader, Address& value);
void read_yaml(YamlReader& reader, Cause& value);
void read_yaml(YamlReader& reader, NameId& value);
// `40ms` | {p50: 40ms, p99: 80ms} | {uniform: [1ms, 5ms]} | {quantiles: {50: 900ms, 99: 8s}}
void read_yaml(YamlReader& reader, Distribution& value);

template <std::integral T>

requires(!std::same_as<T, bool>) void read_yaml(YamlReader& reader, T& value) {
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin =
      std::is_signed_v<T> ? std::int64_t{std::numeric_limits<T>::min()} : 0;
  constexpr std::int64_t kMax = std::cmp_greater(std::numeric_limits<T>::max(), kLargest)
                                    ? kLargest
                                    : static_cast<std::int64_t>(std::numeric_limits<T>::max());
  if (const auto number = reader.whole_number(kMin, kMax)) value = static_cast<T>(*number);
}

template <class T>
void read_yaml(YamlReader& reader, std::optional<T>& value) {
  T read = value.value_or(T{});
  read_yaml(reader, read);
  if (reader.clean()) value = std::move(read);
}

// A list is read anew; nothing of what it held is kept.
template <class T>
void read_yaml(YamlReader& reader, std::vector<T>& values) {
  std::vector<T> read;
  reader.each_item([&](YamlReader& item) { read_yaml(item, read.emplace_back()); });
  if (reader.is_list()) values = std::move(read);
}

// Entries are read over those of the same name; others stay.
template <class T>
void read_yaml(YamlReader& reader, std::map<std::string, T>& values) {
  reader.each_entry(
      [&](const std::string& name, YamlReader& entry) { read_yaml(entry, values[name]); });
}

template <class T>
void read_yaml(YamlReader& reader, const YamlField<T>& field) {
  field.read(reader, field.target);
}

// ---- Fields with a spelling of their own.

namespace detail {
void read_size(YamlReader& reader, std::uint64_t& value, std::uint64_t max);
void read_percent(YamlReader& reader, double& value);
void read_whole_percent(YamlReader& reader, int& value);
void read_path(YamlReader& reader, std::string& value);
}  // namespace detail

// 64KiB
template <std::integral T>
YamlField<T> as_size(T& bytes) {
  return {bytes, [](YamlReader& reader, T& value) {
            auto read = static_cast<std::uint64_t>(value);
            detail::read_size(reader, read, std::uint64_t{std::numeric_limits<T>::max()});
            value = static_cast<T>(read);
          }};
}

// 5%, as 0.05
inline YamlField<double> as_percent(double& ratio) {
  return {ratio, detail::read_percent};
}

// 5%, as 5
inline YamlField<int> as_percent(int& percent) {
  return {percent, detail::read_whole_percent};
}

// A file, named from the folder of the file that names it (an option's value: from where one is).
inline YamlField<std::string> as_path(std::string& path) {
  return {path, detail::read_path};
}

// An enumerator by its to_string().
template <class E>

requires std::is_enum_v<E> YamlField<E> one_of(E& value, std::vector<E> choices) {
  return {value, [choices = std::move(choices)](YamlReader& reader, E& read) {
            std::vector<std::string> names;
            for (const E choice : choices)
              names.emplace_back(to_string(choice));
            if (const auto chosen = reader.choice(names)) read = choices[*chosen];
          }};
}

// A name that something else in the document `defines`.
inline YamlField<std::string> refers_to(std::string kind, std::string& name) {
  return {name, [kind = std::move(kind)](YamlReader& reader, std::string& value) {
            read_yaml(reader, value);
            if (reader.clean()) reader.refers(kind, value);
          }};
}

// ---- Checks.

namespace detail {
std::string shown(double number);

inline std::string shown(Duration duration) {
  return to_text(duration);
}

template <std::integral T>
std::string shown(T number) {
  return std::to_string(number);
}
}  // namespace detail

template <class T>
auto at_least(T min) {
  return [min](const auto& value) -> std::string {
    if (!(value < min)) return {};
    return "must be at least " + detail::shown(min) + ", got " + detail::shown(value);
  };
}

template <class T>
auto between(T min, T max) {
  return [min, max](const auto& value) -> std::string {
    if (!(value < min) && !(max < value)) return {};
    return "must be from " + detail::shown(min) + " to " + detail::shown(max) + ", got " +
           detail::shown(value);
  };
}

inline constexpr auto positive = [](const auto& value) -> std::string {
  if (std::remove_cvref_t<decltype(value)>{} < value) return {};
  return "must be more than 0";
};

inline constexpr auto not_empty = [](const auto& value) -> std::string {
  return value.empty() ? "must not be empty" : "";
};

inline constexpr auto starts_with_slash = [](const std::string& path) -> std::string {
  return path.starts_with('/') ? "" : "must begin with /, got '" + path + "'";
};

}  // namespace gatedrill::gateway
