#include "gateway/proxy/session.hpp"

#include <utility>

#include "gateway/http/proxy_protocol.hpp"
#include "gateway/http/strict.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {
namespace {

// After a last answer to a client that may still be sending: how long and how much is read over, so
// that closing does not become a reset which takes the answer with it.
constexpr Duration kLingerTime = std::chrono::seconds{2};
constexpr std::size_t kLingerBytes = std::size_t{1024} * 1024;

// A listener for both families sees clients of IPv4 under mapped addresses.
boost::asio::ip::address plain(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return ip::make_address_v4(ip::v4_mapped, address.to_v6());
}

}  // namespace

Session::Session(Shard& shard,
                 std::shared_ptr<Connection> client,
                 const boost::asio::ip::address& address)
    : shard_(shard),
      client_(std::move(client)),
      has_proxy_header_(shard.sends_proxy_header(plain(address))),
      deadline_(shard.context(), shard.clock(), *this),
      now_(shard.clock().now()),
      head_begun_(now_) {
  identify(plain(address));
  client_->owned_by(this);
}

Session::~Session() {
  task_ = Task<>{};
  leave_desk();
  client_->owned_by(nullptr);
  client_->close();
}

void Session::start() {
  task_ = run();
  task_.start();
  if (task_.done()) shard_.remove(*this);
}

void Session::drain() {
  if (between_requests_ && client_->input().empty()) stop();
}

void Session::stop() {
  stopping_ = true;
  wake();
}

void Session::on_connection_event(Connection& /*connection*/) {
  wake();
}

void Session::on_deadline() {
  wake();
}

void Session::wake() {
  now_ = shard_.clock().now();
  if (const auto waiting = std::exchange(waiting_, nullptr)) waiting.resume();
  if (task_.done()) shard_.remove(*this);
}

Desk& Session::desk() {
  if (!desk_) desk_ = shard_.desks().take(*this);
  return *desk_;
}

void Session::leave_desk() {
  if (desk_) shard_.desks().give(std::move(desk_));
}

void Session::identify(const boost::asio::ip::address& address) {
  address_ = address.to_string();
  client_name_ = intern_untrusted(address_);
  trusted_ = shard_.trusts(address);
}

StreamEnd Session::refuse(Cause cause, int status, std::string_view reason) {
  shard_.on_request_begun();
  return desk().stream.refuse_unread(http::Refusal{cause, status, reason});
}

Task<> Session::run() {
  StreamEnd end = co_await admit();
  while (end == StreamEnd::keep) {
    const HeadRead read = co_await read_head();
    if (read == HeadRead::ended) co_return;
    between_requests_ = false;
    ++request_count_;
    if (read == HeadRead::timed_out) {
      end = refuse(Cause::client_header_timeout, 408, "slow_head");
    } else {
      shard_.on_request_begun();
      end = co_await desk_->stream.serve(desk_->head, desk_->parsed);
    }
    between_requests_ = true;
    to_client().flush(*client_);
  }
  if (end == StreamEnd::abort) {
    client_->abort();
  } else if (end == StreamEnd::linger || !all_sent()) {
    co_await linger();
  }
}

// Finds out whose connection it is and whether it may stay.
Task<StreamEnd> Session::admit() {
  if (has_proxy_header_) {
    const HeadRead read = co_await read_proxy_header();
    switch (read) {
      case HeadRead::complete:
        break;
      case HeadRead::refused:
        co_return refuse(Cause::malformed_request, 400, "proxy_header");
      case HeadRead::timed_out:
        co_return refuse(Cause::client_header_timeout, 408, "slow_proxy_header");
      case HeadRead::ended:
        co_return StreamEnd::close;
    }
  }
  place_ = shard_.clients().enter(address_);
  if (!place_) co_return refuse(Cause::overloaded, 503, "connections_per_ip");
  co_return StreamEnd::keep;
}

// The header that a load balancer in front sends of its client before anything else.
Task<Session::HeadRead> Session::read_proxy_header() {
  const TimePoint by = now_ + shard_.config().client.header_timeout;
  for (;;) {
    const http::ProxyHeader header = http::parse_proxy_header(client_->input());
    if (header.state == http::ProxyHeader::State::malformed) co_return HeadRead::refused;
    if (header.state == http::ProxyHeader::State::complete) {
      if (header.source) identify(plain(boost::asio::ip::make_address(*header.source)));
      client_->consume(header.size);
      co_return HeadRead::complete;
    }
    if (client_->ended() || stopping_) co_return HeadRead::ended;
    if (now_ >= by) co_return client_->input().empty() ? HeadRead::ended : HeadRead::timed_out;
    client_->start_read(http::kProxyHeaderBytesMax);
    co_await event(by);
  }
}

// Until the client's input begins with a whole head, or with one that will not do.
Task<Session::HeadRead> Session::read_head() {
  const ClientConfig& limits = shard_.config().client;
  TimePoint by = now_ + (request_count_ == 0 ? limits.header_timeout : limits.keep_alive);
  bool begun = false;
  std::size_t parsed_bytes = 0;
  for (;;) {
    const std::string_view input = client_->input();
    if (!input.empty() && !begun) {
      begun = true;
      head_begun_ = now_;
      by = now_ + limits.header_timeout;
    }
    // A head that trickles in is looked at again only when a line has ended or it grows too long.
    if (input.size() > parsed_bytes &&
        (input.find('\n', parsed_bytes) != std::string_view::npos ||
         input.size() - parsed_bytes > limits.head.line_bytes || parsed_bytes == 0)) {
      http::h1::HeadResult& parsed = desk().parsed;
      parsed = http::h1::parse_request_head(input, limits.head, desk().head);
      parsed_bytes = input.size();
      // What is wrong already will not be put right by the rest.
      if (parsed.state != http::h1::HeadState::incomplete || !parsed.defects.none()) {
        co_return HeadRead::complete;
      }
    }
    if (desk_) desk_->to_client.flush(*client_);
    if (client_->ended() || client_->write_error() || stopping_) co_return HeadRead::ended;
    if (now_ >= by) co_return begun ? HeadRead::timed_out : HeadRead::ended;
    if (!all_sent()) {
      client_->await_writable();
    } else if (!begun) {
      leave_desk();
    }
    client_->start_read(limits.head.head_bytes);
    co_await event(by);
  }
}

// The last answer goes out, then an end of file; what still comes in is read over.
Task<> Session::linger() {
  const TimePoint by = now_ + kLingerTime;
  std::size_t read_over = 0;
  bool shut = false;
  for (;;) {
    if (desk_) desk_->to_client.flush(*client_);
    if (all_sent() && !shut) {
      client_->shutdown_write();
      shut = true;
    }
    read_over += client_->input().size();
    client_->consume(client_->input().size());
    if (client_->ended() || client_->write_error() || stopping_ || now_ >= by ||
        read_over > kLingerBytes) {
      co_return;
    }
    if (!all_sent()) client_->await_writable();
    client_->start_read();
    co_await event(by);
  }
}

}  // namespace gatedrill::gateway
