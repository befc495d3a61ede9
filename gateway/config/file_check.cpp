#include "gateway/config/file_check.hpp"

#include <algorithm>
#include <cassert>

#include "gateway/config/gateway_config_reader.hpp"

namespace gatedrill::gateway {

FileKind gateway_file_kind() {
  const auto recognises = [](const YamlNode& root) {
    return root.find("upstreams") != nullptr && root.find("routes") != nullptr;
  };
  const auto check = [](const std::string& path,
                        const std::vector<std::string>& assignments) -> Result<Checked> {
    Result<YamlDocument> document = YamlDocument::from_file(path);
    if (!document) return document.error();
    for (const std::string& assignment : assignments)
      document->set(assignment);
    GatewayConfig config;
    document->read(config);
    Checked checked;
    checked.problems = document->problems();
    if (!checked.problems.empty()) return checked;
    checked.summary = summary(config);
    checked.explanation = explanation(config);
    return checked;
  };
  return {"gateway configuration", recognises, check};
}

Result<Checked> check_file(const std::string& path,
                           const std::vector<FileKind>& kinds,
                           const std::vector<std::string>& assignments) {
  assert(!kinds.empty());
  Result<YamlDocument> document = YamlDocument::from_file(path);
  if (!document) return document.error();
  for (const std::string& assignment : assignments)
    document->set(assignment);
  auto kind = std::find_if(kinds.begin(), kinds.end(),
                           [&](const FileKind& each) { return each.recognises(document->root()); });
  if (kind == kinds.end()) kind = kinds.begin();
  return kind->check(path, assignments);
}

}  // namespace gatedrill::gateway
