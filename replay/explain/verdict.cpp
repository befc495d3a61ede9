#include "replay/explain/verdict.hpp"

#include <algorithm>

#include "replay/explain/words.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr int kServerError = 500;
constexpr int kGatewayTimeout = 504;
// A gateway that answers sooner has not waited for anything.
constexpr Duration kAtOnce = std::chrono::milliseconds(50);
// An answer that comes so shortly before a 504 may have been read too late.
constexpr Duration kCrossed = std::chrono::milliseconds(50);

struct Finding {
  std::optional<Cause> cause{};
  Certainty certainty = Certainty::open;
  std::string why{};
  bool may_have_run = false;
  const Chain* broken = nullptr;
};

struct Judge {
  const Topology& topology;
  const Hints& hints;

  [[nodiscard]] Finding explain(const Chain& chain) const;
  [[nodiscard]] Finding own_leg(const Chain& chain) const;
  [[nodiscard]] Finding closed_by_server(const Chain& chain) const;
  [[nodiscard]] Finding from_below(const Chain& above, const Chain& chain) const;
  [[nodiscard]] Finding answered_below(const Chain& above, const Chain& chain) const;
  [[nodiscard]] Finding given_up(const Chain& above, const Chain& chain) const;
  [[nodiscard]] Finding cut_by_caller(const Chain& above, const Chain& chain) const;
  [[nodiscard]] Finding from_attempt(const Chain& above, const Attempt& attempt) const;
  [[nodiscard]] Finding nothing_below(const Chain& chain) const;
  [[nodiscard]] std::string about_wait(const std::string& listener, Duration waited) const;
  // Of the waits at that listener that ended after the same time; nothing if this one is alone.
  [[nodiscard]] const Cluster* cluster_with(const std::string& listener, Duration waited) const;
};

const char* what_ended(const Outcome& outcome) {
  return outcome.of_stream ? "stream" : "connection";
}

Finding cut_inside_answer(const Chain& chain) {
  return {.cause = Cause::body_truncated,
          .certainty = Certainty::seen,
          .why = chain.hop.server + (chain.outcome.by_reset ? " reset" : " closed") + " the " +
                 what_ended(chain.outcome) + " inside its answer",
          .may_have_run = true,
          .broken = &chain};
}

// What it sent is no answer, or it broke off the form of one.
Finding malformed(const Chain& chain) {
  const Hop& hop = chain.hop;
  const Duration after{hop.malformed_answer->ns - hop.request_end.value_or(hop.begin).ns};
  return {
      .cause = Cause::malformed_response,
      .certainty = Certainty::seen,
      .why = hop.server +
             (hop.status ? " answered " + std::to_string(*hop.status) +
                               ", and the body's framing is wrong from " + in_words(after) + " on"
                         : " answered after " + in_words(after) + " with what is not HTTP"),
      .may_have_run = true,
      .broken = &chain};
}

std::string idle_words(const Hop& hop) {
  return hop.idle_before ? ", " + in_words(*hop.idle_before) + " after its last use" : "";
}

// What the capture says of the place where the request and the end met.
std::string overlap(const Hop& hop, const Outcome& outcome) {
  const std::string end = outcome.by_reset ? "RST" : "FIN";
  const Duration gap = outcome.end_before_request.value_or(Duration{0});
  const std::string when = gap >= Duration{0}
                               ? end + " came " + in_words(gap) + " before the request"
                               : end + " came " + in_words(-gap) + " after the request began";
  switch (outcome.fate) {
    case Fate::closed_before_request:
      if (outcome.end_was_known) return when + ", whose sender's TCP had it already";
      return when + " and acknowledges nothing of it: they crossed";
    case Fate::closed_after_request:
      return when + " and the server's TCP had all of it";
    case Fate::closed_inside_request:
      return when + ", of which the server's TCP had a part";
    case Fate::closed_unclear:
      if (hop.transport && hop.transport->acknowledged) return when + ", which was acknowledged";
      return when + ", of which nothing shows that it was received";
    case Fate::answered:
    case Fate::malformed:
    case Fate::cut_by_server:
    case Fate::cut_by_client:
    case Fate::abandoned:
    case Fate::request_cut:
    case Fate::unfinished:
    case Fate::hole:
    case Fate::request_not_seen:
      break;
  }
  return when;
}

