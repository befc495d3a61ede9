#include "scenarios/origin/answer_book.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/http/head.hpp"

namespace gatedrill::scenarios {
namespace {

using http::equals_ignoring_case;

std::string key_of(std::string_view method, std::string_view target) {
  std::string key(method);
  key += ' ';
  key += target;
  return key;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Belongs to the recorded connection or is made anew.
bool is_hop_or_framing(std::string_view name) {
  constexpr std::array<std::string_view, 10> names = {"Connection",
                                                      "Keep-Alive",
                                                      "Proxy-Connection",
                                                      "TE",
                                                      "Trailer",
                                                      "Transfer-Encoding",
                                                      "Upgrade",
                                                      "Content-Length",
                                                      "Proxy-Authenticate",
                                                      "HTTP2-Settings"};
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view each) { return equals_ignoring_case(each, name); });
}

// What a strict gateway would refuse in an answer is left out: the recording may hold anything.
bool is_sound(const replay::RecordedField& field) {
  const auto value = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte != 0x7f);
  };
  return http::is_token(field.name) && std::all_of(field.value.begin(), field.value.end(), value);
}

bool named_in_connection(const std::vector<http::Field>& fields, std::string_view name) {
  return http::has_token(fields, "Connection", name);
}

Answer from_recorded(const replay::RecordedExchange& exchange) {
  const replay::RecordedResponse& response = *exchange.response;
  std::vector<http::Field> views;
  for (const auto& field : response.fields)
    views.push_back({field.name, field.value});
  Answer answer;
  answer.exchange = exchange.id;
  answer.status = response.status;
  answer.body = response.body;
  for (const auto& field : response.fields) {
    if (is_hop_or_framing(field.name) || named_in_connection(views, field.name)) continue;
    if (!is_sound(field)) continue;
    answer.field_lines += field.name + ": " + field.value + "\r\n";
  }
  if (exchange.request->method == "HEAD") {
    const auto length = http::find_field(views, "Content-Length");
    if (length) answer.head_length = number_of<std::uint64_t>(*length);
  }
  return answer;
}

Answer plain_answer(int status, std::string body) {
  Answer answer;
  answer.status = status;
  answer.field_lines = "Content-Type: text/plain\r\n";
  answer.body = std::move(body);
  return answer;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 503:
      return "Service Unavailable";
    default:
      return "";  // a reason is optional (RFC 9112 4); the blank before it is not
  }
}

bool forbids_body(int status) {
  return status < 200 || status == 204 || status == 304;
}

}  // namespace

bool Answer::has_body(std::string_view method) const {
  return method != "HEAD" && !forbids_body(status);
}

std::string Answer::head(std::string_view method, bool close) const {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head += reason_of(status);
  head += "\r\n";
  head += field_lines;
  if (!forbids_body(status)) {
    const std::uint64_t length =
        method == "HEAD" && head_length ? *head_length : std::uint64_t{body.size()};
    head += "Content-Length: " + std::to_string(length) + "\r\n";
  }
  if (close) head += "Connection: close\r\n";
  head += "\r\n";
  return head;
}

AnswerBook::AnswerBook()
    : fallback_(plain_answer(404, "no answer was recorded for this request\n")) {}

AnswerBook AnswerBook::fixed(int status, std::size_t body_bytes) {
  AnswerBook book;
  book.fallback_ = plain_answer(status, std::string(body_bytes, 'x'));
  return book;
}

void AnswerBook::add(const replay::RecordedExchange& exchange) {
  if (!exchange.request || !exchange.response) return;
  if (exchange.response->status < 200 || exchange.response->status > 599) return;
  const std::size_t index = answers_.size();
  answers_.push_back(from_recorded(exchange));
  methods_.push_back(exchange.request->method);
  by_id_[exchange.id] = index;
  const std::string_view target = exchange.request->target;
  by_target_[key_of(methods_.back(), target)].push_back(index);
  by_path_[key_of(methods_.back(), http::path_of(target))].push_back(index);
}

const Answer* AnswerBook::by_exchange(std::string_view method, std::string_view exchange) const {
  const std::optional<std::int64_t> id = number_of<std::int64_t>(exchange);
  if (!id) return nullptr;
  const auto found = by_id_.find(*id);
  if (found == by_id_.end() || methods_[found->second] != method) return nullptr;
  return &answers_[found->second];
}

const Answer* AnswerBook::by_request(std::string_view method,
                                     std::string_view target,
                                     Turns& turns) const {
  const auto in_turn = [&](const std::vector<std::size_t>& indexes) {
    std::size_t& turn = turns[&indexes];
    return &answers_[indexes[turn++ % indexes.size()]];
  };
  if (const auto found = by_target_.find(key_of(method, target)); found != by_target_.end()) {
    return in_turn(found->second);
  }
  const std::string path = key_of(method, http::path_of(target));
  if (const auto found = by_path_.find(path); found != by_path_.end())
    return in_turn(found->second);
  return nullptr;
}

const Answer& AnswerBook::choose(std::string_view method,
                                 std::string_view target,
                                 std::string_view exchange,
                                 Turns& turns) const {
  const Answer* answer = by_exchange(method, exchange);
  if (answer == nullptr) answer = by_request(method, target, turns);
  if (answer == nullptr && method == "HEAD") answer = by_request("GET", target, turns);
  return answer != nullptr ? *answer : fallback_;
}

}  // namespace gatedrill::scenarios
