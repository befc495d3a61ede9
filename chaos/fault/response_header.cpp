#include "chaos/fault/response_header.hpp"

namespace gatedrill::chaos {

std::string ResponseHeader::field_line(std::size_t bytes) {
  assert(bytes >= kBytesMin);
  std::string line(kFieldName);
  line += ": ";
  line.append(bytes - kFieldName.size() - 4, 'p');
  line += "\r\n";
  return line;
}

}  // namespace gatedrill::chaos
