// One client connection: reads heads, has each request served in turn, keeps the connection or ends
// it. A coroutine that waits in one place only, `event`: anything that happens on the client's
// connection, on the upstream's, or to the deadline resumes it, and it looks at what has changed.
//
//   accept ─► admit ─► read_head ─► stream.serve ─► keep? ─► read_head ...
//               │          │              └► linger | abort | close ─► shard.remove
//               │          └► refused (408, 4xx), idle too long, client gone
//               └► no PROXY protocol header where one is due, too many from that address
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/core/names.hpp"
#include "gateway/core/time.hpp"
#include "gateway/net/connection.hpp"
#include "gateway/net/deadline.hpp"
#include "gateway/net/task.hpp"
#include "gateway/proxy/client_connections.hpp"
#include "gateway/proxy/desk.hpp"

namespace gatedrill::gateway {

class Shard;

class Session final : public ConnectionOwner, public DeadlineOwner {
 public:
  Session(Shard& shard,
          std::shared_ptr<Connection> client,
          const boost::asio::ip::address& address);
  ~Session() override;

  // Runs until it waits for the first time. May remove the session.
  void start();
  // Ends it when it is between requests.
  void drain();
  // Ends it soon, whatever it does. May remove the session.
  void stop();

  // What a stream and its drive use.

  struct Event {
    Session& session;

    [[nodiscard]] bool await_ready() const noexcept { return false; }

    void await_suspend(std::coroutine_handle<> waiting) const noexcept {
      session.waiting_ = waiting;
    }

    void await_resume() const noexcept {}
  };

  // co_await: until something happens or `by`. Never of use without looking again.
  [[nodiscard]] Event event(TimePoint by) {
    deadline_.set(by);
    return Event{*this};
  }

  // The time of the latest event.
  [[nodiscard]] TimePoint now() const { return now_; }

  [[nodiscard]] Shard& shard() { return shard_; }

  [[nodiscard]] Connection& client() { return *client_; }

  [[nodiscard]] Outbox& to_client() { return desk().to_client; }

  // The client has closed and left nothing to do.
  [[nodiscard]] bool client_gone() const {
    return client_->write_error() || (client_->ended() && client_->input().empty());
  }

  [[nodiscard]] const std::string& client_address() const { return address_; }

  [[nodiscard]] NameId client_name() const { return client_name_; }

  [[nodiscard]] bool client_trusted() const { return trusted_; }

  [[nodiscard]] bool stopping() const { return stopping_; }

  // When the first byte of the current request's head was here.
  [[nodiscard]] TimePoint head_begun() const { return head_begun_; }

  // Requests on this connection so far, the current one included.
  [[nodiscard]] int request_count() const { return request_count_; }

  void on_connection_event(Connection& connection) override;
  void on_deadline() override;

  // Its request may have been given a place at the upstream.
  void on_place() { wake(); }

 private:
  enum class HeadRead { complete, refused, timed_out, ended };

  Task<> run();
  Task<StreamEnd> admit();
  Task<HeadRead> read_proxy_header();
  Task<HeadRead> read_head();
  void identify(const boost::asio::ip::address& address);
  StreamEnd refuse(Cause cause, int status, std::string_view reason);
  Task<> linger();
  void wake();
  Desk& desk();
  void leave_desk();

  // Nothing waits to be written to the client.
  [[nodiscard]] bool all_sent() const { return !desk_ || desk_->to_client.empty(); }

  Shard& shard_;
  std::shared_ptr<Connection> client_;
  bool has_proxy_header_;
  // Whose connection it is: the peer's, or whom its PROXY protocol header names.
  std::string address_;
  NameId client_name_;
  bool trusted_ = false;
  std::optional<ClientConnections::Place> place_;
  DeadlineTimer deadline_;
  TimePoint now_;
  TimePoint head_begun_;
  std::coroutine_handle<> waiting_;
  bool between_requests_ = true;
  bool stopping_ = false;
  int request_count_ = 0;
  std::unique_ptr<Desk> desk_;  // while there is something to do
  Task<> task_;                 // last: its frame uses all of the above
};

}  // namespace gatedrill::gateway
