// Recorded connections and exchanges become TCP connections:
//
//   connection ──► Flow (one TCP connection) ──► PacketSchedule ──► packets, in the order of time
//        └─ exchanges that overlap, or follow a message that is not whole ──► another Flow
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "gateway/core/random.hpp"
#include "replay/formats/pcap.hpp"
#include "replay/formats/pcap_schedule.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

class PcapWriter {
 public:
  PcapWriter(std::vector<RecordedConnection> connections, Output& output, ExportNotes& notes)
      : notes_(notes), schedule_(output, [this](const Flow& flow) { forget(flow); }) {
    for (RecordedConnection& connection : connections)
      connections_.emplace(connection.connection, std::move(connection));
    for (const auto& [id, connection] : connections_) {
      if (connection.opened) opens_.push_back(&connection);
    }
    std::sort(opens_.begin(), opens_.end(),
              [](const auto* a, const auto* b) { return *a->opened < *b->opened; });
    output.write(pcap_file_header());
  }

  void write(const RecordedExchange& exchange) {
    open_until(exchange.at.ns);
    schedule_.send_until(exchange.at.ns);
    Messages messages;
    if (!prepare(exchange, messages)) return;
    auto flow = flow_for(exchange, messages);
    queue_messages(exchange, messages, flow);
    if (schedule_.waiting_bytes() < kWaitingBytesMax) return;
    notes_.add("times at which too much is under way: what follows there is not in their order",
               exchange.id);
    schedule_.send_all();
  }

  void finish() {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    open_until(kEnd);
    schedule_.send_all();
  }

 private:
  struct Messages {
    std::shared_ptr<const std::string> request;
    std::shared_ptr<const std::string> response;
    bool ends_at_close = false;
    bool broken = false;  // nothing can follow on the connection
    std::int64_t request_end_ns = 0;
    std::int64_t response_begin_ns = 0;
    std::int64_t response_end_ns = 0;
  };

  // The messages' bytes and times; false where there is nothing to write.
  bool prepare(const RecordedExchange& exchange, Messages& messages) {
    if (exchange.request) {
      auto wire = to_wire(*exchange.request, exchange.host);
      if (!wire) {
        notes_.add("exchanges left out: the request cannot be written as HTTP/1", exchange.id);
        return false;
      }
      note(wire->changes, exchange.id, notes_);
      messages.broken = !is_whole(*exchange.request);
      if (messages.broken) notes_.add("requests that are not whole", exchange.id);
      messages.request = std::make_shared<const std::string>(std::move(wire->bytes));
    }
    if (exchange.response) {
      auto wire = to_wire(*exchange.response, method_of(exchange));
      if (!wire) {
        notes_.add("answers left out: cannot be written as HTTP/1", exchange.id);
      } else {
        note(wire->changes, exchange.id, notes_);
        const bool whole = is_whole(*exchange.response);
        if (!whole) notes_.add("answers that are not whole", exchange.id);
        messages.broken = messages.broken || !whole || exchange.tunnel;
        messages.ends_at_close = wire->ends_at_close && whole && !exchange.tunnel;
        messages.response =
            std::make_shared<const std::string>(informational(exchange) + wire->bytes);
      }
    }
    if (!messages.response || !messages.request) messages.broken = true;
    const UnixTime at = exchange.at;
    const UnixTime request_end = std::max(exchange.request_end.value_or(at), at);
    const UnixTime end = std::max(later(at, exchange.latency.value_or(Duration{0})), request_end);
    const UnixTime begin = std::max(exchange.response_begin.value_or(end), at);
    messages.request_end_ns = request_end.ns;
    messages.response_begin_ns = begin.ns;
    messages.response_end_ns = std::max(exchange.response_end.value_or(end), begin).ns;
    return messages.request || messages.response;
  }

  // Only their numbers are recorded.
  std::string informational(const RecordedExchange& exchange) {
    std::string text;
    for (const int status : exchange.informational)
      text += "HTTP/1.1 " + std::to_string(status) + " \r\n\r\n";
    if (!text.empty()) {
      notes_.add("exchanges whose 1xx answers are written without their fields", exchange.id);
    }
    return text;
  }

  // Answers come in the order of their requests, and one at a time: what fits to that stays on its
  // connection, anything else gets another.
  static bool fits(const Flow& flow, UnixTime at, const Messages& messages) {
    return flow.usable && flow.client.last_ns <= at.ns &&
           flow.server.last_ns <= messages.response_begin_ns;
  }

