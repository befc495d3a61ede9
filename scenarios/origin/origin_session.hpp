// One connection of a live origin. Not a public header.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/asio.hpp>

#include "gateway/http/framing.hpp"
#include "gateway/http/head.hpp"
#include "scenarios/origin/answer_book.hpp"
#include "scenarios/origin/origin_model.hpp"

namespace gatedrill::scenarios {

namespace asio = boost::asio;

// The request being served, for the answer and the executions ledger.
struct ServedRequest {
  std::string request_id;
  std::string business_key;
  std::string exchange;
  std::string method;
  std::string target;
};

class OriginSession : public std::enable_shared_from_this<OriginSession> {
 public:
  // The server, as a session sees it.
  class Host {
   public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    virtual void on_bytes(OriginConnection connection) = 0;
    // False: the connection is not the model's any more.
    virtual bool on_request(OriginConnection connection, const ServedRequest& request) = 0;
    virtual void on_end(OriginConnection connection) = 0;

   protected:
    ~Host() = default;
  };

  OriginSession(Host& host, asio::ip::tcp::socket socket, OriginConnection id);

  void start();
  // Answers the request that on_request gave to the host. `body` stays valid until it is written.
  void answer(std::string head, std::string_view body, bool close);
  // RST at once, or FIN as soon as an answer under way is written.
  void close(bool reset);
  // Drops the socket; the host is not called any more.
  void abandon();

 private:
  using Self = std::shared_ptr<OriginSession>;
  asio::awaitable<void> serve(Self self);
  asio::awaitable<bool> read_request();
  asio::awaitable<bool> read_body(http::Framing framing);
  asio::awaitable<bool> read_some();
  asio::awaitable<bool> write_answer();
  asio::awaitable<void> refuse_malformed();
  void take_head(const http::RequestHead& head);

  Host* host_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer answer_ready_;
  OriginConnection id_;
  std::string buffer_;
  ServedRequest request_;
  bool told_bytes_ = false;
  std::string answer_head_;
  std::string_view answer_body_;
  bool answered_ = false;
  bool last_ = false;   // close after the answer
  bool ended_ = false;  // the socket is closed or abandoned
};

}  // namespace gatedrill::scenarios
