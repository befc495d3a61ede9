// Failures that a caller can meet in a correct program, as values.
//
//   Result<Config> config = read_config(path);
//   if (!config) return config.error();
//
// An Error's code says how the program ends if nobody handles it (product.md, exit codes); its
// message is one line that says what is wrong and what to do about it.
#pragma once

#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace gatedrill {

enum class ErrorCode {
  usage,     // wrong usage or configuration: exit 2
  outside,   // port in use, disk full, no permission, file missing: exit 3
  evidence,  // what was measured or read is not valid evidence: exit 4
};

struct Error {
  ErrorCode code = ErrorCode::usage;
  std::string message;

  bool operator==(const Error&) const = default;
};

// Required by boost::system::result when value() is called on an error: a broken promise.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

inline Error usage_error(std::string message) {
  return Error{ErrorCode::usage, std::move(message)};
}

inline Error outside_error(std::string message) {
  return Error{ErrorCode::outside, std::move(message)};
}

inline Error evidence_error(std::string message) {
  return Error{ErrorCode::evidence, std::move(message)};
}

// A subclass so that dropping a result is a warning.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

template <>
class [[nodiscard]] Result<void> : public boost::system::result<void, Error> {
 public:
  using boost::system::result<void, Error>::result;
};

// The process's exit status for an error that ends it.
constexpr int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return 2;
    case ErrorCode::outside:
      return 3;
    case ErrorCode::evidence:
      return 4;
  }
  return 3;
}

}  // namespace gatedrill