  FlowPointer flow_for(const RecordedExchange& exchange, const Messages& messages) {
    Flows& flows = flows_[exchange.connection];
    const bool first = flows.empty();
    for (const FlowPointer& flow : flows) {
      if (fits(*flow, exchange.at, messages)) return flow;
    }
    std::erase_if(flows, [](const FlowPointer& flow) {
      return !flow->usable && flow->client.queued + flow->server.queued == 0;
    });
    RecordedConnection connection;
    connection.connection = exchange.connection;
    connection.server = exchange.server;
    const auto recorded = connections_.find(exchange.connection);
    if (first && recorded != connections_.end() && !recorded->second.opened) {
      connection = recorded->second;  // its handshake was not seen
    } else if (first) {
      connection.client = exchange.client;
    } else {
      notes_.add("exchanges on a connection of their own: on theirs the one before was not over",
                 exchange.id);
      connection.client = exchange.client.substr(0, exchange.client.rfind(':'));
    }
    auto flow = make_flow(connection, exchange.id);
    schedule_.handshake(flow, exchange.at.ns, exchange.at.ns, exchange.at.ns);
    plan_end(connection, flow);
    flows.push_back(flow);
    return flow;
  }

  // The handshakes that were seen, of connections without exchanges too.
  void open_until(std::int64_t until_ns) {
    for (; next_open_ < opens_.size() && opens_[next_open_]->opened->ns <= until_ns; ++next_open_) {
      const RecordedConnection& connection = *opens_[next_open_];
      const std::int64_t opened = connection.opened->ns;
      schedule_.send_until(opened);
      auto flow = make_flow(connection, 0);
      if (connection.connect == "refused" || connection.connect == "unanswered") {
        schedule_.push(flow, From::client, opened, {.syn = true});
        const std::int64_t refused = connection.closed.value_or(*connection.opened).ns;
        if (connection.connect == "refused") {
          schedule_.push(flow, From::server, refused, {.rst = true, .ack = true});
        }
        continue;
      }
      const std::int64_t answered = connection.answered.value_or(*connection.opened).ns;
      const std::int64_t established = connection.established.value_or(UnixTime{answered}).ns;
      schedule_.handshake(flow, opened, answered, established);
      plan_end(connection, flow);
      flows_[connection.connection].push_back(flow);
    }
  }

  void plan_end(const RecordedConnection& connection, const FlowPointer& flow) {
    const auto plan = [&](From from, const RecordedSide& told) {
      const bool closer = connection.closed_by == (from == From::client ? "client" : "server");
      std::optional<UnixTime> fin = told.fin;
      std::optional<UnixTime> rst = told.rst;
      const bool untold = !fin && !rst && closer;
      if (untold && connection.how == "fin") fin = connection.closed;
      if (untold && connection.how == "rst") rst = connection.closed;
      flow->way(from).ends = fin.has_value();
      if (fin) schedule_.plan(flow, from, fin->ns, kFin);
      if (rst) schedule_.plan(flow, from, rst->ns, kRst);
    };
    plan(From::client, connection.client_side);
    plan(From::server, connection.server_side);
  }

  FlowPointer make_flow(const RecordedConnection& connection, std::int64_t exchange) {
    auto flow = std::make_shared<Flow>();
    flow->connection = connection.connection;
    const std::uint64_t isn = stable_hash("isn", ++flow_number_);
    flow->client.next = static_cast<std::uint32_t>(isn);
    flow->server.next = static_cast<std::uint32_t>(isn >> 32U);
    Endpoint& to = flow->server.source;
    Endpoint& from = flow->client.source;
    const auto server = address_of(connection.server);
    const auto client = address_of(connection.client);
    to = server.value_or(Endpoint{{198, 51, 100, 1}, false, port_of(connection.server)});
    if (to.port == 0) to.port = kHttpPort;
    if (to.port == kHttpsPort) {
      to.port = kHttpPort;
      notes_.add("on connections to port 443, written to port 80, where Wireshark expects HTTP",
                 exchange);
    }
    const bool client_fits = client && client->is_v6 == to.is_v6;
    if (client_fits) {
      from = *client;
    } else if (to.is_v6) {
      from.is_v6 = true;
      from.address = {0x20, 0x01, 0x0d, 0xb8};
      from.address[15] = 1;
    } else {
      from.address = {192, 0, 2, 1};
    }
    if (!server || !client_fits) {
      notes_.add("on connections between addresses for documentation: theirs are not known",
                 exchange);
    }
    if (from.port == 0) {
      take_port(from, to);
    } else if (used_.count(key_of(from, to)) > 0) {
      take_port(from, to);
      notes_.add("on connections with another client port: another connection still has theirs",
                 exchange);
    }
    used_.insert(key_of(from, to));
    return flow;
  }

