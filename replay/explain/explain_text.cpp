// What `traffic explain` prints for a person.
#include <algorithm>
#include <array>

#include "replay/explain/explain.hpp"
#include "replay/explain/words.hpp"
#include "replay/traffic_summary.hpp"

namespace gatedrill::replay::explain {
namespace {

constexpr std::size_t kStripWidth = 60;
constexpr std::size_t kServersShown = 6;

std::string left(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string right(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string connection_words(const Hop& hop) {
  std::string text = "connection " + std::to_string(hop.connection.connection);
  if (hop.ordinal > 0) text += ", request " + std::to_string(hop.ordinal) + " on it";
  if (const auto age = hop.age()) {
    text += ", " + in_words(*age) + " old";
  } else {
    text += ", older than the capture";
  }
  if (hop.idle_before) text += ", idle " + in_words(*hop.idle_before) + " before";
  if (hop.connection.syns > 1) text += ", " + count_of(hop.connection.syns, "SYN");
  return text;
}

void add_end(std::string& text, const char* what, const RecordedSide& side, UnixTime begin) {
  const auto add = [&](const char* flag, const std::optional<UnixTime>& at) {
    if (!at) return;
    const Duration since{at->ns - begin.ns};
    if (!text.empty()) text += ", ";
    text += std::string(what) + " " + flag + " " + in_words(since < Duration{0} ? -since : since) +
            (since < Duration{0} ? " before" : " after") + " it began";
  };
  add("FIN", side.fin);
  add("RST", side.rst);
}

std::string ends_words(const Hop& hop) {
  std::string ends;
  if (hop.reset) {
    ends = std::string(hop.reset->by()) + " RST_STREAM " +
           in_words(Duration{hop.reset->at.ns - hop.begin.ns}) + " after it began";
  }
  add_end(ends, "server", hop.connection.server_side, hop.begin);
  add_end(ends, "client", hop.connection.client_side, hop.begin);
  return ends.empty() ? ends : "; " + ends;
}

std::string fate_words(const Chain& chain) {
  const Hop& hop = chain.hop;
  const Outcome& outcome = chain.outcome;
  std::string text;
  if (outcome.fate == Fate::answered || outcome.fate == Fate::cut_by_server ||
      outcome.fate == Fate::cut_by_client) {
    text = std::to_string(hop.status.value_or(0)) + " after " +
           in_words(outcome.waited.value_or(Duration{0}));
    if (outcome.fate != Fate::answered) text += ", " + std::string(to_string(outcome.fate));
    if (hop.upload_cut()) text += ", before the request was whole";
    if (outcome.fate != Fate::answered || hop.upload_cut()) text += ends_words(hop);
    return text;
  }
  text = std::string(to_string(outcome.fate));
  if (outcome.waited && outcome.fate == Fate::abandoned) {
    text += " after " + in_words(*outcome.waited);
  }
  text += ends_words(hop);
  if (hop.transport) {
    text += hop.transport->acknowledged ? "; request acknowledged" : "; request not acknowledged";
    if (hop.transport->retransmissions > 0) {
      text += ", " + count_of(hop.transport->retransmissions, "retransmission");
    }
  }
  return text;
}

std::string render_hop(const Chain& chain, std::size_t depth) {
  const std::string indent(4 + depth * 4, ' ');
  const Hop& hop = chain.hop;
  std::string text = indent;
  if (depth > 0) {
    text += "-> " + hop.server + "  exchange " + std::to_string(hop.id);
    if (hop.recording > 0) text += " of the upstream leg";
    text += ", by " + std::string(to_string(*chain.joined_by));
    if (chain.rivals > 0) {
      text += " (or one of " + count_of(static_cast<std::uint64_t>(chain.rivals), "other") + ")";
    }
    text += "\n" + indent + "   ";
  } else {
    text += hop.client + " -> " + hop.server + "  ";
  }
  text += connection_words(hop) + "\n";
  if (depth > 0) {
    text += indent + "   " + fate_words(chain) + "\n";
  } else if (chain.outcome.fate != Fate::answered || hop.upload_cut()) {
    text += indent + fate_words(chain) + "\n";
  }
  for (const Chain& child : chain.children)
    text += render_hop(child, depth + 1);
  for (const Attempt& attempt : chain.attempts) {
    const RecordedConnection& connection = attempt.connection;
    text +=
        indent + "    -> " + connection.server + "  " +
        (connection.connect == "refused" ? "refused the connection"
                                         : "did not answer " + count_of(connection.syns, "SYN")) +
        ", " + in_words(Duration{connection.opened->ns - hop.begin.ns}) +
        " after the request came\n";
  }
  return text;
}

// How much there was in each part of the time, a character each.
template <class Pick>
std::string strip(const Listener& listener, std::int64_t first, std::int64_t last, Pick pick) {
  const auto span = static_cast<std::size_t>(last - first + 1);
  const std::size_t width = std::min(kStripWidth, span);
  std::vector<std::uint64_t> columns(width);
  for (const auto& [second, counts] : listener.seconds) {
    columns[static_cast<std::size_t>(second - first) * width / span] += pick(counts);
  }
  std::string text;
  for (const std::uint64_t count : columns) {
    constexpr std::string_view kMarks = ".123456789";
    text += count < kMarks.size() ? kMarks[count] : count < 100 ? '+' : '#';
  }
  return text;
}

std::string render_strips(const Listener& listener) {
  const std::int64_t first = listener.seconds.begin()->first;
  const std::int64_t last = listener.seconds.rbegin()->first;
  const auto row = [&](const char* name, auto pick) {
    return "  " + left(name, 10) + strip(listener, first, last, pick) + "\n";
  };
  const auto span = static_cast<std::size_t>(last - first + 1);
  const double step = static_cast<double>(span) / static_cast<double>(std::min(kStripWidth, span));
  std::string text = "  over time, " + in_words(from_ms(step * 1000)) +
                     " a character (+ ten or more, # a hundred or more)\n";
  text += row("502, none", [](const Second& second) { return second.bad_gateway; });
  text += row("504", [](const Second& second) { return second.timeouts; });
  text += row("requests", [](const Second& second) { return second.requests; });
  return text;
}

std::string servers_words(const Group& group) {
  std::vector<std::pair<std::uint64_t, std::string>> servers;
  for (const auto& [server, count] : group.servers)
    servers.emplace_back(count, server);
  std::sort(servers.rbegin(), servers.rend());
  std::string text;
  for (std::size_t i = 0; i < std::min(kServersShown, servers.size()); ++i) {
    text += (i == 0 ? "" : ", ") + servers[i].second + " (" + in_words(servers[i].first) + ")";
  }
  if (servers.size() > kServersShown) {
    text += ", and " + std::to_string(servers.size() - kServersShown) + " more";
  }
  return text;
}

std::string quantile_words(const char* name, const Histogram& histogram) {
  if (histogram.count() == 0) return {};
  return std::string(", ") + name + " p50 " + in_words(histogram.at_quantile(0.5)) + ", max " +
         in_words(histogram.max());
}

std::string cause_words(const std::optional<Cause>& cause) {
  return cause ? std::string(to_string(*cause)) : "cause open";
}

// Of the longest name, so that what follows is in one column.
std::size_t cause_width() {
  std::size_t width = cause_words({}).size();
  for (int cause = 0; cause < kCauseCount; ++cause)
    width = std::max(width, to_string(static_cast<Cause>(cause)).size());
  return width;
}

std::string render_group(const GroupKey& key, const Group& group) {
  std::string text = "  " + left(key.answer, 10) + right(in_words(group.count), 9) + "  " +
                     left(cause_words(key.cause), cause_width()) + "  ";
  std::string sure;
  for (const auto& [certainty, count] : group.certainty) {
    sure += (sure.empty() ? "" : ", ") + in_words(count) + " " + std::string(to_string(certainty));
  }
  text += sure + "; " + time_of_day(group.first) + " to " + time_of_day(group.last) + "\n";
  const std::string indent(23, ' ');
  text += indent + "on " + servers_words(group) + quantile_words("waited", group.waited) + "\n";
  if (group.reused + group.fresh > 0) {
    text += indent + in_words(group.reused) + " on kept connections, " + in_words(group.fresh) +
            " on fresh ones" + quantile_words("idle before", group.idle) + "\n";
  }
  if (group.may_have_run > 0) {
    text += indent + "the upstream may have run " + in_words(group.may_have_run) + " of them\n";
  }
  return text;
}

std::string render_listener(const std::string& name,
                            const Listener& listener,
                            const Findings& findings) {
  const std::uint64_t failed = listener.failed();
  std::string text = "\n" + name + ": " + count_of(listener.requests, "request") + ", " +
                     in_words(failed) + " failed (" + share_of(failed, listener.requests) + ")";
  if (findings.topology().is_callee(name)) text += ", asked directly though a gateway calls it too";
  text += "\n";
  for (const auto& [key, group] : listener.groups)
    text += render_group(key, group);
  for (const auto& [sign, group] : listener.signs) {
    text += "  " + left("suspicious", 10) + right(in_words(group.count), 9) + "  " +
            std::string(to_string(sign)) + "\n";
  }
  if (listener.open > 0) {
    text += "  " + left("not known", 10) + right(in_words(listener.open), 9) +
            "  the capture does not show how they ended\n";
  }
  if (listener.passed_on > 0) {
    text += "  " + in_words(listener.passed_on) + " of the requests were followed upstream, " +
            in_words(listener.upstream_exchanges) + " exchanges";
    for (const auto& [kind, count] : listener.joined)
      text += ", " + in_words(count) + " by " + std::string(to_string(kind));
    if (listener.ambiguous > 0) {
      text += "; " + in_words(listener.ambiguous) + " might belong to another request as well";
    }
    text += "\n";
  } else {
    text += "  the upstream leg of this listener is not in the recording\n";
  }
  if (failed > 0) text += render_strips(listener);
  return text;
}

std::string render(const Likeness& like) {
  std::string text = "\n" + like.incident + ", " + like.title + "\n  at " + like.listener + ": " +
                     std::string(to_string(like.degree)) +
                     (like.degree == Degree::strong ? " likeness" : " likeness only") + "\n";
  const auto list = [&](const char* mark, const std::vector<std::string>& lines) {
    for (const std::string& line : lines)
      text += std::string("  ") + mark + " " + line + "\n";
  };
  list("for    ", like.evidence);
  list("against", like.counter_evidence);
  list("unseen ", like.not_shown);
  list("next   ", like.next);
  return text;
}

std::string render_coverage(const Coverage& coverage) {
  std::string text = coverage.file + ": " + count_of(coverage.exchanges, "exchange");
  if (coverage.exchanges > 0) {
    text += ", " + time_text(coverage.first) + " to " + time_of_day(coverage.last) + " (" +
            in_words(Duration{coverage.last.ns - coverage.first.ns}) + ")";
  }
  text += "\n";
  if (coverage.gap_bytes > 0 || coverage.kernel_drops > 0) {
    text += "  HOLES: " + count_of(coverage.gap_bytes, "byte") +
            " that were sent are not in the capture, " + count_of(coverage.kernel_drops, "packet") +
            " dropped by the kernel; what may lie in a hole is said to be open\n";
  }
  if (coverage.twice > 0) {
    text += "  " + in_words(coverage.twice) + " of them are in the other recording too\n";
  }
  return text;
}

std::string render_clock(const ClockShift& clock) {
  constexpr std::uint64_t kEnough = 3;
  if (clock.pairs < kEnough) {
    return "clocks: too few requests are in both recordings to compare them; taken as equal\n";
  }
  if (clock.added == Duration{0}) {
    return "clocks: agree, by " + count_of(clock.pairs, "request") + " in both recordings\n";
  }
  return "clocks: " + in_words(clock.added) + " added to the upstream leg, by " +
         count_of(clock.pairs, "request") + " in both recordings" +
         (clock.consistent ? ""
                           : "; no single shift fits, so times between the legs are doubtful") +
         "\n";
}

using Shown = std::vector<std::pair<std::string, const Listener*>>;

std::string render_examples(const Shown& shown) {
  std::string text;
  const auto add = [&](const std::string& title, const Group& group) {
    text += "\n" + title + ", " + std::to_string(group.examples.size()) + " of " +
            in_words(group.count) + "\n";
    for (const Example& example : group.examples)
      text += render(example.chain, example.verdict);
  };
  for (const auto& [name, listener] : shown) {
    for (const auto& [key, group] : listener->groups) {
      if (group.examples.empty()) continue;
      add(name + ": " + key.answer + " " + cause_words(key.cause), group);
    }
    for (const auto& [sign, group] : listener->signs) {
      if (!group.examples.empty()) add(name + ": " + std::string(to_string(sign)), group);
    }
  }
  return text;
}

}  // namespace

std::string render(const Chain& chain, const Verdict& verdict) {
  const Hop& hop = chain.hop;
  std::string text = "  #" + std::to_string(hop.id) + "  " + time_of_day(hop.begin) + "  " +
                     printable(hop.name()) + "  -> " + verdict.answer;
  if (chain.outcome.waited) text += " after " + in_words(*chain.outcome.waited);
  text += "\n" + render_hop(chain, 0);
  if (!verdict.why.empty()) {
    text += "    why: ";
    if (verdict.cause) {
      text += std::string(to_string(*verdict.cause)) + " (" +
              std::string(to_string(verdict.certainty)) + "): ";
    }
    text += verdict.why + "\n";
  }
  if (chain.repeats) {
    text +=
        "    the same request failed before, as exchange " + std::to_string(*chain.repeats) + "\n";
  }
  for (const Sign sign : verdict.signs)
    text += "    suspicious: " + std::string(to_string(sign)) + "\n";
  return text;
}

std::string render(const Report& report, std::size_t top) {
  std::string text;
  for (const Coverage& coverage : report.coverage)
    text += render_coverage(coverage);
  if (report.clock) text += render_clock(*report.clock);
  Shown listeners;
  std::uint64_t quiet = 0;
  for (const auto& [name, listener] : report.findings.listeners()) {
    if (listener.groups.empty() && listener.signs.empty()) {
      ++quiet;
    } else {
      listeners.emplace_back(name, &listener);
    }
  }
  // Those that clients ask first, then those that failed most.
  const Topology& topology = report.findings.topology();
  std::stable_sort(listeners.begin(), listeners.end(), [&](const auto& a, const auto& b) {
    const bool a_behind = topology.is_callee(a.first);
    const bool b_behind = topology.is_callee(b.first);
    if (a_behind != b_behind) return b_behind;
    return a.second->failed() > b.second->failed();
  });
  const std::size_t hidden = listeners.size() - std::min(top, listeners.size());
  listeners.resize(listeners.size() - hidden);
  for (const auto& [name, listener] : listeners)
    text += render_listener(name, *listener, report.findings);
  if (hidden > 0) {
    text += "\n" + count_of(hidden, "more listener") +
            " with failures or suspicions: --top shows "
            "them, --json has them all\n";
  }
  if (quiet > 0) {
    text +=
        "\nnothing failed and nothing is suspicious at " + count_of(quiet, "other listener") + "\n";
  }
  for (const Likeness& like : report.incidents)
    text += render(like);
  if (report.incidents.empty() && !listeners.empty()) {
    text += "\nit looks like none of the known incidents\n";
  }
  return text + render_examples(listeners);
}

}  // namespace gatedrill::replay::explain
