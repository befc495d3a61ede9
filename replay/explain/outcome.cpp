#include "replay/explain/outcome.hpp"

#include <algorithm>

namespace gatedrill::replay::explain {
namespace {

// A client that says with its request that it will send nothing more may still wait for the answer.
// One that resets what comes then has left; and if the server ends the connection soon after that,
// it took it for one that has.
constexpr Duration kHalfCloseWithin = std::chrono::milliseconds(1);
constexpr Duration kTakenForGone = std::chrono::seconds(1);

struct End {
  UnixTime at{};
  bool by_reset = false;
};

std::optional<End> end_of(const RecordedSide& side) {
  if (side.fin && (!side.rst || *side.fin <= *side.rst)) return End{*side.fin, false};
  if (side.rst) return End{*side.rst, true};
  return std::nullopt;
}

// Whether the client only ended its own side, and waited.
bool half_closed(const Hop& hop, const End& client) {
  if (hop.connection.client_side.rst || !hop.request_end) return false;
  if (client.at.ns - hop.request_end->ns > kHalfCloseWithin.count()) return false;
  if (hop.answer_begin) return client.at < *hop.answer_begin;
  const auto server = end_of(hop.connection.server_side);
  return !server || server->at.ns - client.at.ns > kTakenForGone.count();
}

std::optional<End> client_end(const Hop& hop) {
  if (hop.reset)
    return hop.reset->by_client ? std::optional(End{hop.reset->at, true}) : std::nullopt;
  const auto end = end_of(hop.connection.client_side);
  return end && half_closed(hop, *end) ? std::nullopt : end;
}

std::optional<End> server_end(const Hop& hop) {
  if (hop.reset)
    return hop.reset->by_client ? std::nullopt : std::optional(End{hop.reset->at, true});
  return end_of(hop.connection.server_side);
}

Fate closed_by_server(const Hop& hop, const End& end) {
  if (hop.reset)
    return hop.request_whole ? Fate::closed_after_request : Fate::closed_inside_request;
  if (!hop.transport) return Fate::closed_unclear;
  if (hop.transport->after_fin) return Fate::closed_before_request;
  // How far the client's stream had come to the server when it ended the connection.
  const RecordedSide& server = hop.connection.server_side;
  const auto& had = end.by_reset ? server.rst_acked : server.fin_acked;
  if (!had) {
    // A reset that acknowledges nothing answers a segment for which there is no connection.
    if (end.by_reset && hop.transport->acknowledged) return Fate::closed_after_request;
    return Fate::closed_unclear;
  }
  if (*had >= hop.transport->request_end && hop.request_whole) return Fate::closed_after_request;
  if (*had <= hop.transport->request_begin) return Fate::closed_before_request;
  return Fate::closed_inside_request;
}

// Whether the client had ended the connection when its answer came. One that only ended its own
// side takes the answer; one that is gone has its system answer it with a reset.
bool left_before_answer(const Hop& hop, const std::optional<End>& client) {
  if (!client || !hop.answer_begin || client->at >= *hop.answer_begin) return false;
  return hop.reset || !hop.answer_whole || hop.connection.client_side.rst.has_value();
}

Fate fate_of(const Hop& hop, const std::optional<End>& client, const std::optional<End>& server) {
  if (!hop.has_request()) return Fate::request_not_seen;
  if (left_before_answer(hop, client)) {
    return hop.request_whole ? Fate::abandoned : Fate::request_cut;
  }
  // What of it came behind the client's reset was on its way.
  const bool taken = !hop.reset || !client || !hop.answer_end || client->at >= *hop.answer_end;
  if (hop.status && ((hop.answer_whole && taken) || hop.tunnel)) return Fate::answered;
  if (hop.missing_bytes() > 0) return Fate::hole;
  if (hop.malformed_answer && (!client || *hop.malformed_answer <= client->at)) {
    return Fate::malformed;
  }
  const bool server_first = server && (!client || server->at <= client->at);
  if (hop.status) {
    if (server_first) return Fate::cut_by_server;
    return client ? Fate::cut_by_client : Fate::unfinished;
  }
  if (server_first) return closed_by_server(hop, *server);
  if (client) return hop.request_whole ? Fate::abandoned : Fate::request_cut;
  return Fate::unfinished;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::answered:
      return "answered";
    case Fate::malformed:
      return "answered with what is not HTTP";
    case Fate::cut_by_server:
      return "answer cut by the server";
    case Fate::cut_by_client:
      return "answer cut by the client";
    case Fate::closed_before_request:
      return "closed by the server before it had the request";
    case Fate::closed_after_request:
      return "closed by the server after it had the request";
    case Fate::closed_inside_request:
      return "closed by the server while the request came in";
    case Fate::closed_unclear:
      return "closed by the server";
    case Fate::abandoned:
      return "given up by the client";
    case Fate::request_cut:
      return "request cut by the client";
    case Fate::unfinished:
      return "not finished";
    case Fate::hole:
      return "not known: the capture has a hole";
    case Fate::request_not_seen:
      return "request not seen";
  }
  return "answered";
}

std::string_view name_of(Fate fate) {
  switch (fate) {
    case Fate::answered:
      return "answered";
    case Fate::malformed:
      return "malformed";
    case Fate::cut_by_server:
      return "cut_by_server";
    case Fate::cut_by_client:
      return "cut_by_client";
    case Fate::closed_before_request:
      return "closed_before_request";
    case Fate::closed_after_request:
      return "closed_after_request";
    case Fate::closed_inside_request:
      return "closed_inside_request";
    case Fate::closed_unclear:
      return "closed_unclear";
    case Fate::abandoned:
      return "abandoned";
    case Fate::request_cut:
      return "request_cut";
    case Fate::unfinished:
      return "unfinished";
    case Fate::hole:
      return "hole";
    case Fate::request_not_seen:
      return "request_not_seen";
  }
  return "answered";
}

bool closed_without_answer(Fate fate) {
  return fate == Fate::closed_before_request || fate == Fate::closed_after_request ||
         fate == Fate::closed_inside_request || fate == Fate::closed_unclear;
}

Outcome outcome_of(const Hop& hop) {
  Outcome outcome;
  const auto client = client_end(hop);
  const auto server = server_end(hop);
  outcome.fate = fate_of(hop, client, server);
  if (hop.ordinal > 1) {
    outcome.reused = true;
  } else if (hop.connection.opened) {
    outcome.reused = false;
  }
  const bool server_ended =
      closed_without_answer(outcome.fate) || outcome.fate == Fate::cut_by_server;
  const bool client_ended = outcome.fate == Fate::abandoned || outcome.fate == Fate::request_cut ||
                            outcome.fate == Fate::cut_by_client;
  const auto& end = server_ended ? server : client;
  if (server_ended || client_ended) {
    outcome.ended = end->at;
    outcome.by_reset = end->by_reset;
    outcome.of_stream = hop.reset.has_value();
  }
  const UnixTime from = hop.request_end.value_or(hop.begin);
  if (hop.answer_begin && outcome.fate != Fate::abandoned) {
    outcome.waited = Duration{hop.answer_begin->ns - from.ns};
  } else if (outcome.fate == Fate::malformed) {
    outcome.waited = Duration{hop.malformed_answer->ns - from.ns};
  } else if (outcome.ended) {
    outcome.waited = Duration{std::max<std::int64_t>(outcome.ended->ns - from.ns, 0)};
  }
  if (closed_without_answer(outcome.fate)) {
    outcome.end_before_request = Duration{hop.begin.ns - outcome.ended->ns};
    outcome.end_was_known = hop.transport && hop.transport->after_fin;
  }
  return outcome;
}

}  // namespace gatedrill::replay::explain
