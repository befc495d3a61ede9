// Connections are written as they go on, in the order of time: what is due waits in a queue, and a
// packet gets its numbers when it leaves.
//
//   connection ──► Flow (one TCP connection) ──► queue by time ──► packets
//        └─ exchanges that overlap, or follow a message that is not whole ──► another Flow
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

#include "gateway/core/random.hpp"
#include "replay/formats/pcap.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

enum class From : std::uint8_t { client, server };

From other(From side) {
  return side == From::client ? From::server : From::client;
}

// One direction of a connection.
struct Way {
  Endpoint source;
  std::uint32_t next = 0;                                           // sequence number
  std::uint32_t queued = 0;                                         // packets that have not left
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();  // of what was queued
  std::uint32_t unacknowledged = 0;                                 // segments
  bool ends = false;                                                // a FIN is planned
  bool closed = false;                                              // it has left
};

// One TCP connection in the file.
struct Flow {
  std::int64_t connection = 0;
  Way client;
  Way server;
  bool usable = true;  // for another exchange
  bool over = false;   // reset, or closed from both sides

  Way& way(From side) { return side == From::client ? client : server; }
};

struct Due {
  std::int64_t at_ns = 0;
  std::uint64_t order = 0;  // of equal times
  std::shared_ptr<Flow> flow{};
  From from = From::client;
  TcpFlags flags{};
  std::shared_ptr<const std::string> bytes{};
  std::size_t begin = 0;
  std::size_t size = 0;
  bool planned = false;  // counted in its way's `queued`

  bool operator>(const Due& b) const { return std::tie(at_ns, order) > std::tie(b.at_ns, b.order); }
};

class PcapWriter {
 public:
  PcapWriter(std::vector<RecordedConnection> connections, Output& output, ExportNotes& notes)
      : output_(output), notes_(notes) {
    for (RecordedConnection& connection : connections)
      connections_.emplace(connection.connection, std::move(connection));
    for (const auto& [id, connection] : connections_) {
      if (connection.opened) opens_.push_back(&connection);
    }
    std::sort(opens_.begin(), opens_.end(),
              [](const auto* a, const auto* b) { return *a->opened < *b->opened; });
    output_.write(pcap_file_header());
  }

  void write(const RecordedExchange& exchange) {
    open_until(exchange.at.ns);
    send_until(exchange.at.ns);
    Messages messages;
    if (!prepare(exchange, messages)) return;
    auto flow = flow_for(exchange, messages);
    queue_messages(exchange, messages, flow);
  }

