// Requests as text.
#pragma once

#include <string>

namespace gatedrill::testing {

inline constexpr const char* kCloseField = "Connection: close\r\n";

inline std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: shop.example\r\n" + fields + "\r\n";
}

inline std::string post(const std::string& target,
                        const std::string& body,
                        const std::string& fields = "") {
  return "POST " + target + " HTTP/1.1\r\nHost: shop.example\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace gatedrill::testing