Finding Judge::closed_by_server(const Chain& chain) const {
  const Hop& hop = chain.hop;
  Finding finding{.certainty = Certainty::seen, .broken = &chain};
  finding.may_have_run = chain.outcome.fate != Fate::closed_before_request;
  const std::string closed = chain.outcome.by_reset ? " reset " : " closed ";
  if (chain.outcome.of_stream) {
    finding.cause = Cause::stream_reset;
    finding.why = hop.server + " reset the stream without an answer, " +
                  in_words(Duration{chain.outcome.ended->ns - hop.begin.ns}) +
                  " after the request began";
    return finding;
  }
  if (!chain.outcome.reused) {
    finding.cause = Cause::stale_reuse;
    finding.certainty = Certainty::likely;
    finding.why = hop.server + closed + "a connection that is older than the capture" +
                  idle_words(hop) + ", without an answer; " + overlap(hop, chain.outcome);
  } else if (*chain.outcome.reused) {
    finding.cause = Cause::stale_reuse;
    finding.why = hop.server + closed + "a kept connection" + idle_words(hop) +
                  ", without an answer; " + overlap(hop, chain.outcome);
    const Duration end_after = -chain.outcome.end_before_request.value_or(Duration{0});
    if (chain.outcome.fate == Fate::closed_after_request && end_after > kAtOnce) {
      finding.certainty = Certainty::likely;
      finding.why +=
          ", so it may have failed at the request rather than given up an idle connection";
    }
  } else {
    finding.cause = Cause::upstream_closed;
    finding.why = hop.server + closed + "a fresh connection without an answer; " +
                  overlap(hop, chain.outcome);
  }
  return finding;
}

const Cluster* Judge::cluster_with(const std::string& listener, Duration waited) const {
  const auto found = hints.waits.find(listener);
  return found != hints.waits.end() && found->second.holds(waited) ? &found->second : nullptr;
}

std::string Judge::about_wait(const std::string& listener, Duration waited) const {
  if (const Timeout* timeout = match(hints.timeouts, waited); timeout && timeout->given) {
    return ", the timeout " + timeout->name + " of " + in_words(timeout->after);
  }
  if (const Cluster* cluster = cluster_with(listener, waited)) {
    return ", as " + in_words(std::uint64_t{cluster->count - 1}) + " others did (" +
           in_words(cluster->low) + " to " + in_words(cluster->high) + ")";
  }
  if (const Timeout* timeout = match(hints.timeouts, waited)) return ", as " + timeout->name;
  return "";
}

// Who asked ended it without an answer.
Finding Judge::given_up(const Chain& above, const Chain& chain) const {
  const Hop& hop = chain.hop;
  const Duration waited = chain.outcome.waited.value_or(Duration{0});
  Finding finding{.may_have_run = true, .broken = &chain};
  const bool client_left =
      above.outcome.fate == Fate::abandoned || above.outcome.fate == Fate::request_cut;
  if (client_left && *above.outcome.ended <= *chain.outcome.ended) {
    finding.cause = Cause::client_closed;
    finding.certainty = Certainty::seen;
    finding.why = "the client left after " +
                  in_words(Duration{above.outcome.ended->ns - above.hop.begin.ns}) + ", while " +
                  hop.server + " had not answered yet";
    return finding;
  }
  finding.why = "the gateway gave up after " + in_words(waited) + " without an answer from " +
                hop.server + about_wait(above.hop.server, waited);
  const bool says_timeout = above.hop.status == kGatewayTimeout;
  if (says_timeout) {
    finding.cause = Cause::response_timeout;
    finding.certainty = Certainty::seen;
  } else if (match(hints.timeouts, waited) != nullptr) {
    finding.cause = Cause::response_timeout;
    finding.certainty = Certainty::likely;
    finding.why += "; that it was a timeout is told by its length only";
  }
  if (hop.answer_begin) {
    finding.why += "; it answered " + std::to_string(hop.status.value_or(0)) + " " +
                   in_words(Duration{hop.answer_begin->ns - chain.outcome.ended->ns}) + " later";
  }
  for (const Chain& below : chain.children) {
    if (below.outcome.fate != Fate::answered || !below.outcome.waited) continue;
    finding.why += "; " + below.hop.server + " answered " + std::to_string(*below.hop.status) +
                   " after " + in_words(*below.outcome.waited);
  }
  return finding;
}

