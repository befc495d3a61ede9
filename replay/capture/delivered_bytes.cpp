#include "replay/capture/delivered_bytes.hpp"

#include <algorithm>
#include <cstring>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kMarksMax = 8;

}  // namespace

std::size_t differing(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  if (a.substr(0, size) == b.substr(0, size)) return 0;
  std::size_t different = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) ++different;
  }
  return different;
}

void DeliveredBytes::remember(Marks& marks, std::int64_t begin, std::string_view bytes) {
  if (bytes.empty() || bytes.size() > ring_.size()) return;
  const bool goes_on = !marks.empty() &&
                       marks.back().begin + static_cast<std::int64_t>(marks.back().size) == begin &&
                       marks.back().position + marks.back().size == written_;
  if (goes_on) {
    marks.back().size += bytes.size();
  } else {
    if (marks.size() >= kMarksMax) marks.erase(marks.begin());
    marks.push_back({begin, written_, bytes.size()});
  }
  const std::size_t at = written_ % ring_.size();
  const std::size_t first = std::min(bytes.size(), ring_.size() - at);
  std::memcpy(ring_.data() + at, bytes.data(), first);
  std::memcpy(ring_.data(), bytes.data() + first, bytes.size() - first);
  written_ += bytes.size();
}

std::size_t DeliveredBytes::differing(const Marks& marks,
                                      std::int64_t begin,
                                      std::string_view bytes) const {
  const std::int64_t end = begin + static_cast<std::int64_t>(bytes.size());
  const std::uint64_t oldest = written_ - std::min<std::uint64_t>(written_, ring_.size());
  std::size_t different = 0;
  for (const Mark& mark : marks) {
    if (mark.position + mark.size <= oldest) continue;
    const std::uint64_t lost = oldest - std::min(oldest, mark.position);
    std::int64_t from = std::max(begin, mark.begin + static_cast<std::int64_t>(lost));
    const std::int64_t to = std::min(end, mark.begin + static_cast<std::int64_t>(mark.size));
    while (from < to) {  // once, or twice where the ring wraps
      const std::uint64_t position = mark.position + static_cast<std::uint64_t>(from - mark.begin);
      const std::size_t at = position % ring_.size();
      const std::size_t size = std::min(static_cast<std::size_t>(to - from), ring_.size() - at);
      different += capture::differing(std::string_view(ring_).substr(at, size),
                                      bytes.substr(static_cast<std::size_t>(from - begin), size));
      from += static_cast<std::int64_t>(size);
    }
  }
  return different;
}

}  // namespace gatedrill::replay::capture
