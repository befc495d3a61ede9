// What is hidden in a recording of traffic, beside what always is (replay/RECORDING.md).
#pragma once

#include <string>
#include <vector>

namespace gatedrill::gateway {

struct RedactionConfig {
  bool keep_secrets = false;        // nothing is hidden
  bool keep_numbers = false;        // cards and phones are not
  std::vector<std::string> fields;  // header fields
  std::vector<std::string> params;  // of queries and forms
  std::vector<std::string> json;    // members, by path: $.user.cards[*].number
  std::vector<std::string> allow;   // what stays: names of any kind, or paths
  std::string key_file;             // of the pseudonyms; empty: a key for this recording alone

  // Rules or a key, which have no meaning where secrets are kept.
  [[nodiscard]] bool says_how() const {
    return !fields.empty() || !params.empty() || !json.empty() || !allow.empty() ||
           !key_file.empty();
  }

  bool operator==(const RedactionConfig&) const = default;
};

}  // namespace gatedrill::gateway