Finding Judge::answered_below(const Chain& above, const Chain& chain) const {
  const Hop& hop = chain.hop;
  Finding finding{.broken = &chain};
  const std::string status = std::to_string(*hop.status);
  const bool late = above.hop.answer_begin && hop.answer_begin > above.hop.answer_begin;
  if (late) {
    finding.cause = Cause::response_timeout;
    finding.certainty = above.hop.status == kGatewayTimeout ? Certainty::seen : Certainty::likely;
    finding.may_have_run = true;
    const Duration waited{above.hop.answer_begin->ns - hop.request_end.value_or(hop.begin).ns};
    finding.why = "the gateway gave up after " + in_words(waited) +
                  about_wait(above.hop.server, waited) + "; " + hop.server + " answered " + status +
                  " " + in_words(Duration{hop.answer_begin->ns - above.hop.answer_begin->ns}) +
                  " later";
    return finding;
  }
  if (hop.status == above.hop.status) {
    const Finding deeper = explain(chain);
    if (deeper.cause && deeper.cause != Cause::upstream_status && !chain.children.empty()) {
      Finding passed = deeper;
      passed.why = hop.server + " itself answered " + status + ": " + deeper.why;
      return passed;
    }
    finding.cause = Cause::upstream_status;
    finding.certainty = Certainty::seen;
    finding.may_have_run = true;
    finding.why = hop.server + " itself answered " + status + " after " +
                  in_words(chain.outcome.waited.value_or(Duration{0}));
    return finding;
  }
  if (*hop.status >= kServerError) {
    finding.cause = Cause::upstream_status;
    finding.certainty = Certainty::likely;
    finding.why = hop.server + " answered " + status + " and the gateway made " +
                  std::to_string(above.hop.status.value_or(0)) + " of it; why, its log says";
    return finding;
  }
  finding.may_have_run = true;
  const Duration before{above.hop.answer_begin ? above.hop.answer_begin->ns - hop.answer_begin->ns
                                               : 0};
  if (above.hop.status == kGatewayTimeout && before <= kCrossed) {
    finding.cause = Cause::response_timeout;
    finding.certainty = Certainty::likely;
    finding.why = hop.server + " answered " + status + " after " +
                  in_words(chain.outcome.waited.value_or(Duration{0})) + ", " + in_words(before) +
                  " before the gateway's 504: too late for it to be taken";
    return finding;
  }
  finding.why = hop.server + " answered " + status + " and the gateway did not pass it on";
  if (!hop.answer_defects.empty()) {
    finding.cause = Cause::malformed_response;
    finding.certainty = Certainty::likely;
    finding.why += "; the answer is malformed: " + hop.answer_defects +
                   "; whether the gateway minds, its log says";
  } else {
    finding.why +=
        "; nothing is wrong with the answer's form, so look at the gateway's limits "
        "(size of the answer's head) and log";
  }
  return finding;
}

// Who asked ended it inside the answer.
Finding Judge::cut_by_caller(const Chain& above, const Chain& chain) const {
  const Hop& hop = chain.hop;
  if (above.hop.status == kGatewayTimeout) return answered_below(above, chain);
  Finding finding{.may_have_run = true, .broken = &chain};
  const Fate fate = above.outcome.fate;
  if (fate == Fate::cut_by_client || fate == Fate::abandoned) {
    finding.cause = Cause::client_closed;
    finding.certainty = Certainty::likely;
    finding.why =
        "the client left inside the answer; that the gateway did not cut it first is told by time "
        "only";
    return finding;
  }
  finding.why = std::string("the gateway ended the ") + what_ended(chain.outcome) + " to " +
                hop.server + " inside its answer";
  // What came behind that end says nothing about how long there was silence before it.
  const bool told = hop.answer_end && *hop.answer_end <= *chain.outcome.ended;
  const auto since = told ? hop.answer_end : hop.answer_begin;
  if (!since) return finding;
  const Duration silent{chain.outcome.ended->ns - since->ns};
  finding.why += ", " + in_words(silent) +
                 (told ? " after the last of it" : " after it had begun") +
                 about_wait(hop.server, silent);
  if (told ? silent >= kAtOnce : match(hints.timeouts, silent) != nullptr) {
    finding.cause = Cause::body_idle_timeout;
    finding.certainty = Certainty::likely;
    finding.why += "; the gateway's log says whether it timed out";
  } else {
    finding.why += ": it did not wait for more; its log says why";
  }
  return finding;
}

