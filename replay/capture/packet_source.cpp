#include "replay/capture/packet_source.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <pcap/pcap.h>
#include <sys/stat.h>

#include "replay/capture/capture_file.hpp"
#include "replay/capture/packet.hpp"

namespace gatedrill::replay::capture {
namespace {

constexpr int kSnapshotBytes = 262'144;
constexpr int kBufferBytes = 64 * 1024 * 1024;
constexpr int kWaitMs = 100;

struct ClosePcap {
  void operator()(pcap_t* pcap) const { pcap_close(pcap); }
};

using Pcap = std::unique_ptr<pcap_t, ClosePcap>;

// A damaged file may name any time; what UnixTime cannot hold becomes its nearest.
UnixTime time_of(const timeval& stamp, bool nanoseconds) {
  constexpr std::int64_t kSecondsMax = 9'000'000'000;  // the year 2255
  const std::int64_t seconds = std::clamp<std::int64_t>(stamp.tv_sec, 0, kSecondsMax);
  const std::int64_t fraction = std::clamp<std::int64_t>(stamp.tv_usec, 0, 999'999'999);
  return {seconds * 1'000'000'000 + fraction * (nanoseconds ? 1 : 1000)};
}

bool starts_with(const char* text, std::string_view prefix) {
  return std::string_view(text).starts_with(prefix);
}

// What libpcap would say of these is either unclear or wrong.
Result<void> check_file(const std::string& path) {
  struct stat status {};

  if (stat(path.c_str(), &status) != 0) {
    return outside_error(path + ": " + std::strerror(errno) +
                         "; name a capture file that tcpdump -w or Wireshark wrote");
  }
  if (S_ISDIR(status.st_mode)) {
    return usage_error(path + ": is a directory; name one capture file in it");
  }
  if (S_ISREG(status.st_mode) && status.st_size == 0) {
    return evidence_error(path + ": is empty; nothing was captured into it");
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return outside_error(path + ": cannot be read: " + std::strerror(errno));
  }
  std::fclose(file);
  return {};
}

Error open_error(const std::string& path, const char* text) {
  const std::string_view message(text);
  if (message.find("truncated") != std::string_view::npos) {
    return evidence_error(path + ": breaks off inside its header; nothing in it can be used");
  }
  if (message.find("unknown file format") != std::string_view::npos ||
      message.find("bad dump file format") != std::string_view::npos) {
    return usage_error(path + ": is not a capture file (pcap or pcapng)");
  }
  return usage_error(path + ": cannot be read as a capture file: " + text);
}

Result<void> set_filter(pcap_t* pcap, const std::string& filter) {
  if (filter.empty()) return {};
  bpf_program program{};
  if (pcap_compile(pcap, &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
    return usage_error("filter '" + filter + "': " + pcap_geterr(pcap) +
                       "; its language is that of tcpdump, see pcap-filter(7)");
  }
  const bool set = pcap_setfilter(pcap, &program) == 0;
  pcap_freecode(&program);
  if (!set) return outside_error("filter '" + filter + "': " + pcap_geterr(pcap));
  return {};
}

Result<void> check_link_type(pcap_t* pcap, const std::string& name) {
  const int type = pcap_datalink(pcap);
  if (is_known_link_type(type)) return {};
  const char* text = pcap_datalink_val_to_description(type);
  return usage_error(name + ": its link type " + std::to_string(type) + " (" +
                     (text == nullptr ? "unknown" : text) + ") is not one that can be read");
}

Error activation_error(pcap_t* pcap, const std::string& name, int code) {
  switch (code) {
    case PCAP_ERROR_NO_SUCH_DEVICE:
      return usage_error(name +
                         ": there is no such interface; `ip link` lists them, and 'any' is all");
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
      return outside_error(name +
                           ": no permission to capture; run as root, or once: sudo setcap "
                           "cap_net_raw,cap_net_admin=eip \"$(command -v gatedrill)\"");
    case PCAP_ERROR_IFACE_NOT_UP:
      return outside_error(name + ": is down; `ip link set " + name + " up` brings it up");
    default:
      return outside_error(
          name + ": cannot be captured: " +
          (*pcap_geterr(pcap) != '\0' ? pcap_geterr(pcap) : pcap_statustostr(code)));
  }
}

}  // namespace

struct PacketSource::State {
  Pcap pcap;
  std::string name;
  bool live = false;
  bool ended = false;
  std::uint64_t file_bytes = 0;  // 0 if not known
  std::uint64_t cut_bytes = 0;
  std::string damage;
};

Result<PacketSource> PacketSource::open_file(const std::string& path, const std::string& filter) {
  const bool standard_input = path == "-";
  if (!standard_input) {
    if (auto checked = check_file(path); !checked) return checked.error();
  }
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  auto state = std::make_unique<State>();
  state->name = path;
  state->pcap.reset(pcap_open_offline_with_tstamp_precision(
      path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error.data()));
  if (!state->pcap) return open_error(path, error.data());
  if (auto known = check_link_type(state->pcap.get(), path); !known) return known.error();
  if (auto set = set_filter(state->pcap.get(), filter); !set) return set.error();

  struct stat status {};

  if (!standard_input && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    state->file_bytes = static_cast<std::uint64_t>(status.st_size);
  }
  return PacketSource(std::move(state));
}

Result<PacketSource> PacketSource::open_interface(const std::string& name,
                                                  const std::string& filter) {
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  auto state = std::make_unique<State>();
  state->name = name;
  state->live = true;
  state->pcap.reset(pcap_create(name.c_str(), error.data()));
  if (!state->pcap) return outside_error(name + ": " + error.data());
  pcap_t* pcap = state->pcap.get();
  pcap_set_snaplen(pcap, kSnapshotBytes);
  pcap_set_promisc(pcap, 1);
  pcap_set_timeout(pcap, kWaitMs);
  pcap_set_buffer_size(pcap, kBufferBytes);
  pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
  const int code = pcap_activate(pcap);
  if (code < 0) return activation_error(pcap, name, code);
  if (auto known = check_link_type(pcap, name); !known) return known.error();
  if (auto set = set_filter(pcap, filter); !set) return set.error();
  if (pcap_setnonblock(pcap, 0, error.data()) != 0)
    return outside_error(name + ": " + error.data());
  return PacketSource(std::move(state));
}

PacketSource::PacketSource(std::unique_ptr<State> state) : state_(std::move(state)) {}

PacketSource::PacketSource(PacketSource&&) noexcept = default;
PacketSource& PacketSource::operator=(PacketSource&&) noexcept = default;
PacketSource::~PacketSource() = default;

Result<PacketSource::Next> PacketSource::next(Packet& packet) {
  State& state = *state_;
  if (state.ended) return Next::end;
  pcap_pkthdr* header = nullptr;
  const u_char* bytes = nullptr;
  const int code = pcap_next_ex(state.pcap.get(), &header, &bytes);
  if (code == 1) {
    const bool nanoseconds =
        pcap_get_tstamp_precision(state.pcap.get()) == PCAP_TSTAMP_PRECISION_NANO;
    packet.at = time_of(header->ts, nanoseconds);
    packet.bytes = {reinterpret_cast<const char*>(bytes), header->caplen};
    packet.wire_bytes = header->len;
    return Next::packet;
  }
  if (code == 0) return Next::quiet;
  state.ended = true;
  if (code == PCAP_ERROR_BREAK) return Next::end;
  const char* text = pcap_geterr(state.pcap.get());
  if (state.live) return outside_error(state.name + ": the capture broke off: " + text);
  const std::uint64_t whole = state.file_bytes > 0 ? whole_bytes(state.name) : 0;
  if (whole > 0) state.cut_bytes = state.file_bytes - whole;
  if (!starts_with(text, "truncated")) state.damage = text;
  return Next::end;
}

int PacketSource::link_type() const {
  return pcap_datalink(state_->pcap.get());
}

PacketSource::Drops PacketSource::drops() const {
  if (!state_->live) return {};
  pcap_stat statistics{};
  if (pcap_stats(state_->pcap.get(), &statistics) != 0) return {};
  return {statistics.ps_drop, statistics.ps_ifdrop};
}

std::uint64_t PacketSource::cut_bytes() const {
  return state_->cut_bytes;
}

const std::string& PacketSource::damage() const {
  return state_->damage;
}

}  // namespace gatedrill::replay::capture
