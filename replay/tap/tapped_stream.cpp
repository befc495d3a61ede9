#include "replay/tap/tapped_stream.hpp"

#include <charconv>
#include <string>

#include <arpa/inet.h>

namespace gatedrill::replay {
namespace {

using capture::Side;

// "10.0.0.1:80", "[::1]:80".
capture::Endpoint endpoint_of(std::string_view text) {
  capture::Endpoint endpoint;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return endpoint;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), endpoint.port);
  std::string host(text.substr(0, colon));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  if (host.find(':') == std::string::npos) host.insert(0, "::ffff:");
  ::inet_pton(AF_INET6, host.c_str(), endpoint.address.data());
  return endpoint;
}

}  // namespace

TappedStream::TappedStream(const TapEvent& opened,
                           std::string_view addresses,
                           capture::HttpContext& context)
    : accepted_(opened.accepted), context_(context) {
  const std::size_t line = addresses.find('\n');
  const capture::Endpoint own = endpoint_of(addresses.substr(0, line));
  const capture::Endpoint peer = endpoint_of(addresses.substr(line + 1));
  capture::ConnectionStart start;
  start.connection = static_cast<std::int64_t>(opened.connection);
  start.first = accepted_ ? peer : own;
  start.second = accepted_ ? own : peer;
  start.client = Side::first;
  start.opened = opened.at;
  http_ = std::make_unique<capture::HttpAssembly>(start, context);
  if (accepted_) connected_ = opened.at;
  ++context.ledger.connections;
}

bool TappedStream::take(const TapEvent& event, std::string_view bytes) {
  switch (event.kind) {
    case TapEvent::Kind::opened:
      return true;
    case TapEvent::Kind::connected:
      connected_ = event.at;
      return true;
    case TapEvent::Kind::received:
      take_bytes(peer(), event.received, bytes, event.at);
      return true;
    case TapEvent::Kind::sent:
      take_bytes(capture::other(peer()), event.sent, bytes, event.at);
      return true;
    case TapEvent::Kind::ended:
      miss_until(peer(), event.received, event.at);
      miss_until(capture::other(peer()), event.sent, event.at);
      end(event);
      return !event.closed;
  }
  return true;
}

void TappedStream::take_bytes(Side from, std::uint64_t place, std::string_view bytes, UnixTime at) {
  miss_until(from, place, at);
  places_[capture::index(from)] += bytes.size();
  context_.ledger.stream.add(bytes.size());
  context_.ledger.delivered.add(bytes.size());
  end_.had_data = true;
  end_.last_data = at;
  http_->on_data(from, bytes, at);
}

// The ring had no room for what lies between.
void TappedStream::miss_until(Side from, std::uint64_t place, UnixTime at) {
  std::uint64_t& reached = places_[capture::index(from)];
  if (place <= reached) return;
  const std::uint64_t missing = place - reached;
  reached = place;
  end_.gap_bytes += missing;
  context_.ledger.gaps.add(missing);
  http_->on_gap(from, missing, capture::LossReason::gap, at);
}

void TappedStream::end(const TapEvent& event) {
  const bool peers =
      event.ending == ConnectionEnding::peer_fin || event.ending == ConnectionEnding::peer_reset;
  const Side side = peers ? peer() : capture::other(peer());
  RecordedSide& facts = sides_[capture::index(side)];
  switch (event.ending) {
    case ConnectionEnding::peer_fin:
    case ConnectionEnding::own_fin:
      if (was_reset_ || facts.fin) break;
      facts.fin = event.at;
      if (!end_.closed) {
        end_.closed = event.at;
        end_.closed_by = side;
      }
      http_->on_end(side, event.at);
      break;
    case ConnectionEnding::peer_reset:
    case ConnectionEnding::own_reset:
      if (was_reset_) break;
      was_reset_ = true;
      facts.rst = event.at;
      end_.closed = event.at;
      end_.closed_by = side;
      break;
    case ConnectionEnding::not_connected:
      break;
  }
  if (!event.closed) return;
  const bool ended = end_.closed.has_value();
  close(was_reset_ ? capture::CloseKind::rst
        : ended    ? capture::CloseKind::fin
                   : capture::CloseKind::timeout,
        event.at);
}

void TappedStream::close(capture::CloseKind how, UnixTime at) {
  end_.how = how;
  http_->on_closed(end_, at);
}

void TappedStream::leave_open(UnixTime at) {
  close(was_reset_ ? capture::CloseKind::rst : capture::CloseKind::open, at);
}

void TappedStream::describe(RecordedConnection& connection) const {
  connection.connect = connected_ ? "established" : was_reset_ ? "refused" : "unanswered";
  connection.answered = connected_;
  connection.established = connected_;
  connection.client_side = sides_[capture::index(Side::first)];
  connection.server_side = sides_[capture::index(Side::second)];
  connection.client_side.sent = static_cast<std::int64_t>(places_[capture::index(Side::first)]);
  connection.server_side.sent = static_cast<std::int64_t>(places_[capture::index(Side::second)]);
}

}  // namespace gatedrill::replay
