#include "gateway/net/network_error.hpp"

#include <boost/system/errc.hpp>

namespace gatedrill::gateway {
namespace {

Cause connect_cause(const boost::system::error_code& error) {
  namespace errc = boost::system::errc;
  if (error == errc::connection_refused || error == errc::connection_reset) {
    return Cause::connect_refused;
  }
  if (error == errc::timed_out) return Cause::connect_timeout;
  if (error == errc::host_unreachable || error == errc::network_unreachable ||
      error == errc::network_down) {
    return Cause::unroutable;
  }
  if (error == errc::address_not_available) return Cause::local_ports_exhausted;
  return Cause::internal;
}

}  // namespace

Cause cause_of(const boost::system::error_code& error, Operation operation) {
  switch (operation) {
    case Operation::connect:
      return connect_cause(error);
    case Operation::read:
      return Cause::upstream_closed;
    case Operation::write:
      return Cause::send_failed;
  }
  return Cause::internal;
}

bool out_of_descriptors(const boost::system::error_code& error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space ||
         error == boost::system::errc::not_enough_memory;
}

}  // namespace gatedrill::gateway
