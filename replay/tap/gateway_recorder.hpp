// Records what a gateway serves, from inside it: both legs of each request, as the gateway read and
// wrote them, in the same format and by the same assembly as a capture of the wire.
//
//   Connection ──► ShardTap ══ring══► a thread: TappedStream ─► HttpAssembly ─► RecordingWriter
//   (hot path)     (a copy)                     one a connection              (redacts, stores)
//
// The gateway never waits for it. Without room in the ring bytes are lost, which is counted, noted
// in the recording's ledger and losses, and said at the end.
#pragma once

#include <memory>

#include "gateway/config/gateway_config.hpp"
#include "gateway/core/result.hpp"
#include "gateway/core/time.hpp"
#include "gateway/core/traffic_tap.hpp"

namespace gatedrill::replay {

// `clock` outlives it. Fails where the file cannot be written. If that happens later, it is said on
// stderr at once, nothing more is recorded, and `finish` fails.
[[nodiscard]] Result<std::unique_ptr<TrafficRecorder>> record_gateway(
    const gateway::RecordConfig& config, std::size_t shards, const Clock& clock);

}  // namespace gatedrill::replay
