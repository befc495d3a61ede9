// The TLS records in one direction of a connection: where each begins, and which key and number it
// opens with. Pure.
//
//   in step ──record──► in clear, until there are keys ─► on_clear
//      ▲ │              else opened ─► on_opened, or not ─► on_unread
//      │ └─ gap that ends inside the same record: skipped, and the next one's place is known
//      │ └─ any other gap ─► seeking
//      └─ bytes that open as a record ─┘
//
// A record opens with its own key and number and with no other. So the changes of keys (the end of
// the handshake, KeyUpdate) are found by trying the next key, and behind a gap so is the number;
// what may be tried in vain is bounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/capture/ledger.hpp"
#include "replay/capture/tcp_facts.hpp"
#include "replay/capture/tls_cipher.hpp"

namespace gatedrill::replay::capture {

// What a gap or damage has cost.
struct TlsLoss {
  std::optional<std::uint64_t> bytes{};  // of content, if that can be told
  std::uint64_t records = 0;             // 0: not known how many
  LossReason reason = LossReason::gap;
  UnixTime at{};
};

// What a direction holds, in order. Views live as long as the call.
class TlsRecordListener {
 public:
  TlsRecordListener() = default;
  TlsRecordListener(const TlsRecordListener&) = delete;
  TlsRecordListener& operator=(const TlsRecordListener&) = delete;
  virtual ~TlsRecordListener() = default;
  // A record begins so many bytes before the end of what was pushed last.
  virtual void on_record(std::size_t before_end, std::size_t record_bytes) = 0;
  virtual void on_clear(Side from, TlsContent type, std::string_view fragment, UnixTime at) = 0;
  // A sealed record. True if the listener takes it over as it is.
  virtual bool takes_sealed(Side from,
                            const TlsRecordHeader& header,
                            std::string_view fragment,
                            UnixTime at) = 0;
  virtual void on_opened(Side from,
                         const TlsRecordKey::Opened& opened,
                         std::size_t record_bytes,
                         UnixTime at) = 0;
  virtual void on_lost(Side from, const TlsLoss& loss) = 0;
  virtual void on_unread(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) = 0;
  // The place of the next record is lost, and there are no keys to find it again.
  virtual void on_hopeless() = 0;
};

// Whether bytes can be the beginning of a record; `more` if that cannot be said yet.
enum class TlsStart : std::uint8_t { yes, no, more };
[[nodiscard]] TlsStart tls_start(std::string_view bytes);

class TlsRecordStream {
 public:
  // `listener` outlives this object.
  TlsRecordStream(Side side, TlsRecordListener& listener) : side_(side), listener_(listener) {}

  void push(std::string_view bytes, UnixTime at);
  void gap(std::uint64_t bytes, LossReason reason, UnixTime at);
  // Nothing more comes; what is held is unread for this reason.
  void close(LossReason reason, UnixTime at);

  // Holds all that comes from now on, until it goes on.
  void pause() { paused_ = true; }

  void go_on(UnixTime at);
  // What is held, which this will not read.
  std::string take_held();

  // The keys that it may change to, in this order.
  void expect(std::vector<TlsRecordKey> keys) { coming_ = std::move(keys); }

  void expect_first(TlsRecordKey key) { coming_.insert(coming_.begin(), std::move(key)); }

  [[nodiscard]] bool has_keys() const { return key_ || !coming_.empty(); }

  // Only some keys that it may change to can be those of the handshake.
  [[nodiscard]] bool awaits_handshake() const { return coming_.size() > 1; }

  // TLS 1.2 says when it changes to the next key; before, its ChangeCipherSpec means nothing.
  void change_cipher();

  void ignore_change_cipher() { ignore_change_cipher_ = true; }

  std::optional<TlsRecordKey::Opened> open(const TlsRecordHeader& header,
                                           std::string_view fragment);

  // Where something is missing and it is not known how much, tells that now.
  void tell_sought();

  [[nodiscard]] std::size_t held_bytes() const { return held_.size(); }

 private:
  std::size_t read_all(std::string_view bytes, UnixTime at);
  // Each returns how much it consumed; nothing if it needs more.
  std::size_t read(std::string_view bytes, UnixTime at);
  std::size_t seek(std::string_view bytes, UnixTime at);
  void read_sealed(const TlsRecordHeader& header, std::string_view fragment, UnixTime at);
  void begin_seeking(std::uint64_t missing, LossReason reason, UnixTime at);
  void tell_lost(std::optional<std::uint64_t> bytes, std::uint64_t records);
  [[nodiscard]] std::optional<std::uint64_t> content_of(std::size_t fragment_bytes) const;
  std::optional<std::uint64_t> number_under(TlsRecordKey& key,
                                            std::uint64_t first,
                                            const TlsRecordHeader& header,
                                            std::string_view fragment);

  Side side_;
  TlsRecordListener& listener_;
  bool paused_ = false;
  bool ignore_change_cipher_ = false;
  std::string held_;              // the beginning of a record
  std::uint64_t skip_ = 0;        // the rest of a record that a gap broke
  bool seeking_ = false;          // where the next record begins is not known
  bool told_ = false;             // while seeking: that something is missing
  bool dead_ = false;             // it will not be found any more
  std::uint64_t lost_bytes_ = 0;  // while seeking
  UnixTime lost_at_{};
  LossReason lost_by_ = LossReason::gap;
  std::optional<TlsRecordKey> key_;  // none: in clear
  std::vector<TlsRecordKey> coming_;
  std::uint64_t number_ = 0;  // of the next record under `key_`
  std::uint64_t slack_ = 0;   // how many records may be missing before it
  int failures_ = 0;          // records in a row that did not open
  std::uint64_t trial_bytes_ = 0;
};

}  // namespace gatedrill::replay::capture
