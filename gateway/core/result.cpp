#include "gateway/core/result.hpp"

#include <stdexcept>

namespace gatedrill {

void throw_exception_from_error(const Error& error, const boost::source_location& /*where*/) {
  throw std::logic_error("the value of a failed result was used: " + error.message);
}

}  // namespace gatedrill
