#include "replay/redaction_options.hpp"

#include <utility>

#include <CLI/CLI.hpp>

#include "replay/redact/pseudonyms.hpp"

namespace gatedrill::replay {

void add_redaction_options(CLI::App& command, RedactionArguments& arguments) {
  constexpr const char* kGroup = "Secrets";
  command
      .add_flag(
          "--keep-secrets", arguments.keep_secrets,
          "Write everything as it is: passwords, cookies, tokens, card and phone numbers. For "
          "a replay that must log in as the recorded users did")
      ->group(kGroup);
  command
      .add_option("--redact-field", arguments.rules.fields,
                  "Hide this header field too; may be repeated, as the next three")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option("--redact-param", arguments.rules.parameters,
                  "Hide this parameter of queries and forms too")
      ->type_name("NAME")
      ->group(kGroup);
  command
      .add_option("--redact-json", arguments.rules.json,
                  "Hide these members of JSON bodies too, such as '$.user.cards[*].number'")
      ->type_name("PATH")
      ->group(kGroup);
  command
      .add_option(
          "--redact-allow", arguments.rules.allowed,
          "Leave fields, cookies, parameters and members of this name, or of this JSON path, "
          "as they are")
      ->type_name("NAME or PATH")
      ->group(kGroup);
  command
      .add_flag("--keep-numbers", arguments.keep_numbers,
                "Leave card and phone numbers as they are")
      ->group(kGroup);
  command
      .add_option(
          "--redact-key", arguments.key_file,
          "Recordings made with the same file have the same pseudonyms; made if missing, and "
          "to be guarded like a password")
      ->type_name("FILE")
      ->group(kGroup);
}

Result<RecordingOptions> recording_options(const RedactionArguments& arguments) {
  RecordingOptions options{.keep_secrets = arguments.keep_secrets, .redaction = arguments.rules};
  options.redaction.numbers = !arguments.keep_numbers;
  const RedactionRules& rules = arguments.rules;
  const bool more = !rules.fields.empty() || !rules.parameters.empty() || !rules.json.empty() ||
                    !rules.allowed.empty() || !arguments.key_file.empty();
  if (arguments.keep_secrets && more) {
    return usage_error("--keep-secrets hides nothing; leave it out, or the other --redact options");
  }
  if (arguments.key_file.empty()) return options;
  auto key = read_or_make_key(arguments.key_file);
  if (!key) return key.error();
  options.redaction_key = std::move(*key);
  return options;
}

}  // namespace gatedrill::replay
