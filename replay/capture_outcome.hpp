// What `gatedrill capture` says while it runs and when it has ended. Private to replay.
#pragma once

#include <string>

#include "replay/capture/record.hpp"

namespace gatedrill::replay {

// A line that replaces itself on a terminal; elsewhere a line now and then.
class CaptureProgress {
 public:
  // About once a second.
  void show(const capture::RecordProgress& figures);
  ~CaptureProgress();

 private:
  std::uint64_t exchanges_ = 0;  // of the call before
  std::string damage_;           // that was said
  int calls_ = 0;
  bool open_ = false;
};

struct CaptureJudgement {
  std::string source{};  // a file, or the interfaces
  bool live = false;
  bool filtered = false;
  double loss_share_max = 0.01;  // of the packets
};

// Prints what the capture is worth, and gives the exit status for it.
[[nodiscard]] int judge_capture(const CaptureJudgement& judgement,
                                const capture::RecordReport& report);

}  // namespace gatedrill::replay
