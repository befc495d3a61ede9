// The Date field's text (RFC 9110 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gateway/core/time.hpp"

namespace gatedrill::http {

[[nodiscard]] std::string date_text(UnixTime at);

// The same, made once a second. The view lives until the next call.
class DateText {
 public:
  [[nodiscard]] std::string_view at(UnixTime now);

 private:
  std::int64_t second_ = -1;
  std::string text_;
};

}  // namespace gatedrill::http
