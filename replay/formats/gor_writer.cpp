#include <array>
#include <cinttypes>
#include <cstdio>

#include "replay/formats/endpoint.hpp"
#include "replay/formats/gor.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

// 24 digits, as of a capture: client port, server port, client address; then a number of its own
// for each exchange, so that ids are unique. Where the address is not known or not IPv4, client
// port 0 and the connection stand there.
std::string id_of(const RecordedExchange& exchange, std::uint32_t number) {
  const auto client = parse_endpoint(exchange.client);
  const auto server = parse_endpoint(exchange.server);
  const bool known = client && !client->is_v6 && client->port != 0;
  auto address = static_cast<std::uint32_t>(exchange.connection);
  if (known) {
    address = 0;
    for (std::size_t i = 0; i < 4; ++i)
      address = (address << 8U) | client->address.at(i);
  }
  std::array<char, 25> digits{};
  std::snprintf(digits.data(), digits.size(), "%04x%04x%08" PRIx32 "%08" PRIx32,
                known ? unsigned{client->port} : 0U, server ? unsigned{server->port} : 0U, address,
                number);
  return digits.data();
}

struct Record {
  char type = '1';
  std::string_view id;
  UnixTime at{};
  Duration latency{0};  // from the message's first byte to its last
};

void write_record(Output& output, const Record& record, std::string_view payload) {
  std::string meta(1, record.type);
  meta.append(" ").append(record.id).append(" ").append(std::to_string(record.at.ns));
  meta.append(" ").append(std::to_string(record.latency.count())).append("\n");
  output.write(meta);
  output.write(payload);
  output.write(kGorSeparator);
}

// Whether no reader finds a separator in it, or one too many behind it.
bool is_safe(std::string_view payload) {
  if (payload.find(kGorMonkeys) == std::string_view::npos) return true;
  std::string behind(payload);
  behind.append(kGorSeparator);
  return behind.find(kGorSeparator) == payload.size();
}

class GorWriter {
 public:
  GorWriter(Output& output, ExportNotes& notes) : output_(output), notes_(notes) {}

  void write(const RecordedExchange& exchange) {
    const std::string id = id_of(exchange, ++number_);
    if (exchange.request && !write_request(exchange, id)) return;
    if (exchange.response) write_answer(exchange, id);
  }

 private:
  bool write_request(const RecordedExchange& exchange, std::string_view id) {
    const RecordedRequest& request = *exchange.request;
    if (!is_whole(request)) {
      notes_.add("exchanges left out: the request is not whole", exchange.id);
      return false;
    }
    auto wire = to_wire(request, exchange.host);
    if (wire && !is_safe(wire->bytes)) wire = to_wire(request, exchange.host, kGorMonkeys);
    if (wire && !is_safe(wire->bytes)) wire.reset();
    if (!wire) {
      notes_.add("exchanges left out: the request cannot be written as HTTP/1", exchange.id);
      return false;
    }
    note(wire->changes, exchange.id, notes_);
    const Duration taken = between(exchange.at, exchange.request_end.value_or(exchange.at));
    write_record(output_, {.type = '1', .id = id, .at = exchange.at, .latency = taken},
                 wire->bytes);
    return true;
  }

  void write_answer(const RecordedExchange& exchange, std::string_view id) {
    const RecordedResponse& response = *exchange.response;
    if (!is_whole(response)) {
      notes_.add("answers left out: not whole", exchange.id);
      return;
    }
    const std::string_view method = method_of(exchange);
    auto wire = to_wire(response, method);
    if (wire && !is_safe(wire->bytes)) wire = to_wire(response, method, kGorMonkeys);
    if (wire && !is_safe(wire->bytes)) wire.reset();
    if (!wire) {
      notes_.add("answers left out: cannot be written as HTTP/1", exchange.id);
      return;
    }
    note(wire->changes, exchange.id, notes_);
    // What is not known of its times: it came at once, when the answer ended.
    const UnixTime end = later(exchange.at, exchange.latency.value_or(Duration{0}));
    const UnixTime begin = exchange.response_begin.value_or(end);
    const Duration taken = between(begin, exchange.response_end.value_or(begin));
    write_record(output_, {.type = '2', .id = id, .at = begin, .latency = taken}, wire->bytes);
  }

  Output& output_;
  ExportNotes& notes_;
  std::uint32_t number_ = 0;
};

}  // namespace

Result<void> write_gor(const Recording& recording, Output& output, ExportNotes& notes) {
  GorWriter writer(output, notes);
  return recording.for_each([&](const RecordedExchange& exchange) {
    writer.write(exchange);
    return !output.failed();
  });
}

}  // namespace gatedrill::replay::formats
