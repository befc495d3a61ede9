#include "replay/capture/live_source.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <linux/if_packet.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "replay/capture/bpf_filter.hpp"
#include "replay/capture/packet.hpp"
#include "replay/capture/port_filter.hpp"

namespace gatedrill::replay::capture {
namespace {

// Frames of loopback and of cards that join segments are up to 64 KiB.
constexpr int kSnapshotBytes = 262'144;
// The kernel gives packets in blocks: once one is full, or after this long.
constexpr int kWaitMs = 100;

UnixTime time_of(const timeval& stamp, bool nanoseconds) {
  return {std::int64_t{stamp.tv_sec} * 1'000'000'000 +
          std::int64_t{stamp.tv_usec} * (nanoseconds ? 1 : 1000)};
}

Result<void> set_filter(pcap_t* pcap, const std::string& filter) {
  if (filter.empty()) return {};
  const auto program = compile_filter(pcap, filter);
  if (!program) return program.error();
  if (pcap_setfilter(pcap, program->get()) != 0) {
    return outside_error("filter '" + filter + "': " + pcap_geterr(pcap));
  }
  return {};
}

Result<void> set_filter(pcap_t* pcap, const LiveOptions& options) {
  if (!options.filter.empty() || options.ports.empty()) return set_filter(pcap, options.filter);
  Result<void> set;
  for (const std::string& filter : port_filters(options.ports)) {
    set = set_filter(pcap, filter);
    if (set) return set;
  }
  return set;
}

Result<void> check_link_type(pcap_t* pcap, const std::string& name) {
  const int type = pcap_datalink(pcap);
  if (is_known_link_type(type)) return {};
  return usage_error(name + ": its link type " + link_type_name(type) +
                     " is not one that can be read");
}

Error activation_error(pcap_t* pcap, const std::string& name, int code) {
  switch (code) {
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return usage_error(name +
                         ": there is no such interface; `ip link` lists them, and 'any' is all");
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      return outside_error(name +
                           ": no permission to capture; run it with sudo, or once: sudo setcap "
                           "cap_net_raw,cap_net_admin=eip \"$(command -v gatedrill)\"");
    case PCAP_ERROR_IFACE_NOT_UP:
      return outside_error(name + ": is down; `ip link set " + name + " up` brings it up");
    default:
      return outside_error(
          name + ": cannot be captured: " +
          (*pcap_geterr(pcap) != '\0' ? pcap_geterr(pcap) : pcap_statustostr(code)));
  }
}

// What loopback sends comes in on it again. libpcap leaves out one of the two, but only once both
// had room in the kernel's buffer, or counted as dropped there. (On "any", they still do.)
void take_loopback_once(pcap_t* pcap, const std::string& name) {
  const int socket = pcap_fileno(pcap);
  ifreq interface {};
  name.copy(interface.ifr_name, sizeof interface.ifr_name - 1);
  if (ioctl(socket, SIOCGIFFLAGS, &interface) != 0) return;
  if ((interface.ifr_flags & IFF_LOOPBACK) == 0) return;
  const int on = 1;  // before Linux 4.20 there is no such option
  static_cast<void>(setsockopt(socket, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on));
}

}  // namespace

void LiveSource::Close::operator()(pcap* handle) const {
  pcap_close(handle);
}

Result<std::unique_ptr<PacketSource>> LiveSource::open(const std::string& name,
                                                       const LiveOptions& options) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  Handle handle(pcap_create(name.c_str(), error.data()));
  if (!handle) return outside_error(name + ": " + error.data());
  pcap_set_snaplen(handle.get(), kSnapshotBytes);
  pcap_set_promisc(handle.get(), 1);
  pcap_set_timeout(handle.get(), kWaitMs);
  pcap_set_immediate_mode(handle.get(), 0);
  constexpr std::size_t kBufferMax = std::numeric_limits<int>::max();
  pcap_set_buffer_size(handle.get(), static_cast<int>(std::min(options.buffer_bytes, kBufferMax)));
  pcap_set_tstamp_precision(handle.get(), PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(handle.get());
  if (code < 0) return activation_error(handle.get(), name, code);
  if (auto known = check_link_type(handle.get(), name); !known) return known.error();
  if (auto set = set_filter(handle.get(), options); !set) return set.error();
  take_loopback_once(handle.get(), name);
  if (pcap_setnonblock(handle.get(), 1, error.data()) != 0) {
    return outside_error(name + ": " + error.data());
  }
  return std::unique_ptr<PacketSource>(new LiveSource(std::move(handle), name));
}

Result<PacketSource::Next> LiveSource::next(Packet& packet) {
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  int code = pcap_next_ex(handle_.get(), &header, &bytes);
  if (code == 0) {
    // libpcap's own wait would last until a packet comes.
    pollfd ready{pcap_get_selectable_fd(handle_.get()), POLLIN, 0};
    poll(&ready, 1, kWaitMs);
    code = pcap_next_ex(handle_.get(), &header, &bytes);
  }
  if (code == 0) return Next::quiet;
  if (code == PCAP_ERROR_BREAK) return Next::end;
  if (code != 1) {
    return outside_error(name_ + ": the capture broke off: " + pcap_geterr(handle_.get()));
  }
  const bool nanoseconds = pcap_get_tstamp_precision(handle_.get()) == PCAP_TSTAMP_PRECISION_NANO;
  packet.at = time_of(header->ts, nanoseconds);
  packet.bytes = {reinterpret_cast<const char*>(bytes), header->caplen};
  packet.wire_bytes = header->len;
  packet.link_type = pcap_datalink(handle_.get());
  return Next::packet;
}

PacketSource::Drops LiveSource::drops() const {
  pcap_stat statistics{};
  if (pcap_stats(handle_.get(), &statistics) != 0) return {};
  return {statistics.ps_drop, statistics.ps_ifdrop};
}

Result<std::unique_ptr<PacketSource>> open_interface(const std::string& name,
                                                     const LiveOptions& options) {
  return LiveSource::open(name, options);
}

}  // namespace gatedrill::replay::capture
