// pcap-filter(7) expressions, compiled for one link type.
#pragma once

#include <memory>
#include <string>

#include "gateway/core/result.hpp"

struct bpf_program;
struct pcap;

namespace gatedrill::replay::capture {

struct FreeFilter {
  void operator()(bpf_program* program) const;
};

using CompiledFilter = std::unique_ptr<bpf_program, FreeFilter>;

// For the link type of `pcap`. Fails (usage) if the expression is wrong, or means nothing there.
[[nodiscard]] Result<CompiledFilter> compile_filter(pcap* pcap, const std::string& expression);

}  // namespace gatedrill::replay::capture
