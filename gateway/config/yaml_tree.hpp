// A YAML document as plain values, every one with its place: what yaml-cpp parsed, with the faults
// that it lets pass (repeated keys, further documents) found. Only yaml_tree.cpp knows yaml-cpp.
//
// Aliases are expanded and merge keys (`<<: *base`) merged, so readers never meet them. Values may
// be set by path and whole trees laid over another before anything is read; each value keeps the
// place that it came from, so a problem points at the file, or at the option, that is to be
// changed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/core/names.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

// Where a value was written. Lines and columns count from 1; line 0 is the source as a whole, as
// for the value of a command line option.
struct Place {
  NameId source;  // the file as the user named it, or "--set key=value"
  int line = 0;
  int column = 0;
  bool operator==(const Place&) const = default;
};

// One thing that the user has to change.
struct Problem {
  Place place;
  std::string path;  // routes[0].timeout; empty for the document itself
  std::string text;  // "is set twice"
  bool operator==(const Problem&) const = default;
};

// "demo.yaml:4:19: routes[0].max_attempts: expected a whole number, got 'many'"
[[nodiscard]] std::string to_string(const Problem& problem);
// One a line, without a newline at the end.
[[nodiscard]] std::string to_string(const std::vector<Problem>& problems);
// By source (in order of first mention), line and column; the same problem only once.
void put_in_order(std::vector<Problem>& problems);

struct YamlEntry;

struct YamlNode {
  enum class Kind { nothing, scalar, list, map };
  Kind kind = Kind::nothing;
  Place place;
  std::string text;                // of a scalar
  std::vector<YamlNode> items;     // of a list
  std::vector<YamlEntry> entries;  // of a map, in order, no key twice

  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  [[nodiscard]] YamlNode* find(std::string_view key);
};

struct YamlEntry {
  std::string key;
  Place key_place;
  YamlNode value;
};

// "'many'", "a list", "a mapping" or "nothing": how a problem speaks of a value.
[[nodiscard]] std::string described(const YamlNode& node);

// The whole text of a file. ErrorCode::outside if there is none, it is a directory, may not be read
// or is larger than any configuration (16 MiB).
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// `source` is what places name. On bad syntax the result is `nothing`, and a problem says why.
[[nodiscard]] YamlNode parse_yaml(std::string_view text,
                                  const std::string& source,
                                  std::vector<Problem>& problems);

// Sets the value at `path`, making the mappings on the way. Steps are separated by dots; a step
// into a list is a number, `routes[0]`, or the `name` of an item, `routes.checkout`; a key with
// dots in it is quoted, `upstreams."shop.v2".pool`. Problems stand at the value's place.
void set_value(YamlNode& root,
               std::string_view path,
               YamlNode value,
               std::vector<Problem>& problems);

// The same from a command line: "routes[0].timeouts.response=5s"; the value is YAML.
void set_value(YamlNode& root, std::string_view assignment, std::vector<Problem>& problems);

// Lays `over` over `under`: mappings are merged key by key, all else is replaced.
void lay_over(YamlNode& under, const YamlNode& over);

}  // namespace gatedrill::gateway
