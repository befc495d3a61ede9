#include "replay/formats/pcap_schedule.hpp"

#include <algorithm>

#include "replay/formats/timestamps.hpp"

namespace gatedrill::replay::formats {
namespace {

From other(From side) {
  return side == From::client ? From::server : From::client;
}

}  // namespace

void PacketSchedule::handshake(const FlowPointer& flow,
                               std::int64_t syn_ns,
                               std::int64_t answer_ns,
                               std::int64_t established_ns) {
  push(flow, From::client, syn_ns, {.syn = true});
  push(flow, From::server, std::max(answer_ns, syn_ns), {.syn = true, .ack = true});
  push(flow, From::client, std::max({established_ns, answer_ns, syn_ns}), {.ack = true});
}

void PacketSchedule::push(const FlowPointer& flow, From from, std::int64_t at_ns, TcpFlags flags) {
  push({.at_ns = at_ns, .flow = flow, .from = from, .flags = flags});
}

void PacketSchedule::push_bytes(const FlowPointer& flow,
                                From from,
                                const std::shared_ptr<const std::string>& bytes,
                                std::int64_t begin_ns,
                                std::int64_t end_ns) {
  const std::size_t most = mss(flow->client.source.is_v6);
  const std::int64_t all =
      std::max<std::int64_t>(between(UnixTime{begin_ns}, UnixTime{end_ns}).count(), 0);
  // Where the first and the last byte have different times, they are in different segments: the
  // last chunk is in one, since Wireshark does not find a message whose very last byte stands
  // alone.
  constexpr std::size_t kLastChunk = std::string_view("0\r\n\r\n").size();
  const std::size_t tail = std::min(kLastChunk, bytes->size() / 2);
  const bool split = all > 0 && tail > 0;
  const std::size_t before = bytes->size() - (split ? tail : 0);
  const std::size_t segments = (before + most - 1) / most + (split ? 1 : 0);
  for (std::size_t i = 0; i < segments; ++i) {
    const double share =
        segments > 1 ? static_cast<double>(i) / static_cast<double>(segments - 1) : 0.0;
    const bool last = i > 0 && i + 1 == segments;
    const Duration passed{last ? all : static_cast<std::int64_t>(static_cast<double>(all) * share)};
    const bool is_tail = split && last;
    const std::size_t begin = is_tail ? before : i * most;
    const std::size_t end = is_tail ? bytes->size() : std::min(begin + most, before);
    push({.at_ns = later(UnixTime{begin_ns}, passed).ns,
          .flow = flow,
          .from = from,
          .flags = {.ack = true},
          .bytes = bytes,
          .begin = begin,
          .size = end - begin});
  }
}

void PacketSchedule::push(Due due) {
  Way& way = due.flow->way(due.from);
  due.at_ns = std::max(due.at_ns, way.last_ns);
  way.last_ns = due.at_ns;
  ++way.queued;
  waiting_bytes_ += due.size;
  wait(std::move(due));
}

void PacketSchedule::plan(const FlowPointer& flow, From from, std::int64_t at_ns, TcpFlags flags) {
  wait({.at_ns = at_ns, .flow = flow, .from = from, .flags = flags, .planned = true});
}

void PacketSchedule::wait(Due due) {
  due.order = ++order_;
  queue_.push(std::move(due));
}

void PacketSchedule::send_until(std::int64_t until_ns) {
  while (!queue_.empty() && queue_.top().at_ns < until_ns && !output_.failed())
    send_next();
}

void PacketSchedule::send_all() {
  while (!queue_.empty() && !output_.failed())
    send_next();
}

void PacketSchedule::send_next() {
  const Due due = queue_.top();
  queue_.pop();
  Flow& flow = *due.flow;
  Way& way = flow.way(due.from);
  if (!due.planned) --way.queued;
  waiting_bytes_ -= due.size;
  if (flow.over || (due.planned && waits(due))) return;
  write(flow, due.from, due.flags,
        due.bytes ? std::string_view(*due.bytes).substr(due.begin, due.size) : std::string_view{},
        due.at_ns);
  way.next += static_cast<std::uint32_t>(due.size);
  if (due.flags.syn || due.flags.fin) ++way.next;
  acknowledge(due);
  if (!due.flags.fin && !due.flags.rst) return;
  flow.usable = false;
  way.closed = true;
  flow.over = due.flags.rst || (flow.client.closed && flow.server.closed);
  if (flow.over) on_over_(flow);
}

bool PacketSchedule::waits(const Due& due) {
  const Way& way = due.flow->way(due.from);
  const Way& back = due.flow->way(other(due.from));
  const bool reset = due.flags.rst;
  if (way.queued + (reset ? back.queued : 0) == 0) return false;
  Due again = due;
  again.at_ns = reset ? std::max(way.last_ns, back.last_ns) : way.last_ns;
  wait(std::move(again));
  return true;
}

void PacketSchedule::acknowledge(const Due& due) {
  constexpr std::uint32_t kSegmentsPerAcknowledgement = 16;
  Way& way = due.flow->way(due.from);
  const bool last = due.bytes && due.begin + due.size == due.bytes->size();
  if (due.bytes) ++way.unacknowledged;
  const bool enough = way.unacknowledged >= kSegmentsPerAcknowledgement;
  if (!due.flags.fin && !last && !enough) return;
  way.unacknowledged = 0;
  write(*due.flow, other(due.from), {.ack = true}, {}, due.at_ns);
}

void PacketSchedule::write(
    Flow& flow, From from, const TcpFlags& flags, std::string_view payload, std::int64_t at_ns) {
  const Way& way = flow.way(from);
  const Way& back = flow.way(other(from));
  output_.write(pcap_packet({.source = way.source,
                             .destination = back.source,
                             .seq = way.next,
                             .ack = back.next,
                             .flags = flags,
                             .payload = payload},
                            UnixTime{at_ns}, ++ip_id_));
}

}  // namespace gatedrill::replay::formats
