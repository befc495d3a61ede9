// One connection through a live link. Not a public header.
//
//   gateway ──read──► requests (splitter, model) ──► lane to_origin  ──write at due──► origin
//   gateway ◄──write at due── lane to_gateway ◄── answers (splitter) ◄──read── origin
//
// A lane is a queue of deliveries, each with the time it is due; RST and FIN travel in it like
// bytes.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio.hpp>

#include "chaos/link_model.hpp"
#include "chaos/proxy/h1_splitter.hpp"
#include "chaos/proxy/live_link.hpp"
#include "gateway/core/event.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::chaos {

namespace asio = boost::asio;

// What the connections of one link share.
struct LinkContext {
  asio::io_context& io;
  const SteadyClock& clock;
  LinkModel& model;
  EventSink& sink;
  NameId gateway;
  LiveLink::Counts& counts;
};

class LinkConnection : public std::enable_shared_from_this<LinkConnection> {
 public:
  LinkConnection(LinkContext context, asio::ip::tcp::socket gateway, std::uint64_t id);

  void start(asio::ip::tcp::endpoint target);
  // Drops both sockets; nothing is reported any more.
  void stop();

 private:
  // A request and its answer, for what is reported of them.
  struct Exchange {
    RequestVerdict verdict;
    std::string request_id;
    TimePoint arrived;
    Duration to_origin_took{-1};
    TimePoint answer_arrived;
    bool answered = false;
    std::size_t head_bytes = 0;  // of the answer as the origin sent it
  };

  using ExchangePointer = std::shared_ptr<Exchange>;

  struct Delivery {
    enum class Kind { bytes, fin, rst };
    TimePoint due;
    Kind kind = Kind::bytes;
    std::string bytes;
    ExchangePointer begins;         // the message that begins with these bytes
    std::optional<PlannedHit> hit;  // of a reset
    ExchangePointer hit_on;         // the request that was reset, if one was
  };

  struct Lane {
    Lane(asio::io_context& io, Direction way, asio::ip::tcp::socket& out)
        : direction(way), to(out), timer(io), room(io) {}

    Direction direction;
    asio::ip::tcp::socket& to;
    std::deque<Delivery> queue;
    std::size_t bytes = 0;
    InOrder order;
    asio::steady_timer
        timer;  // waits for the first delivery's time; cancelled when the queue changes
    asio::steady_timer room;  // the reader waits here while too much is under way
    bool ended = false;       // FIN or RST is queued: nothing follows
    bool finished = false;    // and delivered
  };

  using Self = std::shared_ptr<LinkConnection>;
  asio::awaitable<void> run(Self self, asio::ip::tcp::endpoint target);
  asio::awaitable<void> read_from(Self self, asio::ip::tcp::socket* from, Lane* lane);
  asio::awaitable<void> write_lane(Self self, Lane* lane);
  asio::awaitable<void> watch_resets(Self self);

  void on_gateway_bytes(std::string_view bytes, TimePoint now);
  void on_request_begins(Piece piece, TimePoint now);
  void on_origin_bytes(std::string_view bytes, TimePoint now);
  void on_answer_piece(Piece piece, TimePoint now);
  void on_answer_begins(Piece& piece, Exchange& exchange, TimePoint now);
  void on_end(Lane& lane, bool reset, TimePoint now);

  void push(Lane& lane, Delivery delivery);
  void reset_both(TimePoint gateway_due, TimePoint origin_due, Delivery toward_gateway);
  void deliver_fin(Lane& lane);
  void deliver_rst(Lane& lane, const Delivery& delivery, TimePoint now);
  void on_delivered(const Lane& lane, const Delivery& delivery, TimePoint now);
  void set_idle(std::optional<TimePoint> since);
  void report(const PlannedHit& hit,
              const Exchange* exchange,
              std::string_view observed,
              TimePoint now);
  void report_hits(const Exchange& exchange, std::size_t head_bytes_sent, TimePoint now);
  void finish_if_ended();
  void close_sockets();

  LinkContext context_;
  std::uint64_t id_;
  asio::ip::tcp::socket gateway_;
  asio::ip::tcp::socket origin_;
  Lane to_origin_;
  Lane to_gateway_;
  asio::steady_timer reset_timer_;
  H1Splitter requests_{H1Splitter::Role::requests};
  H1Splitter answers_{H1Splitter::Role::answers};
  std::deque<ExchangePointer> pending_;  // sent and not wholly answered, in order
  ExchangePointer receiving_;            // the request whose body is coming
  Duration last_to_gateway_{0};
  std::uint32_t ordinal_ = 0;
  std::optional<TimePoint> idle_since_;
  std::uint64_t bytes_to_gateway_ = 0;
  bool doomed_ = false;  // a reset is on its way: what comes in is dropped
  bool stopped_ = false;
};

}  // namespace gatedrill::chaos
