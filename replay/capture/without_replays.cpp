#include "replay/capture/without_replays.hpp"

#include <utility>

#include "replay/replay_source.hpp"

namespace gatedrill::replay::capture {
namespace {

// More do not wait.
constexpr std::size_t kLossesMax = 10'000;

}  // namespace

void WithoutReplays::on_exchange(RecordedExchange exchange) {
  Seen& seen = open_[exchange.connection];
  const bool replayed =
      exchange.request && !value_of(exchange.request->fields, kExchangeField).empty();
  if (!replayed) {
    seen.others = true;
    pass_on(seen);
    next_.on_exchange(std::move(exchange));
    return;
  }
  seen.replays = true;
  take_losses(seen);
  exchanges_.add(exchange.request->body.size() +
                 (exchange.response ? exchange.response->body.size() : 0));
}

void WithoutReplays::on_connection(const RecordedConnection& connection) {
  Seen seen = std::move(open_[connection.connection]);
  open_.erase(connection.connection);
  if (seen.replays && !seen.others) {
    take_losses(seen);
    ++connections_;
    return;
  }
  pass_on(seen);
  next_.on_connection(connection);
}

void WithoutReplays::on_loss(const RecordedLoss& loss) {
  open_[loss.connection].losses.push_back(loss);
  if (++losses_held_ >= kLossesMax) finish();
}

void WithoutReplays::finish() {
  for (auto& [connection, seen] : open_)
    pass_on(seen);
  std::erase_if(open_, [](const auto& one) { return !one.second.replays && !one.second.others; });
}

std::vector<RecordedLoss> WithoutReplays::take_losses(Seen& seen) {
  losses_held_ -= seen.losses.size();
  return std::exchange(seen.losses, {});
}

void WithoutReplays::pass_on(Seen& seen) {
  for (const RecordedLoss& loss : take_losses(seen))
    next_.on_loss(loss);
}

}  // namespace gatedrill::replay::capture