  // "10.0.0.1:5678", or without a port.
  static std::optional<Endpoint> address_of(const std::string& text) {
    auto endpoint = parse_endpoint(text);
    return endpoint ? endpoint : parse_endpoint(text + ":0");
  }

  // That of "shop.example:8080".
  static std::uint16_t port_of(const std::string& text) {
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    const auto endpoint = parse_endpoint("0.0.0.0" + text.substr(colon));
    return endpoint ? endpoint->port : std::uint16_t{0};
  }

  void take_port(Endpoint& from, const Endpoint& to) {
    constexpr std::uint16_t kFirst = 1024;
    constexpr std::uint16_t kLast = std::numeric_limits<std::uint16_t>::max();
    for (int tries = kFirst; tries < kLast; ++tries) {
      const bool wrap = next_port_ < kFirst || next_port_ == kLast;
      next_port_ = wrap ? kFirst : static_cast<std::uint16_t>(next_port_ + 1);
      from.port = next_port_;
      if (used_.count(key_of(from, to)) == 0) return;
    }
  }

  void queue_messages(const RecordedExchange& exchange,
                      const Messages& messages,
                      const FlowPointer& flow) {
    if (messages.request) {
      schedule_.push_bytes(flow, From::client, messages.request, exchange.at.ns,
                           messages.request_end_ns);
    }
    if (messages.response) {
      const bool early = messages.response_begin_ns < messages.request_end_ns;
      const std::int64_t begin = early ? messages.response_begin_ns
                                       : std::max(messages.response_begin_ns, flow->client.last_ns);
      schedule_.push_bytes(flow, From::server, messages.response, begin, messages.response_end_ns);
    }
    if (messages.broken || messages.ends_at_close) flow->usable = false;
    if (messages.ends_at_close && !flow->server.ends) {
      flow->server.ends = true;
      schedule_.push(flow, From::server, flow->server.last_ns, kFin);
    }
  }

  void forget(const Flow& flow) {
    used_.erase(key_of(flow.client.source, flow.server.source));
    const auto found = flows_.find(flow.connection);
    if (found == flows_.end()) return;
    std::erase_if(found->second, [](const FlowPointer& one) { return one->over; });
    if (found->second.empty()) flows_.erase(found);
  }

  // What thousands of exchanges at one time may hold.
  static constexpr std::size_t kWaitingBytesMax = std::size_t{64} * 1024 * 1024;
  static constexpr std::uint16_t kHttpPort = 80;
  static constexpr std::uint16_t kHttpsPort = 443;
  static constexpr TcpFlags kFin = {.fin = true, .ack = true};
  static constexpr TcpFlags kRst = {.rst = true, .ack = true};
  using Flows = std::vector<FlowPointer>;
  using Key = std::tuple<std::array<std::uint8_t, 16>,
                         std::uint16_t,
                         std::array<std::uint8_t, 16>,
                         std::uint16_t>;

  static Key key_of(const Endpoint& from, const Endpoint& to) {
    return {from.address, from.port, to.address, to.port};
  }

  ExportNotes& notes_;
  PacketSchedule schedule_;
  std::map<std::int64_t, RecordedConnection> connections_;
  std::vector<const RecordedConnection*> opens_;
  std::size_t next_open_ = 0;
  std::map<std::int64_t, Flows> flows_;
  std::set<Key> used_;  // by connections that are not over
  std::uint64_t flow_number_ = 0;
  std::uint16_t next_port_ = 0;
};

}  // namespace

Result<void> write_pcap(const Recording& recording, Output& output, ExportNotes& notes) {
  auto connections = recording.connections();
  if (!connections) return connections.error();
  PcapWriter writer(std::move(*connections), output, notes);
  auto done = recording.for_each([&](const RecordedExchange& exchange) {
    writer.write(exchange);
    return !output.failed();
  });
  if (!done) return done;
  writer.finish();
  return {};
}

Format pcap_format() {
  return {.name = "pcap",
          .title = "packet capture for Wireshark, with TCP connections as they were",
          .aliases = {"pcapng", "wireshark", "tcpdump"},
          .read_by = "gatedrill capture -r FILE",
          .write = write_pcap};
}

}  // namespace gatedrill::replay::formats
