#include "gateway/proxy/stream.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "gateway/http/upgrade.hpp"
#include "gateway/proxy/access_line.hpp"
#include "gateway/proxy/access_log.hpp"
#include "gateway/proxy/drive.hpp"
#include "gateway/proxy/session.hpp"
#include "gateway/proxy/shard.hpp"

namespace gatedrill::gateway {
namespace {

// What we let pass, told to who asks us and not the upstream.
constexpr std::string_view kAllow = "allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n";

// A string of RFC 8941: what it cannot hold is left out.
void append_string_item(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c < 0x20 || c == 0x7f) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

// RFC 9209: which proxy answered, the error's registered name, the hop that it was met at. The
// cause, finer than the registered names, is the detail.
void append_proxy_status(std::string& out, std::string_view proxy, const Stream::Reply& reply) {
  out.append("proxy-status: ");
  append_string_item(out, proxy);
  if (const auto token = proxy_status_token(reply.cause); !token.empty()) {
    out.append("; error=").append(token);
  }
  if (reply.cause == Cause::upstream_status) {
    out.append("; received-status=").append(std::to_string(reply.status));
  }
  if (reply.next_hop) {
    out.append("; next-hop=");
    append_string_item(out, name_of(reply.next_hop));
  }
  out.append("; details=");
  append_string_item(out, to_string(reply.cause));
  out.append("\r\n");
}

}  // namespace

Task<StreamEnd> Stream::serve(const http::RequestHead& head, const http::h1::HeadResult& parsed) {
  const http::RequestVerdict verdict = http::judge_request(head, parsed);
  if (verdict.refusal) co_return refuse_unread(*verdict.refusal);
  const http::RequestOptions options =
      http::request_options(head, session_->shard().config().client.underscore_names);
  prepare(head, verdict, options);
  note_for_log(head, verdict.host, options.dropped_name);
  if (head.method == "CONNECT" && !session_->shard().config().connect.allow.empty()) {
    co_return co_await connect(head, verdict.framing, parsed.size);
  }
  if (const auto refusal = judge(head, verdict, options)) {
    co_return refuse(session_->now(), *refusal);
  }

  if (options.max_forwards == 0U) {
    const bool options_asked = head.method == "OPTIONS";
    upload_.begin(verdict.framing, Upload::Limits{});
    session_->client().consume(parsed.size);
    co_return options_asked ? answer(Cause::ok, 200, kAllow)
                            : answer(Cause::malformed_request, 405, kAllow);
  }

  const std::string_view path = head.target == "*" ? "/" : http::path_of(head.target);
  ShardRoute* route = session_->shard().match(verdict.host, path);
  if (route == nullptr) {
    upload_.begin(verdict.framing, Upload::Limits{});
    session_->client().consume(parsed.size);
    co_return answer(Cause::no_route, local_status(Cause::no_route));
  }
  const RouteConfig& config = route->route.config;
  const std::string& key = config.retry.idempotency_key_header;
  request_.facts.has_idempotency_key =
      !key.empty() && http::find_field(head.fields, key).has_value();

  http::RequestRewrite rewrite;
  rewrite.framing = verdict.framing;
  rewrite.host = verdict.host;
  rewrite.via = session_->shard().via();
  rewrite.client = session_->client_address();
  rewrite.trusts_forwarded = session_->client_trusted();
  rewrite.strip_prefix = config.strip_prefix;
  rewrite.request_id = request_id_;
  rewrite.upgrade = upgrade_ = http::requested_upgrade(head, verdict.framing, config.upgrade);
  rewrite.trailers = config.trailers;
  Upload::Limits limits;
  limits.body_bytes_max = session_->shard().config().client.body_bytes_max;
  limits.replay_bytes_max = session_->shard().config().replay_buffer_bytes;
  limits.trailers = config.trailers;
  std::string& out = upload_.begin(verdict.framing, limits);
  upload_.head_written(http::write_request_head(head, options, rewrite, out));
  // From here on the head's views are not used: its bytes make room for the body.
  session_->client().consume(parsed.size);

  exchange_.emplace(route->route, route->upstream.pools, request_);
  Drive drive(*session_, *this, route->upstream, *exchange_);
  co_return co_await drive.run();
}

// What follows the head is the tunnel's, and no body.
Task<StreamEnd> Stream::connect(const http::RequestHead& head,
                                const http::Framing& framing,
                                std::size_t head_size) {
  if (framing.kind != http::BodyKind::none) {
    const http::Refusal refusal{Cause::malformed_request, 400, "connect_with_body"};
    co_return refuse(session_->now(), refusal);
  }
  ShardRoute* route = session_->shard().match_connect(head.target);
  if (route == nullptr) {
    const http::Refusal refusal{Cause::forbidden, 403, "connect_target"};
    co_return refuse(session_->now(), refusal);
  }
  connects_ = true;
  upload_.begin(framing, Upload::Limits{});
  session_->client().consume(head_size);
  exchange_.emplace(route->route, route->upstream.pools, request_);
  Drive drive(*session_, *this, route->upstream, *exchange_);
  co_return co_await drive.run();
}

void Stream::write_connected() {
  std::string& out = session_->to_client().bytes();
  out.append("HTTP/1.1 200 OK\r\n");
  append_field(out, "date", session_->shard().date(session_->now()));
  append_field(out, "x-request-id", request_id_);
  out.append("\r\n");
}

// What a sound head may still not ask for.
std::optional<http::Refusal> Stream::judge(const http::RequestHead& head,
                                           const http::RequestVerdict& verdict,
                                           const http::RequestOptions& options) const {
  if (auto refusal = http::judge_options(head, options, verdict.framing)) return refusal;
  const std::uint64_t limit = session_->shard().config().client.body_bytes_max;
  if (limit > 0 && verdict.framing.length > limit) {
    return http::Refusal{Cause::request_body_too_large, 413, "content_length"};
  }
  return std::nullopt;
}

void Stream::prepare(const http::RequestHead& head,
                     const http::RequestVerdict& verdict,
                     const http::RequestOptions& options) {
  identify(head, options.request_id);
  refused_ = {};
  reply_bytes_ = 0;
  request_.facts.safe = http::is_safe(head.method);
  request_.facts.idempotent = http::is_idempotent(head.method);
  request_.facts.body_replayable = true;
  request_.body_owed = verdict.framing.kind != http::BodyKind::none;
  head_only_ = head.method == "HEAD";
  connects_ = false;
  upgrade_ = {};
  client_version_ = head.version;
  const int requests_max = session_->shard().config().client.requests_max;
  keep_alive_ = options.keep_alive && !session_->shard().draining() &&
                (requests_max == 0 || session_->request_count() < requests_max);
  expects_continue_ = options.expects_continue && verdict.framing.kind != http::BodyKind::none;
}

// Whose request it is, for events and for the upstream.
void Stream::identify(const http::RequestHead& head, std::string_view request_id) {
  if (request_id.empty()) request_id = session_->shard().request_ids().next();
  request_id_.assign(request_id);
  request_.id = RequestId(request_id);
  request_.client = session_->client_name();
  request_.method = intern_untrusted(head.method);
  request_.path = head.target.empty() ? NameId{} : intern_untrusted(http::path_of(head.target));
}

// A head that is too long, malformed or late is not quoted in events. Its request took as long as
// it was coming.
StreamEnd Stream::refuse_unread(const http::Refusal& refusal) {
  identify(http::RequestHead{}, {});
  note_for_log(http::RequestHead{}, {}, {});
  head_only_ = false;
  return refuse(session_->head_begun(), refusal);
}

StreamEnd Stream::refuse(TimePoint began, const http::Refusal& refusal) {
  upload_.begin(http::Framing{}, Upload::Limits{});  // nothing of its body was taken
  keep_alive_ = false;
  refused_ = refusal.reason;
  write_reply({refusal.cause, refusal.status});
  record_refused(began, refusal.cause, refusal.status);
  return StreamEnd::linger;
}

// An answer of our own to a sound request; its body is read over if it is here already.
StreamEnd Stream::answer(Cause cause, int status, std::string_view fields) {
  while (upload_.discard(session_->client()) == Upload::Taken::something) {
  }
  if (!upload_.received()) keep_alive_ = false;
  write_reply({cause, status, Duration{0}, {}, fields});
  record_refused(session_->now(), cause, status);
  if (!upload_.received()) return StreamEnd::linger;
  return keep_alive_ ? StreamEnd::keep : StreamEnd::close;
}

// A request that never became an exchange.
void Stream::record_refused(TimePoint began, Cause cause, int status) {
  RequestDone done;
  done.request_id = request_.id;
  done.at = began;
  done.latency = session_->now() - began;
  done.client = request_.client;
  done.method = request_.method;
  done.path = request_.path;
  done.status = static_cast<std::uint16_t>(status);
  done.cause = cause;
  record(done, {}, reply_bytes_);
}

void Stream::record(const RequestDone& request,
                    std::span<const AttemptDone> attempts,
                    std::uint64_t body_out) {
  Shard& shard = session_->shard();
  shard.on_request_ended(request.cause);
  for (const AttemptDone& attempt : attempts)
    shard.sink().publish({shard.name(), attempt});
  shard.sink().publish({shard.name(), request});
  if (shard.access_log() == nullptr || !shard.logs(request)) return;
  AccessEntry entry{request, attempts, shard.clock().unix_time(request.at),
                    host_,   target_,  refused_};
  entry.dropped_field = dropped_;
  entry.body_in = upload_.payload_bytes();
  entry.body_out = body_out;
  std::string& line = shard.log_line();
  line.clear();
  append_access_line(line, shard.name(), entry);
  shard.access_log()->write(line);
}

// What the access log tells of a request beyond its events: the head's views do not last.
void Stream::note_for_log(const http::RequestHead& head,
                          std::string_view host,
                          std::string_view dropped_name) {
  if (session_->shard().access_log() == nullptr) return;
  host_.assign(host);
  target_.assign(head.target);
  dropped_.assign(dropped_name);
}

void Stream::write_reply(const Reply& reply) {
  std::string& out = session_->to_client().bytes();
  const std::string_view name = to_string(reply.cause);
  char digits[24];
  const auto number = [&digits](std::int64_t value) {
    const char* end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return std::string_view(digits, static_cast<std::size_t>(end - digits));
  };
  out.append("HTTP/1.1 ").append(number(reply.status)).append(" ");
  out.append(http::reason_of(reply.status)).append("\r\n");
  append_field(out, "date", session_->shard().date(session_->now()));
  append_field(out, "content-type", "application/json");
  // {"status":502,"cause":"connect_refused"}
  constexpr std::string_view kBefore = "{\"status\":";
  constexpr std::string_view kBetween = ",\"cause\":\"";
  constexpr std::string_view kAfter = "\"}\n";
  const std::size_t size = kBefore.size() + 3 + kBetween.size() + name.size() + kAfter.size();
  append_field(out, "content-length", number(static_cast<std::int64_t>(size)));
  append_field(out, "x-request-id", request_id_);
  if (reply.retry_after.count() > 0) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(reply.retry_after);
    append_field(out, "retry-after", number(seconds.count()));
  }
  out.append(reply.fields);
  const GatewayConfig& config = session_->shard().config();
  if (config.cause_header) append_field(out, "x-gatedrill-cause", name);
  if (config.proxy_status) append_proxy_status(out, config.name, reply);
  if (!keep_alive_) {
    append_field(out, "connection", "close");
  } else if (client_version_ == 10) {
    append_field(out, "connection", "keep-alive");
  }
  out.append("\r\n");
  if (head_only_) return;
  reply_bytes_ = size;
  out.append(kBefore).append(number(reply.status)).append(kBetween).append(name).append(kAfter);
}

}  // namespace gatedrill::gateway
