#include "replay/traffic_summary.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "replay/content_coding.hpp"
#include "replay/database.hpp"
#include "replay/recording_schema.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::size_t kShownBodyBytes = 64 * 1024;
constexpr std::size_t kCountWidth = 12;
constexpr std::size_t kNameWidth = 80;

// A row of "name, count" each.
Result<std::vector<TrafficSummary::Share>> shares(const Database& database,
                                                  const std::string& sql,
                                                  int top) {
  auto rows = database.prepare(sql + " GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT " + std::to_string(top));
  if (!rows) return rows.error();
  std::vector<TrafficSummary::Share> all;
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return all;
    all.push_back({rows->text(0), static_cast<std::uint64_t>(rows->integer(1))});
  }
}

Result<void> count_exchanges(const Database& database, TrafficSummary& summary) {
  const std::string dropped = " = " + std::to_string(kBodyDropped);
  auto rows = database.prepare(
      "SELECT count(*), count(method), count(status), "
      "total(request_complete = 0 OR response_complete = 0 OR request_redacted" +
      dropped + " OR response_redacted" + dropped +
      "), min(at_ns), max(at_ns), (SELECT count(*) FROM t_connections) FROM t_exchanges");
  if (!rows) return rows.error();
  auto row = rows->step();
  if (!row) return row.error();
  summary.exchanges = static_cast<std::uint64_t>(rows->integer(0));
  summary.requests = static_cast<std::uint64_t>(rows->integer(1));
  summary.answers = static_cast<std::uint64_t>(rows->integer(2));
  summary.partial = static_cast<std::uint64_t>(rows->integer(3));
  summary.first.ns = rows->integer(4);
  summary.last.ns = rows->integer(5);
  summary.connections = static_cast<std::uint64_t>(rows->integer(6));
  return {};
}

Result<void> find_paths(const Database& database, int top, TrafficSummary& summary) {
  auto rows = database.prepare(
      "SELECT method, host, substr(target, 1, instr(target || '?', '?') - 1) AS path, count(*), "
      "total(status IS NULL OR status >= 500), total(latency_ns) / max(count(latency_ns), 1), "
      "max(latency_ns) FROM t_exchanges WHERE method IS NOT NULL "
      "GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT " +
      std::to_string(top));
  if (!rows) return rows.error();
  for (;;) {
    auto row = rows->step();
    if (!row) return row.error();
    if (!*row) return {};
    summary.paths.push_back({.method = rows->text(0),
                             .host = rows->text(1),
                             .path = rows->text(2),
                             .requests = static_cast<std::uint64_t>(rows->integer(3)),
                             .failed = static_cast<std::uint64_t>(rows->integer(4)),
                             .latency_ms_mean = rows->real(5) / 1e6,
                             .latency_ms_max = rows->real(6) / 1e6});
  }
}

std::string fixed(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

// A cell of a table, right-aligned, with two spaces behind it.
std::string cell(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text + "  ";
}

std::string cell(std::uint64_t number, std::size_t width) {
  return cell(std::to_string(number), width);
}

std::string with_dots(std::string_view text, std::string_view kept) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7f;
    if (control && kept.find(c) == std::string_view::npos) c = '.';
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (text.size() <= width) return printable(text);
  return printable(text.substr(0, width - 3)) + "...";
}

std::string render_shares(const char* title, const std::vector<TrafficSummary::Share>& shares) {
  if (shares.empty()) return {};
  std::string text = std::string("\n") + title + "\n";
  for (const auto& share : shares) {
    text += cell(share.count, kCountWidth) + shortened(share.name, kNameWidth) + "\n";
  }
  return text;
}

bool is_text(std::string_view body) {
  return std::none_of(body.begin(), body.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\r' && c != '\n';
  });
}

std::string render_body(const std::string& body, const std::vector<RecordedField>& fields) {
  if (body.empty()) return {};
  const auto plain = decode_content(body, value_of(fields, "Content-Encoding"));
  const std::string& shown = plain ? *plain : body;
  const std::string_view part = std::string_view(shown).substr(0, kShownBodyBytes);
  if (!is_text(part)) return "(" + std::to_string(shown.size()) + " bytes that are not text)\n";
  std::string text = with_dots(part, "\t\r\n");
  std::erase(text, '\r');
  if (!text.ends_with('\n')) text.push_back('\n');
  if (part.size() < shown.size()) {
    text += "(" + std::to_string(shown.size() - part.size()) + " more bytes)\n";
  }
  return text;
}

template <class Message>
std::string render_message(const std::string& first_line, const Message& message) {
  std::string text = printable(first_line) + "\n";
  for (const RecordedField& field : message.fields) {
    text += printable(field.name) + ": " + printable(field.value) + "\n";
  }
  text += "\n" + render_body(message.body, message.fields);
  for (const RecordedField& field : message.trailers) {
    text += "(trailer) " + printable(field.name) + ": " + printable(field.value) + "\n";
  }
  if (!message.complete) text += "(not complete)\n";
  if (message.body_dropped) {
    text += "(the body was dropped: its coding could not be undone to look for secrets)\n";
  }
  if (message.redacted) text += "(secrets replaced)\n";
  if (!message.defects.empty()) text += "(defects: " + printable(message.defects) + ")\n";
  return text;
}

}  // namespace

