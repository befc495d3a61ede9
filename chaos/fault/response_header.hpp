// The answer's head grows by so many bytes, through one added field: what a grown cookie or a debug
// header does to a gateway with a bounded buffer. In simulation the head's size is compared with
// the gateway's limit; the bytes are not made.
#pragma once

#include <cassert>

#include "chaos/fault/fault.hpp"

namespace gatedrill::chaos {

class ResponseHeader final : public Fault {
 public:
  static constexpr std::string_view kFieldName = "x-padding";
  // Name, colon, blank, one byte of value, CRLF.
  static constexpr std::size_t kBytesMin = kFieldName.size() + 5;

  // Requires bytes >= kBytesMin.
  explicit ResponseHeader(std::size_t bytes) : bytes_(bytes) { assert(bytes >= kBytesMin); }

  [[nodiscard]] std::string_view kind() const override { return "response_header"; }

  [[nodiscard]] FaultShape shape() const override { return FaultShape::message; }

  [[nodiscard]] InSimulation in_simulation() const override { return InSimulation::outcome; }

  [[nodiscard]] std::size_t head_growth() const override { return bytes_; }

  // The field line, CRLF included, that makes a head grow by exactly `bytes`.
  [[nodiscard]] static std::string field_line(std::size_t bytes);

 private:
  std::size_t bytes_;
};

}  // namespace gatedrill::chaos