  void finish() {
    constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
    open_until(kEnd);
    while (!queue_.empty() && !output_.failed())
      send_next();
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
      note(wire->changes, exchange.id);
      messages.broken = !exchange.request->complete;
      if (messages.broken) notes_.add("requests that are not whole", exchange.id);
      messages.request = std::make_shared<const std::string>(std::move(wire->bytes));
    }
    if (exchange.response) {
      auto wire = to_wire(*exchange.response, exchange.request ? exchange.request->method : "");
      if (!wire) {
        notes_.add("answers left out: cannot be written as HTTP/1", exchange.id);
      } else {
        note(wire->changes, exchange.id);
        const bool whole = exchange.response->complete;
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

  void note(const WireChanges& changes, std::int64_t exchange) {
    if (changes.framing) {
      notes_.add("messages framed anew (Content-Length or chunked)", exchange);
    }
    if (changes.version) notes_.add("messages of HTTP/2 written as HTTP/1.1", exchange);
    if (changes.fields) notes_.add("messages with fields that cannot be written", exchange);
  }

  // Answers come in the order of their requests, and one at a time: what fits to that stays on its
  // connection, anything else gets another.
  static bool fits(const Flow& flow, UnixTime at, const Messages& messages) {
    return flow.usable && flow.client.last_ns <= at.ns &&
           flow.server.last_ns <= messages.response_begin_ns;
  }

  std::shared_ptr<Flow> flow_for(const RecordedExchange& exchange, const Messages& messages) {
    Flows& flows = flows_[exchange.connection];
    const bool first = flows.empty();
    for (const std::shared_ptr<Flow>& flow : flows) {
      if (fits(*flow, exchange.at, messages)) return flow;
    }
    std::erase_if(flows, [](const std::shared_ptr<Flow>& flow) {
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
    handshake(flow, exchange.at.ns, exchange.at.ns, exchange.at.ns);
    plan_end(connection, flow);
    flows.push_back(flow);
    return flow;
  }

  // The handshakes that were seen, of connections without exchanges too.
  void open_until(std::int64_t until_ns) {
    for (; next_open_ < opens_.size() && opens_[next_open_]->opened->ns <= until_ns; ++next_open_) {
      const RecordedConnection& connection = *opens_[next_open_];
      const std::int64_t opened = connection.opened->ns;
      send_until(opened);
      auto flow = make_flow(connection, 0);
      if (connection.connect == "refused" || connection.connect == "unanswered") {
        push(flow, From::client, opened, {.syn = true});
        const std::int64_t refused = connection.closed.value_or(*connection.opened).ns;
        if (connection.connect == "refused") {
          push(flow, From::server, refused, {.rst = true, .ack = true});
        }
        continue;
      }
      const std::int64_t answered = connection.answered.value_or(*connection.opened).ns;
      const std::int64_t established = connection.established.value_or(UnixTime{answered}).ns;
      handshake(flow, opened, answered, established);
      plan_end(connection, flow);
      flows_[connection.connection].push_back(flow);
    }
  }

  void handshake(const std::shared_ptr<Flow>& flow,
                 std::int64_t syn_ns,
                 std::int64_t answer_ns,
                 std::int64_t established_ns) {
    push(flow, From::client, syn_ns, {.syn = true});
    push(flow, From::server, std::max(answer_ns, syn_ns), {.syn = true, .ack = true});
    push(flow, From::client, std::max({established_ns, answer_ns, syn_ns}), {.ack = true});
  }

  // FIN and RST at their times; `may_end` lets a side finish that has more to send by then.
  void plan_end(const RecordedConnection& connection, const std::shared_ptr<Flow>& flow) {
    const auto plan = [&](From from, const RecordedSide& told) {
      const bool closer = connection.closed_by == (from == From::client ? "client" : "server");
      std::optional<UnixTime> fin = told.fin;
      std::optional<UnixTime> rst = told.rst;
      const bool untold = !fin && !rst && closer;
      if (untold && connection.how == "fin") fin = connection.closed;
      if (untold && connection.how == "rst") rst = connection.closed;
      flow->way(from).ends = fin.has_value();
      if (fin) wait(Due{.at_ns = fin->ns, .flow = flow, .from = from, .flags = kFin});
      if (rst) wait(Due{.at_ns = rst->ns, .flow = flow, .from = from, .flags = kRst});
    };
    plan(From::client, connection.client_side);
    plan(From::server, connection.server_side);
  }

  std::shared_ptr<Flow> make_flow(const RecordedConnection& connection, std::int64_t exchange) {
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
                      const std::shared_ptr<Flow>& flow) {
    if (messages.request) {
      push_bytes(flow, From::client, messages.request, exchange.at.ns, messages.request_end_ns);
    }
    if (messages.response) {
      const bool early = messages.response_begin_ns < messages.request_end_ns;
      const std::int64_t begin = early ? messages.response_begin_ns
                                       : std::max(messages.response_begin_ns, flow->client.last_ns);
      push_bytes(flow, From::server, messages.response, begin, messages.response_end_ns);
    }
    if (messages.broken || messages.ends_at_close) flow->usable = false;
    if (messages.ends_at_close && !flow->server.ends) {
      flow->server.ends = true;
      push(flow, From::server, flow->server.last_ns, kFin);
    }
  }

  // Segments from the first byte's time to the last one's.
  void push_bytes(const std::shared_ptr<Flow>& flow,
                  From from,
                  const std::shared_ptr<const std::string>& bytes,
                  std::int64_t begin_ns,
                  std::int64_t end_ns) {
    const std::size_t most = mss(flow->client.source.is_v6);
    const std::int64_t all =
        std::max<std::int64_t>(between(UnixTime{begin_ns}, UnixTime{end_ns}).count(), 0);
    // Where the first and the last byte have different times, they are in different segments.
    const std::size_t size =
        std::min(most, all > 0 && bytes->size() > 1 ? bytes->size() - 1 : most);
    const std::size_t segments = (bytes->size() + size - 1) / size;
    for (std::size_t i = 0; i < segments; ++i) {
      const double share =
          segments > 1 ? static_cast<double>(i) / static_cast<double>(segments - 1) : 0.0;
      const bool last = i > 0 && i + 1 == segments;
      const std::int64_t passed =
          last ? all : static_cast<std::int64_t>(static_cast<double>(all) * share);
      const std::size_t begin = i * size;
      push({.at_ns = later(UnixTime{begin_ns}, Duration{passed}).ns,
            .flow = flow,
            .from = from,
            .flags = {.ack = true},
            .bytes = bytes,
            .begin = begin,
            .size = std::min(size, bytes->size() - begin)});
    }
  }

  void push(const std::shared_ptr<Flow>& flow, From from, std::int64_t at_ns, TcpFlags flags) {
    push({.at_ns = at_ns, .flow = flow, .from = from, .flags = flags});
  }

  // Nothing of one side leaves before what it sent earlier.
  void push(Due due) {
    Way& way = due.flow->way(due.from);
    due.at_ns = std::max(due.at_ns, way.last_ns);
    way.last_ns = due.at_ns;
    ++way.queued;
    due.planned = true;
    wait(std::move(due));
  }

  void wait(Due due) {
    due.order = ++order_;
    queue_.push(std::move(due));
  }

  void send_until(std::int64_t until_ns) {
    while (!queue_.empty() && queue_.top().at_ns < until_ns && !output_.failed())
      send_next();
  }

  void send_next() {
    Due due = queue_.top();
    queue_.pop();
    send(std::move(due));
  }

  void send(Due due) {
    Flow& flow = *due.flow;
    if (due.planned) --flow.way(due.from).queued;
    if (flow.over || waits(due)) return;
    Way& way = flow.way(due.from);
    write_packet(
        flow, due.from, due.flags,
        due.bytes ? std::string_view(*due.bytes).substr(due.begin, due.size) : std::string_view{},
        due.at_ns);
    way.next += static_cast<std::uint32_t>(due.size);
    if (due.flags.syn || due.flags.fin) ++way.next;
    acknowledge(due);
    if (!due.flags.fin && !due.flags.rst) return;
    flow.usable = false;
    way.closed = true;
    flow.over = due.flags.rst || (flow.client.closed && flow.server.closed);
    if (flow.over) forget(flow);
  }

  // Whether an end has to wait for what its side, or in a reset both, still have to send.
  bool waits(const Due& due) {
    Flow& flow = *due.flow;
    if (due.planned || (!due.flags.fin && !due.flags.rst)) return false;
    const bool reset = due.flags.rst;
    const std::uint32_t queued =
        reset ? flow.client.queued + flow.server.queued : flow.way(due.from).queued;
    if (queued == 0) return false;
    Due later = due;
    later.at_ns =
        reset ? std::max(flow.client.last_ns, flow.server.last_ns) : flow.way(due.from).last_ns;
    wait(std::move(later));
    return true;
  }

  void forget(const Flow& flow) {
    used_.erase(key_of(flow.client.source, flow.server.source));
    const auto found = flows_.find(flow.connection);
    if (found == flows_.end()) return;
    std::erase_if(found->second, [](const std::shared_ptr<Flow>& one) { return one->over; });
    if (found->second.empty()) flows_.erase(found);
  }

  void acknowledge(const Due& due) {
    constexpr std::uint32_t kSegmentsPerAcknowledgement = 16;
    Way& way = due.flow->way(due.from);
    const bool last = due.bytes && due.begin + due.size == due.bytes->size();
    if (due.bytes) ++way.unacknowledged;
    const bool enough = way.unacknowledged >= kSegmentsPerAcknowledgement;
    if (!due.flags.fin && !last && !enough) return;
    way.unacknowledged = 0;
    write_packet(*due.flow, other(due.from), {.ack = true}, {}, due.at_ns);
  }

  void write_packet(
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

  static constexpr std::uint16_t kHttpPort = 80;
  static constexpr std::uint16_t kHttpsPort = 443;
  static constexpr TcpFlags kFin = {.fin = true, .ack = true};
  static constexpr TcpFlags kRst = {.rst = true, .ack = true};
  using Flows = std::vector<std::shared_ptr<Flow>>;
  using Key = std::tuple<std::array<std::uint8_t, 16>,
                         std::uint16_t,
                         std::array<std::uint8_t, 16>,
                         std::uint16_t>;

  static Key key_of(const Endpoint& from, const Endpoint& to) {
    return {from.address, from.port, to.address, to.port};
  }

  Output& output_;
  ExportNotes& notes_;
  std::map<std::int64_t, RecordedConnection> connections_;
  std::vector<const RecordedConnection*> opens_;
  std::size_t next_open_ = 0;
  std::map<std::int64_t, Flows> flows_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue_;
  std::set<Key> used_;  // by connections that are not over
  std::uint64_t order_ = 0;
  std::uint64_t flow_number_ = 0;
  std::uint16_t next_port_ = 0;
  std::uint16_t ip_id_ = 0;
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