std::string printable(std::string_view text) {
  return with_dots(text, "");
}

std::string time_text(UnixTime at) {
  std::int64_t seconds = at.ns / 1'000'000'000;
  if (at.ns % 1'000'000'000 < 0) --seconds;
  const std::int64_t ms = (at.ns - seconds * 1'000'000'000) / 1'000'000;
  const std::time_t time = seconds;
  std::tm calendar{};
  gmtime_r(&time, &calendar);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &calendar);
  std::array<char, 16> part{};
  std::snprintf(part.data(), part.size(), ".%03d UTC", static_cast<int>(ms));
  return std::string(text.data()) + part.data();
}

Result<TrafficSummary> summarize(const std::string& path, int top) {
  // Checks what the file is.
  if (auto recording = Recording::open(path); !recording) return recording.error();
  auto database = Database::open(path, Database::Mode::read);
  if (!database) return database.error();
  TrafficSummary summary;
  if (auto done = count_exchanges(*database, summary); !done) return done.error();
  if (auto done = find_paths(*database, top, summary); !done) return done.error();

  struct List {
    std::vector<TrafficSummary::Share>& shares;
    const char* sql;
  };

  const std::array<List, 4> lists = {{
      {summary.closes,
       "SELECT how || coalesce(' by ' || closed_by, ''), count(*) FROM t_connections"},
      {summary.statuses,
       "SELECT coalesce(CAST(status AS TEXT), 'no answer'), count(*) FROM t_exchanges"},
      {summary.servers,
       "SELECT c.server, count(*) FROM t_exchanges e JOIN t_connections c USING (connection)"},
      {summary.losses, "SELECT reason, count(*) FROM t_losses"},
  }};
  for (const List& list : lists) {
    auto found = shares(*database, list.sql, top);
    if (!found) return found.error();
    list.shares = std::move(*found);
  }
  return summary;
}

std::string render(const TrafficSummary& summary) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  std::string text = number(summary.exchanges) + " exchanges: " + number(summary.requests) +
                     " requests, " + number(summary.answers) + " answers; " +
                     number(summary.partial) + " not whole\n";
  if (summary.exchanges > 0) {
    const double seconds =
        (static_cast<double>(summary.last.ns) - static_cast<double>(summary.first.ns)) / 1e9;
    text += "from " + time_text(summary.first) + " to " + time_text(summary.last) + ", " +
            fixed(seconds) + " s\n";
  }
  text += number(summary.connections) + " connections\n";
  text += render_shares("status", summary.statuses);
  text += render_shares("connections closed", summary.closes);
  text += render_shares("servers, by exchanges", summary.servers);
  text += render_shares("losses, by reason", summary.losses);
  if (summary.paths.empty()) return text;
  text += "\n" + cell("requests", kCountWidth) + cell("failed", kCountWidth) +
          cell("mean ms", kCountWidth) + cell("max ms", kCountWidth) + "request\n";
  for (const TrafficSummary::Path& path : summary.paths) {
    text += cell(path.requests, kCountWidth) + cell(path.failed, kCountWidth) +
            cell(fixed(path.latency_ms_mean), kCountWidth) +
            cell(fixed(path.latency_ms_max), kCountWidth) +
            shortened(path.method + " " + path.host + path.path, kNameWidth) + "\n";
  }
  return text;
}

std::string render(const std::vector<LedgerLine>& ledger) {
  std::string text = cell("count", kCountWidth) + cell("bytes", kCountWidth) + "what\n";
  for (const LedgerLine& line : ledger) {
    if (line.count == 0 && line.bytes == 0) continue;
    text += cell(line.count, kCountWidth) + cell(line.bytes, kCountWidth) + printable(line.what) +
            (line.note.empty() ? "" : " (" + printable(line.note) + ")") + "\n";
  }
  return text;
}

std::string render(const RecordedExchange& exchange) {
  std::string text = "exchange " + std::to_string(exchange.id) + ", " + time_text(exchange.at) +
                     ", connection " + std::to_string(exchange.connection) + ", " +
                     printable(exchange.client) + " to " + printable(exchange.server);
  if (exchange.latency) text += ", " + fixed(to_ms(*exchange.latency)) + " ms";
  if (exchange.tunnel) text += ", became a tunnel";
  if (exchange.reset) {
    text += ", reset by the " + std::string(exchange.reset->by()) + " after " +
            fixed(to_ms(Duration{exchange.reset->at.ns - exchange.at.ns})) + " ms";
  }
  text += "\n\n";
  if (exchange.request) {
    const RecordedRequest& request = *exchange.request;
    text += render_message(request.method + " " + request.target + " " + request.version, request);
  } else {
    text += "(the request was not seen)\n";
  }
  for (const int status : exchange.informational)
    text += "\n(" + std::to_string(status) + ")\n";
  text += "\n";
  if (exchange.response) {
    const RecordedResponse& response = *exchange.response;
    const std::string line =
        response.version + " " + std::to_string(response.status) + " " + response.reason;
    text += render_message(line, response);
  } else {
    text += "(no answer was seen)\n";
  }
  return text;
}

}  // namespace gatedrill::replay
