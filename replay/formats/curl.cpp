#include "replay/formats/curl.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "gateway/http/head.hpp"
#include "replay/formats/redaction_note.hpp"
#include "replay/formats/text_coding.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/url.hpp"
#include "replay/formats/wire_message.hpp"

namespace gatedrill::replay::formats {
namespace {

using http::equals_ignoring_case;

// An argument of a command may have 128 KiB; `printf` is the shell's own and may have any size.
constexpr std::size_t kArgumentBytesMax = std::size_t{64} * 1024;

bool is_plain_text(std::string_view body) {
  const auto control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r';
  };
  return body.size() <= kArgumentBytesMax && is_utf8(body) &&
         std::none_of(body.begin(), body.end(), control);
}

// What can stand in a URL's authority without meaning something else there.
bool is_authority(std::string_view host) {
  return !host.empty() && host.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                              ".-_:[]") == std::string_view::npos;
}

// What curl sends as it stands in a URL's path; anything else goes into --request-target.
bool is_path(std::string_view target) {
  return target.starts_with('/') && std::all_of(target.begin(), target.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte < 0x7f && c != '#' && c != '\\';
         });
}

// Why an exchange cannot be a command, or nothing.
std::string_view reason_to_leave_out(const RecordedExchange& exchange) {
  if (!exchange.request) return "exchanges left out: the request was not seen";
  const RecordedRequest& request = *exchange.request;
  if (!is_whole(request)) return "exchanges left out: the request is not whole";
  if (exchange.tunnel || request.method == "CONNECT") return "exchanges left out: a tunnel";
  if (!http::is_token(request.method) || !on_one_line(request.target) || request.target.empty()) {
    return "exchanges left out: the request cannot be written as HTTP/1";
  }
  if (!is_authority(exchange.host) && !is_authority(exchange.server)) {
    return "exchanges left out: where to is not known";
  }
  return {};
}

class Command {
 public:
  Command(const RecordedExchange& exchange, ExportNotes& notes)
      : exchange_(exchange), request_(*exchange.request), notes_(notes) {}

  std::string text() {
    add_method();
    add_version();
    add_fields();
    add_body();
    add_url();
    return input_ + "curl" + arguments_ + "\n";
  }

 private:
  void add(std::string_view option, std::string_view value) {
    arguments_.append(" ").append(option).append(" ").append(shell_quoted(value));
  }

  void add_method() {
    const bool body = !request_.body.empty();
    if (request_.method == "HEAD" && !body) {
      arguments_ += " --head";
    } else if (request_.method != (body ? "POST" : "GET")) {
      add("--request", request_.method);
    }
  }

  void add_version() {
    if (request_.version == "HTTP/1.0") arguments_ += " --http1.0";
    if (request_.version == "HTTP/1.1" && is_https(exchange_)) {
      arguments_ += " --http1.1";
    }
  }

  // curl adds fields of its own, which have to be turned off where they were not sent.
  void add_fields() {
    bool host = false;
    for (const RecordedField& field : request_.fields) {
      if (field.name.starts_with(':') || equals_ignoring_case(field.name, "Content-Length")) {
        continue;
      }
      if (equals_ignoring_case(field.name, "Host") && !host) {
        host = true;
        if (field.value == url_host()) continue;
      }
      if (!http::is_token(field.name) || !on_one_line(field.value)) {
        notes_.add("requests with fields that cannot be written", exchange_.id);
        continue;
      }
      add("--header", field.value.empty() ? field.name + ";" : field.name + ": " + field.value);
    }
    const bool http2 = request_.version != "HTTP/1.1" && request_.version != "HTTP/1.0";
    if (!host && !http2) arguments_ += " --header Host:";
    for (const char* name : {"User-Agent", "Accept"}) {
      if (!has_field(request_.fields, name))
        arguments_.append(" --header ").append(name).append(":");
    }
    if (request_.body.empty()) return;
    for (const char* name : {"Content-Type", "Expect"}) {
      if (!has_field(request_.fields, name))
        arguments_.append(" --header ").append(name).append(":");
    }
  }

  void add_body() {
    if (request_.body.empty()) {
      // A request such as POST that says it has no body.
      if (value_of(request_.fields, "Content-Length") == "0") add("--header", "Content-Length: 0");
      return;
    }
    if (is_plain_text(request_.body)) {
      add("--data-raw", request_.body);
    } else {
      input_ = "printf " + printf_quoted(request_.body) + " | ";
      arguments_ += " --data-binary @-";
    }
  }

  void add_url() {
    const std::string scheme = is_https(exchange_) ? "https://" : "http://";
    const std::string base = scheme + std::string(url_host());
    if (is_path(request_.target)) {
      arguments_ += " --path-as-is --globoff";
      arguments_.append(" ").append(shell_quoted(base + request_.target));
      return;
    }
    add("--request-target", request_.target);
    arguments_.append(" ").append(shell_quoted(base + "/"));
  }

  [[nodiscard]] std::string_view url_host() const {
    return is_authority(exchange_.host) ? exchange_.host : exchange_.server;
  }

  const RecordedExchange& exchange_;
  const RecordedRequest& request_;
  ExportNotes& notes_;
  std::string input_;  // what feeds curl's standard input
  std::string arguments_;
};

}  // namespace

std::string shell_quoted(std::string_view bytes) {
  const bool plain =
      !bytes.empty() && bytes.find_first_not_of(
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                            "_-./:,@") == std::string_view::npos;
  if (plain) return std::string(bytes);
  std::string word = "'";
  for (const char c : bytes) {
    if (c == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(c);
    }
  }
  return word + "'";
}

std::string printf_quoted(std::string_view bytes) {
  std::string word = "'";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '-' && word.size() == 1) {
      word.append("\\055");  // not an option
    } else if (c == '%') {
      word.append("%%");
    } else if (byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\') {
      word.push_back(c);
    } else {
      // Always three digits, so that one that follows does not belong to it.
      for (const unsigned shift : {6U, 3U, 0U}) {
        if (shift == 6U) word.push_back('\\');
        word.push_back(static_cast<char>('0' + (byte >> shift & 7U)));
      }
    }
  }
  return word + "'";
}

Result<void> write_curl(const Recording& recording, Output& output, ExportNotes& notes) {
  auto redaction = redaction_note(recording);
  if (!redaction) return redaction.error();
  constexpr int kMilliseconds = 3;
  output.write("#!/bin/sh\n# Requests of a recording, by gatedrill export --format curl.\n");
  if (!redaction->empty()) output.write("# " + *redaction + "\n");
  return recording.for_each([&](const RecordedExchange& exchange) {
    const std::string_view reason = reason_to_leave_out(exchange);
    if (!reason.empty()) {
      notes.add(reason, exchange.id);
      return true;
    }
    output.write("\n# exchange " + std::to_string(exchange.id) + ", " +
                 to_iso8601(exchange.at, kMilliseconds) + ", " +
                 (exchange.response ? "answered " + std::to_string(exchange.response->status)
                                    : std::string("no answer")) +
                 "\n");
    note_guessed_scheme(exchange, notes);
    output.write(Command(exchange, notes).text());
    return !output.failed();
  });
}

Format curl_format() {
  return {.name = "curl",
          .title = "shell script of curl commands",
          .aliases = {"sh", "shell"},
          .write = write_curl};
}

}  // namespace gatedrill::replay::formats
