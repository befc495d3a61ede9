#include "scenarios/origin/origin_config.hpp"

#include "scenarios/spec/origin_reader.hpp"

namespace gatedrill::scenarios {
namespace {

using gateway::YamlReader;

void read_listen(YamlReader& reader, std::size_t instances, gateway::Address& listen) {
  read_yaml(reader, listen);
  if (!reader.clean()) return;
  if (!gateway::is_ip_address(listen.host) || listen.host.find(':') != std::string::npos) {
    reader.problem("expected an IPv4 address and a port such as 127.0.0.1:9001, got '" +
                   to_text(listen) + "'");
  } else if (listen.port != 0 && listen.port + instances - 1 > 65535) {
    reader.problem("leaves no ports for " + std::to_string(instances) + " instances");
  }
}

}  // namespace

void read_yaml(YamlReader& reader, OriginFile& file) {
  reader.optional("seed", file.seed);
  reader.optional("recording", gateway::as_path(file.recording));
  reader.optional("dependencies", [&](YamlReader& all) {
    all.each_entry([&](const std::string& name, YamlReader& one) {
      one.defines("dependency", name);
      read_dependency(one, file.world.dependencies[name]);
    });
  });
  reader.required("origins", [&](YamlReader& all) {
    all.each_entry([&](const std::string& name, YamlReader& one) {
      OriginSpec& spec = file.world.origins[name];
      read_origin(one, spec);
      one.required("listen", [&](YamlReader& listen) {
        read_listen(listen, spec.instances, file.listen[name]);
      });
      if (spec.answers.from_recording && file.recording.empty()) {
        one.problem_at("answers", "needs the setting recording, a traffic.db");
      }
    });
    if (all.clean() && file.world.origins.empty()) all.problem("must have one origin at least");
  });
}

gateway::FileKind origin_file_kind() {
  gateway::FileKind kind;
  kind.name = "origins";
  kind.recognises = [](const gateway::YamlNode& root) {
    return root.find("origins") != nullptr && root.find("gateway") == nullptr &&
           root.find("variants") == nullptr;
  };
  kind.check = [](const std::string& path,
                  const std::vector<std::string>& assignments) -> Result<gateway::Checked> {
    Result<gateway::YamlDocument> document = gateway::YamlDocument::from_file(path);
    if (!document) return document.error();
    for (const std::string& assignment : assignments)
      document->set(assignment);
    OriginFile file;
    document->read(file);
    gateway::Checked checked;
    checked.problems = document->problems();
    checked.summary = "origins: " + std::to_string(file.world.origins.size()) +
                      ", dependencies: " + std::to_string(file.world.dependencies.size());
    return checked;
  };
  return kind;
}

}  // namespace gatedrill::scenarios