Finding Judge::from_below(const Chain& above, const Chain& chain) const {
  const Hop& hop = chain.hop;
  Finding finding{.broken = &chain};
  switch (chain.outcome.fate) {
    case Fate::answered:
      return answered_below(above, chain);
    case Fate::closed_before_request:
    case Fate::closed_after_request:
    case Fate::closed_inside_request:
    case Fate::closed_unclear:
      if (above.hop.answer_begin && *chain.outcome.ended > *above.hop.answer_begin) break;
      return closed_by_server(chain);
    case Fate::abandoned:
    case Fate::request_cut:
      return given_up(above, chain);
    case Fate::cut_by_server:
      return cut_inside_answer(chain);
    case Fate::cut_by_client:
      return cut_by_caller(above, chain);
    case Fate::malformed:
      // A head that was passed on has a body that comes later.
      if (!hop.status && above.hop.answer_begin &&
          *hop.malformed_answer > *above.hop.answer_begin) {
        break;
      }
      return malformed(chain);
    case Fate::unfinished:
      break;
    case Fate::hole:
      finding.why = "the capture misses " + in_words(hop.missing_bytes()) +
                    " bytes of the connection to " + hop.server +
                    ": what happened on it is not known";
      return finding;
    case Fate::request_not_seen:
      finding.why = "the request to " + hop.server + " was not seen";
      return finding;
  }
  // Nothing had happened below when the gateway answered.
  finding.may_have_run = true;
  if (above.hop.answer_begin) {
    const Duration waited{above.hop.answer_begin->ns - hop.request_end.value_or(hop.begin).ns};
    finding.why = "the gateway answered after " + in_words(waited) + " without an answer from " +
                  hop.server + about_wait(above.hop.server, waited);
    if (above.hop.status == kGatewayTimeout) {
      finding.cause = Cause::response_timeout;
      finding.certainty = Certainty::seen;
    }
    return finding;
  }
  finding.why = hop.server + " had not answered when the capture ended";
  return finding;
}

Finding Judge::from_attempt(const Chain& above, const Attempt& attempt) const {
  const RecordedConnection& connection = attempt.connection;
  const bool refused = connection.connect == "refused";
  Finding finding{.cause = refused ? Cause::connect_refused : Cause::connect_timeout,
                  .broken = &above};
  finding.certainty = attempt.rivals == 0 && topology.callers_of(connection.server) != nullptr
                          ? Certainty::seen
                          : Certainty::likely;
  finding.why =
      connection.server + (refused ? " refused the connection (RST in answer to the SYN)"
                                   : " did not answer " + count_of(connection.syns, "SYN"));
  if (finding.certainty == Certainty::likely) {
    finding.why += "; which request the attempt was for is told by time only";
  }
  return finding;
}

Finding Judge::nothing_below(const Chain& chain) const {
  const Hop& hop = chain.hop;
  const Duration waited = hop.first_byte().value_or(Duration{0});
  Finding finding{.broken = &chain};
  const bool has_leg = topology.has_callees(hop.server);
  const std::string seen =
      has_leg ? "no request of it was seen upstream" : "the upstream leg is not in the recording";
  const bool in_cluster = cluster_with(hop.server, waited) != nullptr;
  if (hop.status == kGatewayTimeout) {
    finding.why = hop.server + " answered 504 after " + in_words(waited) +
                  about_wait(hop.server, waited) + "; " + seen;
    if (has_leg) {
      finding.why += ": it waited for a connection or a place in its pool";
    } else if (in_cluster || match(hints.timeouts, waited) != nullptr) {
      finding.cause = Cause::response_timeout;
      finding.certainty = Certainty::likely;
    }
    return finding;
  }
  finding.why = hop.server + " answered " + std::to_string(hop.status.value_or(0)) + " after " +
                in_words(waited) + "; " + seen;
  if (has_leg && waited < kAtOnce) {
    finding.why +=
        ": its own answer, as with no healthy upstream, an open breaker or a limit; its "
        "log says which";
  } else if (!has_leg) {
    finding.why += ": capture between the gateway and the upstream as well";
  }
  return finding;
}

