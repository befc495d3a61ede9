// The live driver of an Exchange: does each step on real connections and reports what came of it.
// Everything about the request's life is decided by the exchange; here are only bytes and waits.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/http/framing.hpp"
#include "gateway/http/strict.hpp"
#include "gateway/net/connection.hpp"
#include "gateway/net/task.hpp"
#include "gateway/policy/exchange.hpp"
#include "gateway/policy/minimum_rate.hpp"
#include "gateway/proxy/gate.hpp"
#include "gateway/proxy/stream.hpp"

namespace gatedrill::gateway {

class Session;
struct ShardUpstream;

class Drive {
 public:
  // All outlive it.
  Drive(Session& session, Stream& stream, ShardUpstream& upstream, Exchange& exchange);
  // Closes the connection of an attempt that did not end.
  ~Drive();
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;

  Task<StreamEnd> run();

 private:
  // How much of an answer may wait for a slow client.
  static constexpr std::size_t kAnswerPendingMax = std::size_t{64} * 1024;

  Task<Step> attempt(Send send);
  Task<Step> converse();
  Task<Step> forward();
  Task<Step> tunnel();
  Task<Step> pause(TimePoint until);
  Task<Step> park(Park park);
  Task<Step> reply(LocalReply reply);
  [[nodiscard]] StreamEnd finish(const Done& done);

  [[nodiscard]] std::optional<Step> client_trouble();
  [[nodiscard]] std::optional<Step> send_request();
  [[nodiscard]] std::optional<Step> read_answer_head();
  void begin_answer(const http::ResponseVerdict& verdict);
  bool move_answer();
  [[nodiscard]] Deadline client_deadline();
  [[nodiscard]] std::uint64_t newly_taken();
  [[nodiscard]] bool reusable() const;
  Step fail(Cause cause);
  void release_connection(bool keep);

  Session& session_;
  Stream& stream_;
  ShardUpstream& upstream_;
  Exchange& exchange_;  // for what is its own: deadlines, phases, what is known of the request
  Guarded<Exchange> events_;  // for what asks or tells the upstream: one at a time among all shards
  std::shared_ptr<Connection> connection_;
  std::size_t endpoint_ = 0;

  // The attempt.
  FailureFacts facts_;
  TimePoint client_progress_;
  MinimumRate body_rate_;  // running while it is the client's turn
  std::uint64_t body_bytes_ = 0;
  Deadline deadline_;

  // The answer.
  http::BodyReader reader_;
  std::string trailers_;  // lines to go behind its last chunk
  bool chunk_out_ = false;
  bool answer_reusable_ = false;
  bool until_close_out_ = false;
  std::optional<Duration> keep_alive_hint_;
  bool answer_malformed_ = false;
  bool tunnelled_ = false;
  std::uint64_t written_bytes_ = 0;  // to the client, of the answer
  std::uint64_t taken_bytes_ = 0;    // by the client, when last looked at
  bool reset_client_ = false;        // where the answer was cut short
};

}  // namespace gatedrill::gateway
