// What is wrong with a file, or what was understood of it, for every kind of file that gatedrill
// reads. A folder that has files of its own gives a FileKind for them; main gathers the kinds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gateway/config/yaml_reader.hpp"
#include "gateway/core/result.hpp"

namespace gatedrill::gateway {

struct Checked {
  std::vector<Problem> problems;
  std::string summary;      // one line, of a file without problems
  std::string explanation;  // what holds and why, over several lines; may be empty
};

struct FileKind {
  std::string name;  // "gateway configuration"
  // Whether a document is of this kind, by its top-level keys.
  std::function<bool(const YamlNode& root)> recognises;
  // ErrorCode::outside if it, or a file that it names, cannot be read.
  std::function<Result<Checked>(const std::string& path,
                                const std::vector<std::string>& assignments)>
      check;
};

[[nodiscard]] FileKind gateway_file_kind();

// The file as the first kind that recognises it; as the first of all if none does. At least one
// kind. ErrorCode::outside if it cannot be read.
[[nodiscard]] Result<Checked> check_file(const std::string& path,
                                         const std::vector<FileKind>& kinds,
                                         const std::vector<std::string>& assignments = {});

}  // namespace gatedrill::gateway
