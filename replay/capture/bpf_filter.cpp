#include "replay/capture/bpf_filter.hpp"

#include <pcap/pcap.h>

namespace gatedrill::replay::capture {

void FreeFilter::operator()(bpf_program* program) const {
  pcap_freecode(program);
  delete program;
}

Result<CompiledFilter> compile_filter(pcap* pcap, const std::string& expression) {
  CompiledFilter program(new bpf_program{});
  if (pcap_compile(pcap, program.get(), expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    return usage_error("filter '" + expression + "': " + pcap_geterr(pcap) +
                       "; its language is that of tcpdump, see pcap-filter(7)");
  }
  return program;
}

}  // namespace gatedrill::replay::capture
