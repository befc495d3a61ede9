// What an operating system's error means: the one place where an error code becomes a cause.
#pragma once

#include <boost/system/error_code.hpp>

#include "gateway/core/cause.hpp"

namespace gatedrill::gateway {

enum class Operation { connect, read, write };

// The cause for an attempt at an upstream whose operation failed so; end of file is an error here.
[[nodiscard]] Cause cause_of(const boost::system::error_code& error, Operation operation);

// Too many open files, of the process or of the system: waiting may help.
[[nodiscard]] bool out_of_descriptors(const boost::system::error_code& error);

}  // namespace gatedrill::gateway
