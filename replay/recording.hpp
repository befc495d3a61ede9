// A recording of HTTP traffic (traffic.db): what a capture or an import writes and what replay,
// `traffic` and the simulated origins read. The file format is RECORDING.md; it is SQLite, and the
// views of product.md are its public face.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"

namespace gatedrill::replay {

struct RecordedField {
  std::string name;
  std::string value;
};

// Bodies are after de-chunking; their content coding is kept as it was on the wire.
struct RecordedRequest {
  std::string method;
  std::string target;                 // as sent
  std::string version;                // "HTTP/1.1"
  std::vector<RecordedField> fields;  // in order
  std::string body;
  bool complete = true;
};

struct RecordedResponse {
  int status = 0;
  std::string reason;
  std::string version;
  std::vector<RecordedField> fields;
  std::string body;
  bool complete = true;
};

// One request with its answer; either may be missing, not both.
struct RecordedExchange {
  std::int64_t id = 0;
  UnixTime at;  // first byte of the request, or of the answer where the request was not seen
  std::int64_t connection = 0;
  std::string client;    // "10.0.0.1:5678"
  std::string server;    // "10.0.0.2:80"
  std::string protocol;  // "http/1.0", "http/1.1", "h2"
  std::string host;      // as requested, without port defaults added; may be empty
  std::optional<RecordedRequest> request;
  std::optional<RecordedResponse> response;
  std::optional<Duration> latency;  // first request byte to last answer byte
};

// Reads a recording. Not thread-safe; the file may be read by many at once.
class Recording {
 public:
  // Fails (outside) if the file is missing or unreadable, (usage) if it is not a recording.
  static Result<Recording> open(const std::string& path);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  // Every exchange in the order of its time, ties by id. The callback returns false to stop.
  Result<void> for_each(const std::function<bool(const RecordedExchange&)>& use) const;
  Result<std::vector<RecordedExchange>> read_all() const;

 private:
  struct State;
  explicit Recording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gatedrill::replay
