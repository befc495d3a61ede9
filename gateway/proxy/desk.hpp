// What a session works at while it has a request, and only then. Thousands of idle clients hold
// none; the few that are in use keep their memory and stay warm in the processor's caches.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "gateway/http/h1/head_parser.hpp"
#include "gateway/proxy/outbox.hpp"
#include "gateway/proxy/stream.hpp"

namespace gatedrill::gateway {

struct Desk {
  Outbox to_client;
  http::RequestHead head;
  http::h1::HeadResult parsed;
  Stream stream;
};

// The free ones of one shard; used on its thread.
class Desks {
 public:
  [[nodiscard]] std::unique_ptr<Desk> take(Session& session) {
    if (free_.empty()) free_.push_back(std::make_unique<Desk>());
    std::unique_ptr<Desk> desk = std::move(free_.back());
    free_.pop_back();
    desk->to_client.clear();
    desk->stream.serves(session);
    return desk;
  }

  void give(std::unique_ptr<Desk> desk) {
    if (free_.size() < kKept) free_.push_back(std::move(desk));
  }

 private:
  static constexpr std::size_t kKept = 32;

  std::vector<std::unique_ptr<Desk>> free_;
};

}  // namespace gatedrill::gateway
