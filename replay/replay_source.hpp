// From a recording to the sends of a replay: what is sent, when, and on which connection. The live
// driver and the simulation walk the same list, and every variant of a scenario gets the same one.
//
//   RecordedExchange ──plan──► ReplayRequest (once a recording) ──loadgen::CopySchedule──►
//   PlannedSend
//                     └─► SkippedExchange (cannot be replayed, with the reason)
//
// Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/fixed_text.hpp"
#include "gateway/core/names.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/http/body_digest.hpp"
#include "loadgen/pace/copy_schedule.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay {

// Names the request in every table of run.db.
inline constexpr std::string_view kRequestIdField = "x-request-id";
// Names the recorded exchange, so that a simulated origin can serve exactly the recorded answer.
inline constexpr std::string_view kExchangeField = "x-gatedrill-exchange";

// The recorded answer that a replayed one is compared with.
struct ExpectedAnswer {
  int status = 0;
  // The whole recorded body (after de-chunking, coding kept). Absent where the recording does not
  // hold it as it was: cut off, or secrets in it replaced.
  std::optional<http::BodyDigest::Value> body_digest;
  std::uint64_t body_bytes = 0;
};

// By which a backend knows that an order is the same order. Copies of the recording are new orders,
// so each copy has keys of its own.
inline constexpr std::string_view kIdempotencyKeyField = "Idempotency-Key";

// One recorded request as it is sent again.
struct ReplayRequest {
  std::int64_t exchange = 0;
  std::int64_t connection = 0;
  Duration offset{0};  // since the first replayable request of the recording
  bool last_on_connection = false;
  std::string method;
  std::string target;  // origin-form, or * of OPTIONS
  std::string host;
  // In order, Host first among them if it was; without hop-by-hop and framing fields, Expect and
  // a recorded x-request-id. "Connection: close" stays where the client asked for it.
  std::vector<RecordedField> fields;
  bool asks_to_close = false;
  std::string body;
  std::optional<ExpectedAnswer> expected;
  NameId method_name;
  NameId path_name;  // without query
};

struct SkippedExchange {
  enum class Reason : std::uint8_t {
    request_not_seen,    // an answer alone
    request_incomplete,  // a partial capture
    connect_method,      // a tunnel
    upgrade,             // the connection left HTTP/1
    not_a_message,       // a head that cannot be written as a sound request
  };
  std::int64_t exchange = 0;
  Reason reason = Reason::request_not_seen;
};

[[nodiscard]] std::string_view to_string(SkippedExchange::Reason reason);

// The connection a send belongs to: a recorded one in one copy of the recording.
struct ConnectionKey {
  std::uint64_t copy = 0;
  std::int64_t connection = 0;
  auto operator<=>(const ConnectionKey&) const = default;
};

struct PlannedSend {
  RequestId request_id;  // "c12-345": copy and exchange
  TimePoint intended;    // from the start of the traffic
  ConnectionKey connection;
  const ReplayRequest* request = nullptr;  // lives as long as its plan
};

class ReplaySource;

// Immutable; sources made from it share it.
class ReplayPlan {
 public:
  // Fails (evidence) if no exchange can be replayed, naming why; (usage) if the timing makes no
  // sense.
  static Result<std::shared_ptr<const ReplayPlan>> make(
      const std::vector<RecordedExchange>& exchanges, loadgen::CopyTiming timing);

  [[nodiscard]] const std::vector<ReplayRequest>& requests() const { return requests_; }

  [[nodiscard]] const std::vector<SkippedExchange>& skipped() const { return skipped_; }

  [[nodiscard]] const loadgen::CopyTiming& timing() const { return timing_; }

  // From the first to the last replayable request, as recorded.
  [[nodiscard]] Duration span() const { return requests_.back().offset; }

  [[nodiscard]] double stretch() const;

  // Requests that were recorded with a flaw in their framing or spelling and are sent without it.
  [[nodiscard]] std::size_t mended() const { return mended_; }

  // One line for a log: how many are replayed, how many of each reason are not.
  [[nodiscard]] std::string describe() const;

 private:
  friend class ReplaySource;
  ReplayPlan() = default;

  loadgen::CopyTiming timing_;
  std::vector<ReplayRequest> requests_;  // in the order of their time
  std::vector<Duration> offsets_;
  std::vector<SkippedExchange> skipped_;
  std::size_t mended_ = 0;
};

// Walks the sends of a plan in the order of their time. Two sources of one plan are identical.
class ReplaySource {
 public:
  explicit ReplaySource(std::shared_ptr<const ReplayPlan> plan);

  [[nodiscard]] std::optional<PlannedSend> next();

 private:
  std::shared_ptr<const ReplayPlan> plan_;
  loadgen::CopySchedule schedule_;
};

// The request line and all fields of a send as HTTP/1.1 bytes, with the empty line.
[[nodiscard]] std::string head_bytes(const PlannedSend& send);

// What a send carries as Idempotency-Key; empty if it has none.
[[nodiscard]] std::string idempotency_key_of(const PlannedSend& send);

// The fields of a send, the two of gatedrill's and the framing included.
[[nodiscard]] std::vector<RecordedField> fields_of(const PlannedSend& send);

}  // namespace gatedrill::replay
