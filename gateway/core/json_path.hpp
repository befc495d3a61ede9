// Names values inside JSON texts: the part of JSONPath (RFC 9535) that names members and elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"

namespace gatedrill {

// Where a value stands inside a JSON text, from the outside in.
struct JsonStep {
  bool element = false;  // of an array, by `index`; else a member, by `name`
  std::string_view name{};
  std::uint32_t index = 0;
};

// $ .name ['name'] [3] [*] .* ..name
class JsonPath {
 public:
  static Result<JsonPath> parse(std::string_view text);

  [[nodiscard]] bool matches(std::span<const JsonStep> place) const;

 private:
  struct Step {
    enum class Kind : std::uint8_t { member, element, any } kind = Kind::member;
    bool deep = false;  // any number of steps may come before it
    std::string name{};
    std::uint32_t index = 0;
  };

  [[nodiscard]] static bool matches(std::span<const Step> steps, std::span<const JsonStep> place);

  std::vector<Step> steps_;
};

}  // namespace gatedrill
