#include "chaos/proxy/link_connection.hpp"

#include <cstdio>

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>

#include "chaos/fault/response_header.hpp"

namespace gatedrill::chaos {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadBytes = 32 * 1024;
// Under way in one direction before the reader waits: plenty for any delay at loopback speed.
constexpr std::size_t kLaneBytesMax = 4 * 1024 * 1024;

std::string ms_text(Duration duration) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1fms", to_ms(duration));
  return text.data();
}

std::string_view tcp_state(tcp::socket& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return "unknown";
  switch (info.tcpi_state) {
    case TCP_ESTABLISHED:
      return "established";
    case TCP_CLOSE_WAIT:
      return "close_wait";
    case TCP_FIN_WAIT1:
    case TCP_FIN_WAIT2:
      return "fin_wait";
    case TCP_CLOSE:
      return "closed";
    default:
      return "closing";
  }
}

// Closes with RST, at this moment and on this live socket. Says what came of it.
std::string reset(tcp::socket& socket) {
  const std::string state(tcp_state(socket));
  int unsent = 0;
  ::ioctl(socket.native_handle(), SIOCOUTQ, &unsent);
  error_code failed;
  socket.set_option(asio::socket_base::linger(true, 0), failed);
  if (failed) return "linger: " + failed.message();
  socket.close(failed);
  if (failed) return "close: " + failed.message();
  if (state == "closed") return "gone before: the peer had closed";
  return "RST sent, was " + state + ", " + std::to_string(unsent) + " bytes unsent";
}

}  // namespace

LinkConnection::LinkConnection(LinkContext context, tcp::socket gateway, std::uint64_t id)
    : context_(context),
      id_(id),
      gateway_(std::move(gateway)),
      origin_(context.io),
      to_origin_(context.io, Direction::to_origin, origin_),
      to_gateway_(context.io, Direction::to_gateway, gateway_),
      reset_timer_(context.io) {}

void LinkConnection::start(tcp::endpoint target) {
  asio::co_spawn(context_.io, run(shared_from_this(), target), asio::detached);
}

void LinkConnection::stop() {
  stopped_ = true;
  close_sockets();
}

void LinkConnection::close_sockets() {
  error_code ignored;
  gateway_.close(ignored);
  origin_.close(ignored);
  for (Lane* lane : {&to_origin_, &to_gateway_}) {
    lane->ended = lane->finished = true;
    lane->queue.clear();
    lane->timer.cancel();
    lane->room.cancel();
  }
  reset_timer_.cancel();
}

asio::awaitable<void> LinkConnection::run(Self self, tcp::endpoint target) {
  error_code ignored;
  gateway_.set_option(tcp::no_delay(true), ignored);
  const ConnectVerdict verdict = context_.model.on_connect(context_.clock.now(), id_);
  if (verdict.reset) {
    Delivery rst;
    rst.kind = Delivery::Kind::rst;
    rst.hit = verdict.reset;
    deliver_rst(to_gateway_, rst, context_.clock.now());
    stop();
    co_return;
  }
  const auto [failed] = co_await origin_.async_connect(target, kAsTuple);
  if (stopped_) co_return;
  if (failed) {
    // The origin went away in this very moment: the gateway meets a reset connection.
    reset(gateway_);
    stop();
    co_return;
  }
  origin_.set_option(tcp::no_delay(true), ignored);
  asio::co_spawn(context_.io, read_from(self, &gateway_, &to_origin_), asio::detached);
  asio::co_spawn(context_.io, read_from(self, &origin_, &to_gateway_), asio::detached);
  asio::co_spawn(context_.io, write_lane(self, &to_origin_), asio::detached);
  asio::co_spawn(context_.io, write_lane(self, &to_gateway_), asio::detached);
  asio::co_spawn(context_.io, watch_resets(self), asio::detached);
}

