#include "replay/capture_outcome.hpp"

#include <iostream>

#include <unistd.h>

#include "replay/command_end.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay {
namespace {

constexpr int kOutside = 3;

void say(const std::string& text) {
  std::cerr << "gatedrill capture: " << text << "\n";
}

std::string percent_text(double share) {
  std::string text = std::to_string(share * 100);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " %";
}

double share_of(std::uint64_t lost, std::uint64_t kept) {
  return static_cast<double>(lost) / static_cast<double>(kept + lost);
}

// Exit status 0 if so much may be lost; else says that it is too much, and what helps.
int judge_share(const CaptureJudgement& judgement, double share, const std::string& advice) {
  if (share <= judgement.loss_share_max) return 0;
  say("that is more than " + percent_text(judgement.loss_share_max) + "; " + advice);
  return kNotEvidence;
}

// Packets that came by and are not among those that were read.
int judge_drops(const CaptureJudgement& judgement, const capture::Ledger& ledger) {
  const std::uint64_t dropped = ledger.kernel_drops + ledger.interface_drops + ledger.queue_drops;
  if (dropped == 0) return 0;
  const double share = share_of(dropped, ledger.frames.count);
  say(std::to_string(dropped) + " packets were lost, " + percent_text(share) + ": " +
      std::to_string(ledger.kernel_drops) + " dropped by the kernel, " +
      std::to_string(ledger.interface_drops) + " by the interface, " +
      std::to_string(ledger.queue_drops) + " in front of the recording");
  return judge_share(
      judgement, share,
      judgement.live ? "narrow the capture with --port or --filter, or give it a larger --buffer"
                     : "whoever captured it lost them");
}

// Bytes that were sent and are in no packet.
int judge_gaps(const CaptureJudgement& judgement, const capture::Ledger& ledger) {
  const std::uint64_t missing = ledger.gaps.bytes;
  if (missing == 0) return 0;
  const double share = share_of(missing, ledger.stream.bytes);
  if (share <= judgement.loss_share_max) return 0;
  say(std::to_string(missing) + " bytes are missing from " + judgement.source + ", " +
      percent_text(share) + ", more than " + percent_text(judgement.loss_share_max) +
      "; --allow-loss takes a larger share");
  return kNotEvidence;
}

// Bytes of the file that could not be read, whether or not reading went on behind them.
int judge_damage(const CaptureJudgement& judgement, const capture::RecordReport& report) {
  const capture::Ledger& ledger = report.ledger;
  const std::uint64_t rest = report.damage.empty() ? 0 : ledger.file_end.bytes;
  const std::uint64_t damaged = ledger.file_damage.bytes + rest;
  if (damaged == 0) return 0;
  const double share = share_of(damaged, ledger.frames.bytes);
  const std::uint64_t places = ledger.file_damage.count + (rest > 0 ? 1 : 0);
  say(judgement.source + ": is damaged in " + std::to_string(places) +
      (places == 1 ? " place, " : " places, ") + std::to_string(damaged) + " bytes, " +
      percent_text(share) + ", were skipped; " +
      (ledger.file_damage.count > 0 ? ledger.file_damage_places : report.damage));
  return judge_share(judgement, share, "--allow-loss takes a larger share");
}

// Messages that were lost to a limit of ours; `why` says which.
int judge_limit(const CaptureJudgement& judgement,
                const capture::Ledger& ledger,
                capture::LossReason reason,
                const char* why) {
  const std::uint64_t lost = ledger.lost(reason).count;
  if (lost == 0) return 0;
  const auto messages = [](const capture::MessageTally& tally) {
    return tally.complete.count + tally.partial.count;
  };
  // What found no memory was recorded in part; what was given up was not, or no answer to it.
  const std::uint64_t recorded = messages(ledger.requests) + messages(ledger.responses);
  const double share =
      reason == capture::LossReason::memory_limit
          ? std::min(1.0, static_cast<double>(lost) /
                              static_cast<double>(std::max<std::uint64_t>(recorded, 1)))
          : share_of(lost, recorded);
  say(why + ("; " + std::to_string(lost)) + " messages were lost or cut for it, " +
      percent_text(share));
  return judge_share(
      judgement, share,
      "narrow the capture with --port or --filter, or take a larger share with --allow-loss");
}

void print_result(const capture::RecordReport& report) {
  std::cout << render(report.ledger.lines()) << report.exchanges << " exchanges in ";
  if (report.files.size() == 1) {
    std::cout << report.files.front() << "\n";
  } else {
    std::cout << report.files.size() << " files, " << report.files.front() << " to "
              << report.files.back() << "\n";
  }
}

}  // namespace

