#include "replay/capture/ip_fragments.hpp"

#include <algorithm>

namespace gatedrill::replay::capture {
namespace {

constexpr std::size_t kUnit = 8;

bool same_datagram(const IpFragment& a, const IpFragment& b) {
  return a.id == b.id && a.protocol == b.protocol && a.network == b.network &&
         a.source == b.source && a.destination == b.destination;
}

}  // namespace

std::optional<std::string> IpFragments::add(const IpFragment& fragment, UnixTime at) {
  const std::size_t end = fragment.offset + fragment.payload.size();
  // Only the last fragment may end between two units of eight bytes.
  const bool ragged = fragment.more && fragment.payload.size() % kUnit != 0;
  if (fragment.cut || ragged || end > limits_.datagram_bytes) {
    ++given_up_;
    return std::nullopt;
  }
  auto found = std::find_if(datagrams_.begin(), datagrams_.end(), [&](const Datagram& datagram) {
    return same_datagram(datagram.first, fragment);
  });
  if (found != datagrams_.end() && at.ns - found->begun.ns > limits_.wait.count()) {
    given_up_ += found->fragments;
    datagrams_.erase(found);
    found = datagrams_.end();
  }
  if (found == datagrams_.end()) {
    if (datagrams_.size() >= limits_.datagrams) {
      given_up_ += datagrams_.front().fragments;
      datagrams_.pop_front();
    }
    found = datagrams_.emplace(datagrams_.end());
    found->first = fragment;
    found->first.payload = {};
    found->begun = at;
  }
  Datagram& datagram = *found;
  ++datagram.fragments;
  if (!fragment.more) datagram.size = end;
  fill(datagram, fragment);
  const bool whole = datagram.size && datagram.bytes.size() == *datagram.size &&
                     datagram.filled.find('\0') == std::string::npos;
  if (!whole) return std::nullopt;
  std::string bytes = std::move(datagram.bytes);
  datagrams_.erase(found);
  return bytes;
}

void IpFragments::fill(Datagram& datagram, const IpFragment& fragment) {
  const std::size_t end = fragment.offset + fragment.payload.size();
  if (datagram.bytes.size() < end) {
    datagram.bytes.resize(end);
    datagram.filled.resize((end + kUnit - 1) / kUnit, 0);
  }
  for (std::size_t at = fragment.offset; at < end; at += kUnit) {
    const std::string_view unit = fragment.payload.substr(at - fragment.offset, kUnit);
    char& filled = datagram.filled[at / kUnit];
    if (filled == 0) {
      filled = 1;
      unit.copy(datagram.bytes.data() + at, kUnit);
    } else if (std::string_view(datagram.bytes).substr(at, unit.size()) != unit) {
      conflicting_bytes_ += unit.size();
    }
  }
}

std::uint64_t IpFragments::unfinished() const {
  std::uint64_t count = given_up_;
  for (const Datagram& datagram : datagrams_)
    count += datagram.fragments;
  return count;
}

}  // namespace gatedrill::replay::capture