// Only one leg shows what happened.
Finding Judge::own_leg(const Chain& chain) const {
  const Hop& hop = chain.hop;
  Finding finding{.broken = &chain};
  const std::string wait = in_words(chain.outcome.waited.value_or(Duration{0}));
  switch (chain.outcome.fate) {
    case Fate::answered:
      return nothing_below(chain);
    case Fate::closed_before_request:
    case Fate::closed_after_request:
    case Fate::closed_inside_request:
    case Fate::closed_unclear:
      return closed_by_server(chain);
    case Fate::abandoned: {
      finding.may_have_run = true;
      const Duration waited = chain.outcome.waited.value_or(Duration{0});
      finding.why = "who asked gave up after " + wait + about_wait(hop.server, waited);
      if (topology.has_callees(hop.server)) {
        finding.cause = Cause::client_closed;
        finding.certainty = Certainty::seen;
      } else if (match(hints.timeouts, waited) != nullptr) {
        finding.cause = Cause::response_timeout;
        finding.certainty = Certainty::likely;
        finding.why += "; a gateway answers 504 to that, a client just leaves";
      } else if (cluster_with(hop.server, waited) != nullptr) {
        finding.why +=
            ": a timeout of the gateway's, which answers 504 to that, or of its clients'; say "
            "which "
            "with --timeout, or capture the other leg as well";
      } else {
        finding.cause = Cause::client_closed;
        finding.certainty = Certainty::likely;
      }
      return finding;
    }
    case Fate::malformed:
      return malformed(chain);
    case Fate::cut_by_server:
      return cut_inside_answer(chain);
    case Fate::cut_by_client:
    case Fate::request_cut:
      finding.cause = Cause::client_closed;
      finding.certainty = Certainty::seen;
      finding.why =
          std::string("the client ended the ") + what_ended(chain.outcome) +
          (chain.outcome.fate == Fate::request_cut ? " inside its request" : " inside the answer");
      return finding;
    case Fate::hole:
      finding.why = "the capture misses " + in_words(hop.missing_bytes()) +
                    " bytes of this connection: what happened on it is not known";
      return finding;
    case Fate::unfinished:
      finding.why = "no answer and no end was seen before the capture ended";
      return finding;
    case Fate::request_not_seen:
      finding.why = "the request was not seen";
      return finding;
  }
  return finding;
}

Finding Judge::explain(const Chain& chain) const {
  const Chain* last = chain.last_child();
  const Attempt* attempt = chain.attempts.empty() ? nullptr : &chain.attempts.back();
  if (attempt != nullptr && last != nullptr && *attempt->connection.opened < last->hop.begin) {
    attempt = nullptr;  // it went on after that
  }
  const bool by_attempt =
      attempt != nullptr && (!chain.hop.status || *chain.hop.status >= kServerError);
  if (by_attempt) return from_attempt(chain, *attempt);
  if (last == nullptr) return own_leg(chain);
  Finding finding = from_below(chain, *last);
  const bool nothing_wrong_below = last->outcome.fate == Fate::answered &&
                                   chain.outcome.fate != Fate::answered &&
                                   last->hop.status.value_or(kServerError) < kServerError;
  // What failed then is this leg.
  if (nothing_wrong_below) return own_leg(chain);
  const std::size_t attempts = chain.children.size() + chain.attempts.size();
  if (attempts > 1) finding.why += "; attempt " + std::to_string(attempts) + " of it";
  return finding;
}

std::string answer_text(const Chain& chain) {
  const Hop& hop = chain.hop;
  switch (chain.outcome.fate) {
    case Fate::answered:
      return std::to_string(hop.status.value_or(0));
    case Fate::malformed:
      return hop.status ? std::to_string(*hop.status) + " malformed" : "not HTTP";
    case Fate::cut_by_server:
    case Fate::cut_by_client:
      return std::to_string(hop.status.value_or(0)) + " cut";
    case Fate::closed_before_request:
    case Fate::closed_after_request:
    case Fate::closed_inside_request:
    case Fate::closed_unclear:
      return "none";
    case Fate::abandoned:
      return "gave up";
    case Fate::request_cut:
      return "request cut";
    case Fate::unfinished:
      return "unfinished";
    case Fate::hole:
      return "not captured";
    case Fate::request_not_seen:
      return std::to_string(hop.status.value_or(0));
  }
  return "";
}

bool has_failed(const Chain& chain) {
  const Fate fate = chain.outcome.fate;
  return chain.hop.status.value_or(0) >= kServerError || closed_without_answer(fate) ||
         fate == Fate::abandoned || fate == Fate::cut_by_server || fate == Fate::malformed;
}

}  // namespace

std::string_view to_string(Certainty certainty) {
  switch (certainty) {
    case Certainty::seen:
      return "seen";
    case Certainty::likely:
      return "likely";
    case Certainty::open:
      return "open";
  }
  return "open";
}

Verdict judge(const Chain& chain, const Topology& topology, const Hints& hints) {
  const Judge judge{topology, hints};
  Verdict verdict;
  verdict.answer = answer_text(chain);
  verdict.failed = has_failed(chain);
  const bool worth_explaining = verdict.failed || chain.outcome.fate != Fate::answered;
  if (worth_explaining) {
    const Finding finding = judge.explain(chain);
    verdict.cause = finding.cause;
    verdict.certainty = finding.certainty;
    verdict.why = finding.why;
    verdict.may_have_run = finding.may_have_run;
    verdict.broken = finding.broken;
  }
  verdict.signs = signs_of(chain, hints, verdict.failed);
  return verdict;
}

}  // namespace gatedrill::replay::explain
