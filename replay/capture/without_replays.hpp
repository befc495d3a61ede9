// Leaves out what a replay of ours sends (its requests carry x-gatedrill-exchange): a replay on the
// capturing host must not become part of what is replayed next. Passes everything else on.
//
// A connection that carried only such requests is left out as a whole, with its losses; all of it
// is counted.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "replay/capture/exchange_recorder.hpp"
#include "replay/capture/ledger.hpp"

namespace gatedrill::replay::capture {

class WithoutReplays final : public ExchangeSink {
 public:
  // `next` outlives this object.
  explicit WithoutReplays(ExchangeSink& next) : next_(next) {}

  void on_exchange(RecordedExchange exchange) override;
  void on_connection(const RecordedConnection& connection) override;
  void on_loss(const RecordedLoss& loss) override;
  // Nothing more comes: passes on the losses that wait for an exchange that they belong to.
  void finish();

  // Bytes are of bodies.
  [[nodiscard]] const Tally& exchanges() const { return exchanges_; }

  [[nodiscard]] std::uint64_t connections() const { return connections_; }

 private:
  // Of an open connection.
  struct Seen {
    bool replays = false;
    bool others = false;
    std::vector<RecordedLoss> losses{};  // since its last exchange: the next one says whose
  };

  std::vector<RecordedLoss> take_losses(Seen& seen);
  void pass_on(Seen& seen);

  ExchangeSink& next_;
  std::unordered_map<std::int64_t, Seen> open_;
  std::size_t losses_held_ = 0;
  Tally exchanges_;
  std::uint64_t connections_ = 0;
};

}  // namespace gatedrill::replay::capture
