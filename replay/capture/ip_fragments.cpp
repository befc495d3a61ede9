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

std::optional<std::string> IpFragments::add(const IpFragment& fragment) {
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
  if (found == datagrams_.end()) {
    if (datagrams_.size() >= limits_.datagrams) {
      given_up_ += datagrams_.front().fragments;
      datagrams_.pop_front();
    }
    found = datagrams_.emplace(datagrams_.end());
    found->first = fragment;
    found->first.payload = {};
  }
  Datagram& datagram = *found;
  ++datagram.fragments;
  if (!fragment.more) datagram.size = end;
  if (datagram.bytes.size() < end) {
    datagram.bytes.resize(end);
    datagram.filled.resize((end + kUnit - 1) / kUnit, 0);
  }
  for (std::size_t at = fragment.offset; at < end; at += kUnit) {
    char& filled = datagram.filled[at / kUnit];
    if (filled != 0) continue;
    filled = 1;
    fragment.payload.substr(at - fragment.offset, kUnit).copy(datagram.bytes.data() + at, kUnit);
  }
  const bool whole = datagram.size && datagram.bytes.size() == *datagram.size &&
                     datagram.filled.find('\0') == std::string::npos;
  if (!whole) return std::nullopt;
  std::string bytes = std::move(datagram.bytes);
  datagrams_.erase(found);
  return bytes;
}

std::uint64_t IpFragments::unfinished() const {
  std::uint64_t count = given_up_;
  for (const Datagram& datagram : datagrams_)
    count += datagram.fragments;
  return count;
}

}  // namespace gatedrill::replay::capture
