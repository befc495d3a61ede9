#include "gateway/proxy/upload.hpp"

#include <cassert>

#include "gateway/http/framing.hpp"
#include "gateway/http/trailers.hpp"
#include "gateway/proxy/chunk.hpp"

namespace gatedrill::gateway {

std::string& Upload::begin(const http::Framing& framing, const Limits& limits) {
  bytes_.clear();
  trailers_.clear();
  sent_ = 0;
  digit_ = 0;
  reader_ = http::BodyReader(framing);
  chunked_ = framing.kind == http::BodyKind::chunked;
  replayable_ = true;
  limits_ = limits;
  return bytes_;
}

Upload::Taken Upload::take(Connection& client) {
  return read(client, true);
}

Upload::Taken Upload::discard(Connection& client) {
  return read(client, false);
}

Upload::Taken Upload::read(Connection& client, bool keep) {
  Taken taken = Taken::nothing;
  while (!reader_.done() && bytes_.size() - sent_ < kPendingMax) {
    const http::BodyReader::Step step = reader_.read(client.input());
    if (step.malformed) return Taken::malformed;
    if (step.consumed == 0) break;
    taken = Taken::something;
    if (limits_.body_bytes_max > 0 && reader_.payload_bytes() > limits_.body_bytes_max) {
      return Taken::too_large;
    }
    if (keep && !step.payload.empty()) {
      if (chunked_) {
        append_chunk(bytes_, step.payload);
      } else {
        bytes_.append(step.payload);
      }
    }
    http::append_trailer(trailers_, step.trailer, limits_.trailers);
    client.consume(step.consumed);
    if (keep && chunked_ && reader_.done()) append_last_chunk(bytes_, trailers_);
  }
  if (reader_.payload_bytes() > limits_.replay_bytes_max) replayable_ = false;
  return taken;
}

void Upload::rewind(int attempt) {
  assert(replayable_ && attempt >= 1 && attempt <= 9);
  sent_ = 0;
  bytes_[digit_] = static_cast<char>('0' + attempt);
}

bool Upload::flush(Connection& upstream) {
  if (!pending()) return false;
  const std::size_t count = upstream.write(std::string_view(bytes_).substr(sent_));
  sent_ += count;
  // What cannot be sent again need not be kept.
  if (!replayable_ && (!pending() || sent_ >= kPendingMax)) {
    bytes_.erase(0, sent_);
    sent_ = 0;
  }
  return count > 0;
}

}  // namespace gatedrill::gateway