asio::awaitable<void> LinkConnection::read_from(Self /*self*/, tcp::socket* from, Lane* lane) {
  std::vector<char> bytes(kReadBytes);
  for (;;) {
    const auto [failed, size] = co_await from->async_read_some(asio::buffer(bytes), kAsTuple);
    if (stopped_ || !from->is_open()) co_return;
    const TimePoint now = context_.clock.now();
    if (failed == asio::error::eof) {
      on_end(*lane, false, now);
      break;
    }
    if (failed) {
      on_end(*lane, true, now);
      co_return;
    }
    const std::string_view read(bytes.data(), size);
    if (lane == &to_origin_) {
      on_gateway_bytes(read, now);
    } else {
      on_origin_bytes(read, now);
    }
    while (lane->bytes > kLaneBytesMax && !stopped_) {
      lane->room.expires_at(asio::steady_timer::time_point::max());
      co_await lane->room.async_wait(kAsTuple);
    }
    if (stopped_) co_return;
  }
  // After a FIN the peer may still answer what it is sent with RST; only an error tells.
  const auto [failed] = co_await from->async_wait(tcp::socket::wait_error, kAsTuple);
  if (failed || stopped_ || !from->is_open()) co_return;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(from->native_handle(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) on_end(*lane, true, context_.clock.now());
}

asio::awaitable<void> LinkConnection::write_lane(Self /*self*/, Lane* lane) {
  while (!stopped_ && !lane->finished) {
    if (lane->queue.empty() || lane->queue.front().due > context_.clock.now()) {
      const TimePoint due = lane->queue.empty() ? kNever : lane->queue.front().due;
      lane->timer.expires_at(context_.clock.steady(due));
      co_await lane->timer.async_wait(kAsTuple);
      continue;
    }
    Delivery delivery = std::move(lane->queue.front());
    lane->queue.pop_front();
    switch (delivery.kind) {
      case Delivery::Kind::bytes: {
        const auto [failed, size] =
            co_await asio::async_write(lane->to, asio::buffer(delivery.bytes), kAsTuple);
        if (stopped_ || lane->finished) co_return;
        lane->bytes -= delivery.bytes.size();
        lane->room.cancel();
        const TimePoint now = context_.clock.now();
        if (failed) {
          // The far end has gone: the near one learns of it as of any reset.
          on_end(lane == &to_origin_ ? to_gateway_ : to_origin_, true, now);
          co_return;
        }
        on_delivered(*lane, delivery, now);
        break;
      }
      case Delivery::Kind::fin:
        deliver_fin(*lane);
        break;
      case Delivery::Kind::rst:
        deliver_rst(*lane, delivery, context_.clock.now());
        break;
    }
  }
}

asio::awaitable<void> LinkConnection::watch_resets(Self /*self*/) {
  while (!stopped_ && !doomed_) {
    const TimePoint now = context_.clock.now();
    const std::optional<ResetDue> due = context_.model.reset_due(now, id_, idle_since_);
    if (due && due->at <= now) {
      if (!context_.model.take_reset(*due)) continue;
      Delivery rst;
      rst.hit = due->hit;
      const auto delay = [&](Direction way) { return context_.model.close_delay(now, way, id_); };
      reset_both(now + delay(Direction::to_gateway), now + delay(Direction::to_origin), rst);
      co_return;
    }
    reset_timer_.expires_at(context_.clock.steady(due ? due->at : kNever));
    co_await reset_timer_.async_wait(kAsTuple);
  }
}

void LinkConnection::push(Lane& lane, Delivery delivery) {
  if (lane.ended) return;
  delivery.due = lane.order.at(delivery.due);
  lane.bytes += delivery.bytes.size();
  lane.ended = delivery.kind != Delivery::Kind::bytes;
  lane.queue.push_back(std::move(delivery));
  if (lane.queue.size() == 1) lane.timer.cancel();
}

void LinkConnection::on_gateway_bytes(std::string_view bytes, TimePoint now) {
  if (doomed_) return;
  context_.counts.bytes_to_origin += bytes.size();
  requests_.add(bytes);
  while (std::optional<Piece> piece = requests_.next()) {
    if (piece->begins) {
      on_request_begins(std::move(*piece), now);
      if (doomed_) return;
      continue;
    }
    Delivery delivery;
    delivery.due = now + (receiving_ ? receiving_->verdict.to_origin : Duration{0});
    delivery.bytes = std::move(piece->bytes);
    push(to_origin_, std::move(delivery));
  }
}

void LinkConnection::on_request_begins(Piece piece, TimePoint now) {
  ++context_.counts.requests;
  RequestSight sight;
  sight.request_id = piece.request_id;
  sight.method = piece.method;
  sight.target = piece.target;
  sight.connection = id_;
  sight.ordinal = ++ordinal_;
  sight.idle = idle_since_ ? now - *idle_since_ : Duration{0};
  const ExchangePointer exchange = std::make_shared<Exchange>();
  exchange->verdict = context_.model.on_request(now, sight);
  exchange->request_id = piece.request_id;
  exchange->arrived = now;
  set_idle(std::nullopt);
  const RequestVerdict& verdict = exchange->verdict;
  if (verdict.reset == ResetMoment::before_origin) {
    Delivery rst;
    rst.hit_on = exchange;
    const TimePoint at_origin = now + verdict.to_origin;
    reset_both(at_origin + verdict.to_gateway, at_origin, rst);
    return;
  }
  answers_.expect(piece.method);
  pending_.push_back(exchange);
  receiving_ = exchange;
  Delivery delivery;
  delivery.due = now + verdict.to_origin;
  delivery.bytes = std::move(piece.bytes);
  delivery.begins = exchange;
  push(to_origin_, std::move(delivery));
}

void LinkConnection::on_origin_bytes(std::string_view bytes, TimePoint now) {
  if (doomed_) return;
  answers_.add(bytes);
  while (std::optional<Piece> piece = answers_.next()) {
    on_answer_piece(std::move(*piece), now);
    if (doomed_) return;
  }
}

void LinkConnection::on_answer_piece(Piece piece, TimePoint now) {
  Delivery delivery;
  const ExchangePointer exchange = pending_.empty() ? nullptr : pending_.front();
  if (exchange) {
    last_to_gateway_ = exchange->verdict.to_gateway;
    if (exchange->verdict.reset == ResetMoment::after_origin) {
      Delivery rst;
      rst.hit_on = exchange;
      reset_both(now + exchange->verdict.to_gateway, now, rst);
      return;
    }
    if (piece.begins && !piece.interim) {
      on_answer_begins(piece, *exchange, now);
      delivery.begins = exchange;
    }
  }
  delivery.due = now + last_to_gateway_;
  delivery.bytes = std::move(piece.bytes);
  context_.counts.bytes_to_gateway += delivery.bytes.size();
  push(to_gateway_, std::move(delivery));
  if (piece.ends && !piece.interim && exchange) {
    pending_.pop_front();
    if (pending_.empty()) set_idle(now);
  }
}

void LinkConnection::on_answer_begins(Piece& piece, Exchange& exchange, TimePoint now) {
  exchange.answer_arrived = now;
  exchange.head_bytes = piece.bytes.size();
  if (exchange.verdict.head_growth == 0) return;
  // The new field goes before the empty line that ends the head.
  const std::string line = ResponseHeader::field_line(exchange.verdict.head_growth);
  piece.bytes.insert(piece.bytes.size() - 2, line);
}

void LinkConnection::on_end(Lane& lane, bool reset, TimePoint now) {
  Delivery end;
  end.kind = reset ? Delivery::Kind::rst : Delivery::Kind::fin;
  end.due = now + context_.model.close_delay(now, lane.direction, id_);
  Lane& back = &lane == &to_origin_ ? to_gateway_ : to_origin_;
  if (!reset) {
    H1Splitter& splitter = &lane == &to_origin_ ? requests_ : answers_;
    Delivery rest;
    rest.due = end.due;
    rest.bytes = doomed_ ? std::string() : splitter.rest();
    if (!rest.bytes.empty()) push(lane, std::move(rest));
    push(lane, std::move(end));
    return;
  }
  // Nobody is there any more to write to. A FIN that is still under way is overtaken by nothing.
  error_code ignored;
  back.to.close(ignored);
  back.queue.clear();
  back.ended = back.finished = true;
  back.timer.cancel();
  if (lane.ended && !lane.finished) {
    for (Delivery& queued : lane.queue) {
      if (queued.kind == Delivery::Kind::fin) queued.kind = Delivery::Kind::rst;
    }
    return;
  }
  if (lane.finished && lane.to.is_open()) {
    // Its FIN was passed on already; the RST follows.
    lane.ended = lane.finished = false;
    push(lane, std::move(end));
    asio::co_spawn(context_.io, write_lane(shared_from_this(), &lane), asio::detached);
    return;
  }
  push(lane, std::move(end));
  finish_if_ended();
}

void LinkConnection::reset_both(TimePoint gateway_due,
                                TimePoint origin_due,
                                Delivery toward_gateway) {
  doomed_ = true;
  reset_timer_.cancel();
  toward_gateway.kind = Delivery::Kind::rst;
  toward_gateway.due = gateway_due;
  push(to_gateway_, std::move(toward_gateway));
  Delivery toward_origin;
  toward_origin.kind = Delivery::Kind::rst;
  toward_origin.due = origin_due;
  push(to_origin_, std::move(toward_origin));
}

void LinkConnection::deliver_fin(Lane& lane) {
  error_code ignored;
  lane.to.shutdown(tcp::socket::shutdown_send, ignored);
  lane.finished = true;
  finish_if_ended();
}

void LinkConnection::deliver_rst(Lane& lane, const Delivery& delivery, TimePoint now) {
  const std::string observed = lane.to.is_open() ? reset(lane.to) : "gone before";
  ++context_.counts.resets_sent;
  if (delivery.hit) report(*delivery.hit, nullptr, observed, now);
  if (delivery.hit_on) {
    for (const PlannedHit& hit : delivery.hit_on->verdict.hits) {
      const bool is_reset = hit.effect == FaultEffect::reset;
      report(hit, delivery.hit_on.get(), is_reset ? observed : "cut off by the reset", now);
    }
  }
  lane.finished = true;
  finish_if_ended();
}

void LinkConnection::on_delivered(const Lane& lane, const Delivery& delivery, TimePoint now) {
  if (!delivery.begins) return;
  Exchange& exchange = *delivery.begins;
  if (lane.direction == Direction::to_origin) {
    exchange.to_origin_took = now - exchange.arrived;
    return;
  }
  exchange.answered = true;
  report_hits(exchange, exchange.head_bytes + exchange.verdict.head_growth, now);
}

void LinkConnection::report_hits(const Exchange& exchange,
                                 std::size_t head_bytes_sent,
                                 TimePoint now) {
  for (const PlannedHit& hit : exchange.verdict.hits) {
    std::string observed;
    if (hit.effect == FaultEffect::delay) {
      observed = "to_origin " + ms_text(exchange.to_origin_took) + ", to_gateway " +
                 ms_text(now - exchange.answer_arrived);
    } else {
      observed = "answer head " + std::to_string(exchange.head_bytes) + " -> " +
                 std::to_string(head_bytes_sent) + " bytes";
    }
    report(hit, &exchange, observed, now);
  }
}

void LinkConnection::report(const PlannedHit& hit,
                            const Exchange* exchange,
                            std::string_view observed,
                            TimePoint now) {
  FaultHit event;
  event.at = now;
  event.fault = hit.fault;
  event.target = context_.model.target();
  if (exchange != nullptr) {
    event.request_id = RequestId(exchange->request_id);
    event.attempt = static_cast<std::uint8_t>(std::min(exchange->verdict.attempt, 255U));
  }
  event.planned = hit.planned;
  event.observed = observed;
  context_.sink.publish({context_.gateway, event});
}

void LinkConnection::set_idle(std::optional<TimePoint> since) {
  idle_since_ = since;
  reset_timer_.cancel();
}

void LinkConnection::finish_if_ended() {
  if (!to_origin_.finished || !to_gateway_.finished || stopped_) return;
  const TimePoint now = context_.clock.now();
  for (const ExchangePointer& exchange : pending_) {
    if (exchange->answered || exchange->verdict.reset) continue;
    for (const PlannedHit& hit : exchange->verdict.hits)
      report(hit, exchange.get(), "not answered", now);
  }
  stop();
}

}  // namespace gatedrill::chaos