void CaptureProgress::show(const capture::RecordProgress& figures) {
  const bool terminal = isatty(STDERR_FILENO) == 1;
  constexpr int kQuietLines = 5;
  if (figures.damage != damage_) {
    damage_ = figures.damage;
    std::cerr << (open_ ? "\n" : "");
    say(damage_ + "; what is left goes on");
  }
  const std::uint64_t rate = figures.exchanges - exchanges_;
  exchanges_ = figures.exchanges;
  if (!terminal && ++calls_ % kQuietLines != 0) return;
  std::cerr << (terminal ? "\r" : "") << figures.packets << " packets, " << figures.exchanges
            << " exchanges, " << rate << "/s, " << figures.drops.kernel
            << " dropped by the kernel, " << figures.drops.queue << " by us, "
            << figures.file_bytes / 1'000'000 << " MB";
  if (figures.files > 0) std::cerr << " in file " << figures.files + 1;
  std::cerr << (terminal ? "   " : "\n") << std::flush;
  open_ = terminal;
}

CaptureProgress::~CaptureProgress() {
  if (open_) std::cerr << "\n";
}

int judge_capture(const CaptureJudgement& judgement, const capture::RecordReport& report) {
  const capture::Ledger& ledger = report.ledger;
  const std::string& source = judgement.source;
  int status = 0;
  if (judgement.live) {
    if (!report.damage.empty()) {
      say(report.damage);
      status = kOutside;
    }
  } else if (!ledger.file_rest_unknown.empty()) {
    say(source + ": could be read only so far, " + ledger.file_rest_unknown +
        "; how much is missing cannot be told" +
        (judgement.loss_share_max < 1 ? ", which --allow-loss 100 takes" : ""));
    if (judgement.loss_share_max < 1) status = kNotEvidence;
  } else if (!report.damage.empty() && ledger.file_end.bytes == 0) {
    say(source + ": read up to where it is damaged, " + report.damage);
  } else if (report.damage.empty() && ledger.file_end.bytes > 0) {
    say(source + ": breaks off; its last " + std::to_string(ledger.file_end.bytes) +
        " bytes are no whole packet");
  }
  if (!report.shortage.empty()) {
    say("ended early: " + report.shortage);
    status = kOutside;
  }
  if (ledger.stopped_at) {
    say(source + ": was stopped at byte " + std::to_string(*ledger.stopped_at) +
        "; what follows there was not read");
    status = kNotEvidence;
  }
  if (!report.key_log_problem.empty()) say(report.key_log_problem);
  if (ledger.frames.count == 0) {
    say(source +
        (judgement.live      ? ": no packet was captured"
         : ledger.stopped_at ? ": no packet had been read"
                             : ": holds no packet") +
        (judgement.filtered ? " that the filter lets through" : "") + "; no recording was written");
    return status != 0 ? status : kNotEvidence;
  }
  print_result(report);
  const auto not_evidence = [&] { status = status != 0 ? status : kNotEvidence; };
  for (const std::string& sum : ledger.open_sums()) {
    say("the account does not close: " + sum);
    not_evidence();
  }
  if (report.exchanges == 0) {
    say("no HTTP message in " + source + "; the ledger above says what was there instead");
    not_evidence();
  }
  if (judge_drops(judgement, ledger) != 0) not_evidence();
  if (judge_gaps(judgement, ledger) != 0) not_evidence();
  if (judge_damage(judgement, report) != 0) not_evidence();
  if (judge_limit(judgement, ledger, capture::LossReason::evicted,
                  "more connections were open at once than can be followed") != 0) {
    not_evidence();
  }
  if (judge_limit(judgement, ledger, capture::LossReason::memory_limit,
                  "messages that had begun took more memory than is given to all") != 0) {
    not_evidence();
  }
  return status;
}

}  // namespace gatedrill::replay
