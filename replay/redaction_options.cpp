#include "replay/redaction_options.hpp"

#include <utility>

#include <CLI/CLI.hpp>

#include "replay/redact/pseudonyms.hpp"

namespace gatedrill::replay {

namespace {

// `--redact-field= --next` would take the next option for the name.
std::string check_name(const std::string& name) {
  if (!name.empty() && !name.starts_with('-')) return {};
  return "needs a name, got '" + name + "'";
}

}  // namespace

void add_redaction_options(CLI::App& command, gateway::RedactionConfig& redaction) {
  constexpr const char* kGroup = "Secrets";
  command
      .add_flag(
          "--keep-secrets", redaction.keep_secrets,
          "Write everything as it is: passwords, cookies, tokens, card and phone numbers. For "
          "a replay that must log in as the recorded users did")
      ->group(kGroup);
  command
      .add_option("--redact-field", redaction.fields,
                  "Hide this header field too; may be repeated, as the next three")
      ->type_name("NAME")
      ->check(check_name)
      ->group(kGroup);
  command
      .add_option("--redact-param", redaction.params,
                  "Hide this parameter of queries and forms too")
      ->type_name("NAME")
      ->check(check_name)
      ->group(kGroup);
  command
      .add_option("--redact-json", redaction.json,
                  "Hide these members of JSON bodies too, such as '$.user.cards[*].number'")
      ->type_name("PATH")
      ->check(check_name)
      ->group(kGroup);
  command
      .add_option(
          "--redact-allow", redaction.allow,
          "Leave fields, cookies, parameters and members of this name, or of this JSON path, "
          "as they are")
      ->type_name("NAME or PATH")
      ->check(check_name)
      ->group(kGroup);
  command
      .add_flag("--keep-numbers", redaction.keep_numbers,
                "Leave card and phone numbers as they are")
      ->group(kGroup);
  command
      .add_option(
          "--redact-key", redaction.key_file,
          "Recordings made with the same file have the same pseudonyms; made if missing, and "
          "to be guarded like a password")
      ->type_name("FILE")
      ->group(kGroup);
}

Result<RecordingOptions> recording_options(const gateway::RedactionConfig& redaction) {
  if (redaction.keep_secrets && redaction.says_how()) {
    return usage_error("--keep-secrets hides nothing; leave it out, or the other --redact options");
  }
  RecordingOptions options{.keep_secrets = redaction.keep_secrets,
                           .redaction = {.fields = redaction.fields,
                                         .parameters = redaction.params,
                                         .json = redaction.json,
                                         .allowed = redaction.allow,
                                         .numbers = !redaction.keep_numbers}};
  if (redaction.key_file.empty()) return options;
  auto key = read_or_make_key(redaction.key_file);
  if (!key) return key.error();
  options.redaction_key = std::move(*key);
  return options;
}

}  // namespace gatedrill::replay
