#include "gateway/config/gateway_config_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr const char* kSmallest = R"(listen: 127.0.0.1:8080
upstreams:
  shop:
    endpoints: [127.0.0.1:9001]
routes:
  - match: { path_prefix: / }
    upstream: shop
)";

struct Loaded {
  GatewayConfig config;
  std::string problems;
};

Loaded load(std::string_view text, const std::vector<std::string>& assignments = {}) {
  YamlDocument document = YamlDocument::from_text(text, "gateway.yaml");
  for (const std::string& assignment : assignments)
    document.set(assignment);
  Loaded loaded;
  document.read(loaded.config);
  loaded.problems = to_string(document.problems());
  return loaded;
}

// What is said about a change of the smallest configuration, without the place.
std::string problem_of(const std::string& assignment) {
  const std::string text = load(kSmallest, {assignment}).problems;
  const std::string place = "--set " + assignment + ": ";
  return text.starts_with(place) ? text.substr(place.size()) : text;
}

TEST(GatewayConfig, OfTheSmallestFileHasADefaultForEverythingElse) {
  const Loaded loaded = load(kSmallest);
  EXPECT_EQ(loaded.problems, "");
  EXPECT_THAT(loaded.config.listen, ElementsAre("127.0.0.1:8080"));
  ASSERT_EQ(loaded.config.routes.size(), 1U);
  EXPECT_EQ(loaded.config.routes[0].timeouts, TimeoutConfig{});
  EXPECT_EQ(loaded.config.routes[0].retry, RetryConfig{});
  ASSERT_EQ(loaded.config.upstreams.size(), 1U);
  UpstreamConfig shop;
  shop.name = "shop";
  shop.endpoints = {"127.0.0.1:9001"};
  shop.endpoint_names = {"127.0.0.1:9001"};
  EXPECT_EQ(loaded.config.upstreams[0], shop);
  EXPECT_EQ(summary(loaded.config),
            "listens on 127.0.0.1:8080; 1 route to 1 upstream (1 endpoint)");
}

TEST(GatewayConfig, ReadsEverySetting) {
  const Loaded loaded = load(R"(
name: front
listen: ['[::1]:0', 'localhost:80']
threads: 2
cause_header: true
sample_ok: 50
record:
  {traffic: t.db, keep_numbers: true, buffer: 2MiB,
   redact: {fields: [x-user], params: [iban], json: ['$.user.name'], allow: [sid], key: shared.key}}
response: {max_header: 1KiB, max_header_line: 2KiB, max_header_fields: 3}
drain_timeout: 20s
replay_buffer: 16KiB
client:
  {header_timeout: 1s, body_timeout: 2s, keep_alive: 3s, max_requests: 4, max_header: 5KiB,
   max_header_line: 6KiB, max_header_fields: 7, max_uri: 8KiB, max_body: 9MB, max_connections: 10,
   max_connections_per_ip: 11, min_body_rate: 12B, min_read_rate: 13KiB, min_rate_grace: 14s,
   trusted_proxies: [10.0.0.1, '::1', 10.0.0.0/8], proxy_protocol: {from: ['fd00::/8']}}
resolve_interval: 15s
connect: {allow: ['db.internal:5432']}
timeouts: {connect: 100ms, response: 1s, tunnel: 2h}
trailers: [grpc-status]
retry: {max_retries: 2}
upstreams:
  shop:
    endpoints: [127.0.0.1:9001, {address: 'shop-2:9002', name: green}]
    max_requests: 10
    queue: {max: 3, timeout: 400ms}
    load_balancer: {panic: 0%}
    breaker:
      {mode: all, window: 2s, min_calls: 3, failure_rate: 40%, consecutive_failures: 5, slow_call: 6s,
       slow_rate: 70%, open: 8s, open_max: 9s, probes: 10, successes_needed: 9, probe_timeout: 12s}
    health:
      {path: /ready, interval: 1s, timeout: 2s, fall: 3, rise: 4, fast_interval: 5s,
       down_interval: 6s, jitter: 7%}
    pool: {max_idle: 1, max_connections: 2, idle_timeout: 3s, max_age: 4s, max_requests: 5}
    retry_budget: {percent: 20%, min_concurrent: 1, burst: 2}
  bank: {endpoints: ['127.0.0.1:9003'], breaker: off, health: {enabled: false}, pool: off}
routes:
  - name: buy
    match: {host: shop.example, path_prefix: /buy}
    upstream: shop
    strip_prefix: /buy
    trailers: [X-Sum, Server-Timing]
    timeouts: {response: 5s, idle: 6s, total: 7s, per_try: 8s}
    retry:
      {on_connect: true, on_stale_reuse: false, on_reset: true, on_timeout: true, on_status: [502, 503], idempotency_key_header: Idempotency-Key, backoff: 1ms,
       backoff_max: 2ms}
    limits: {rate: 30/m, burst: 5}
    upgrade: [websocket, my-protocol]
  - {match: {path_prefix: /}, upstream: bank, retry: off}
)");
  ASSERT_EQ(loaded.problems, "");
  const GatewayConfig& config = loaded.config;
  EXPECT_EQ(config.name, "front");
  EXPECT_THAT(config.listen, ElementsAre("[::1]:0", "localhost:80"));
  EXPECT_EQ(config.threads, 2);
  EXPECT_TRUE(config.cause_header);
  EXPECT_EQ(config.sample_ok, 50U);
  EXPECT_EQ(config.record.traffic, "t.db");
  EXPECT_FALSE(config.record.redaction.keep_secrets);
  EXPECT_TRUE(config.record.redaction.keep_numbers);
  EXPECT_THAT(config.record.redaction.fields, ElementsAre("x-user"));
  EXPECT_THAT(config.record.redaction.params, ElementsAre("iban"));
  EXPECT_THAT(config.record.redaction.json, ElementsAre("$.user.name"));
  EXPECT_THAT(config.record.redaction.allow, ElementsAre("sid"));
  EXPECT_THAT(config.record.redaction.key_file, "shared.key");
  EXPECT_EQ(config.record.buffer_bytes, 2097152U);
  EXPECT_EQ(config.response_head.head_bytes, 1024U);
  EXPECT_EQ(config.response_head.line_bytes, 2048U);
  EXPECT_EQ(config.response_head.fields, 3U);
  EXPECT_EQ(config.drain_timeout, Duration{20s});
  EXPECT_EQ(config.replay_buffer_bytes, 16384U);
  EXPECT_EQ(config.client.header_timeout, Duration{1s});
  EXPECT_EQ(config.client.body_timeout, Duration{2s});
  EXPECT_EQ(config.client.keep_alive, Duration{3s});
  EXPECT_EQ(config.client.requests_max, 4);
  EXPECT_EQ(config.client.head.head_bytes, 5120U);
  EXPECT_EQ(config.client.head.line_bytes, 6144U);
  EXPECT_EQ(config.client.head.fields, 7U);
  EXPECT_EQ(config.client.head.target_bytes, 8192U);
  EXPECT_EQ(config.client.body_bytes_max, 9'000'000U);
  EXPECT_EQ(config.client.connections_max, 10);
  EXPECT_THAT(config.client.trusted_proxies, ElementsAre("10.0.0.1", "::1", "10.0.0.0/8"));
  EXPECT_THAT(config.client.proxy_protocol_from, ElementsAre("fd00::/8"));
  EXPECT_EQ(config.client.connections_per_ip_max, 11);
  EXPECT_EQ(config.resolve_interval, Duration{15s});
  EXPECT_THAT(config.connect.allow, ElementsAre("db.internal:5432"));
  EXPECT_EQ(config.connect.timeouts, (TimeoutConfig{100ms, 1s, 15s, 5s, 0s, 2h}));
  EXPECT_EQ(config.client.body_rate, (MinimumRate::Config{12, 14s}));
  EXPECT_EQ(config.client.read_rate, (MinimumRate::Config{13'312, 14s}));

  ASSERT_NE(find_upstream(config, "shop"), nullptr);
  const UpstreamConfig& shop = *find_upstream(config, "shop");
  EXPECT_THAT(shop.endpoints, ElementsAre("127.0.0.1:9001", "shop-2:9002"));
  EXPECT_THAT(shop.endpoint_names, ElementsAre("127.0.0.1:9001", "green"));
  EXPECT_EQ(shop.max_requests, 10);
  EXPECT_EQ(shop.queue, (QueueConfig{3, 400ms}));
  EXPECT_EQ(shop.load_balancer.panic_percent, 0);
  EXPECT_EQ(shop.breaker, (CircuitBreaker::Config{true, CircuitBreaker::Mode::all, 2s, 3, 40, 5, 6s,
                                                  70, 8s, 9s, 10, 9, 12s}));
  EXPECT_EQ(shop.health, (Health::Config{true, "/ready", 1s, 2s, 3, 4, 5s, 6s, 7}));
  EXPECT_EQ(shop.pool, (Pool::Config{true, 1, 2, 3s, 4s, 5}));
  EXPECT_EQ(shop.retry_budget, (RetryBudget::Config{20, 1, 2}));
  const UpstreamConfig& bank = *find_upstream(config, "bank");
  EXPECT_FALSE(bank.breaker.enabled || bank.health.enabled || bank.pool.enabled);

  ASSERT_EQ(config.routes.size(), 2U);
  const RouteConfig& buy = config.routes[0];
  EXPECT_EQ(buy.name, "buy");
  EXPECT_EQ(buy.match, (RouteConfig::Match{"shop.example", "/buy", ""}));
  EXPECT_EQ(buy.strip_prefix, "/buy");
  EXPECT_EQ(buy.timeouts, (TimeoutConfig{100ms, 5s, 6s, 7s, 8s, 2h}))
      << "connect is that of the top";
  EXPECT_THAT(buy.upgrade, ElementsAre("websocket", "my-protocol"));
  EXPECT_EQ(buy.retry,
            (RetryConfig{2, true, false, true, true, {502, 503}, "Idempotency-Key", 1ms, 2ms}));
  EXPECT_EQ(buy.rate_limit, (TokenBucket::Config{30, 1min, 5}));
  EXPECT_THAT(buy.trailers, ElementsAre("X-Sum", "Server-Timing")) << "its own, not the top's too";
  EXPECT_THAT(config.routes[1].trailers, ElementsAre("grpc-status"));
  EXPECT_EQ(config.routes[1].timeouts.response, Duration{1s});
  EXPECT_EQ(config.routes[1].retry.max_retries, 0);
  EXPECT_FALSE(config.routes[1].retry.on_stale_reuse);
}

TEST(GatewayConfig, NamesWhatIsMissingOrUnknownAllAtOnce) {
  EXPECT_EQ(
      load("listne: 127.0.0.1:80\n"
           "upstreams: {shop: {endpoints: []}}\n"
           "routes:\n"
           "  - {upstream: shpo, timeout: 1s}\n")
          .problems,

      "gateway.yaml:1:1: listne: is not a known setting; did you mean listen?\n"
      "gateway.yaml:2:31: upstreams.shop.endpoints: needs at least one address\n"
      "gateway.yaml:4:16: routes[0].upstream: there is no upstream 'shpo'; did you mean shop?\n"
      "gateway.yaml:4:22: routes[0].timeout: is not a known setting; did you mean timeouts?");
}

TEST(GatewayConfig, RefusesWhatCannotBeMeant) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"upstreams.shop.endpoints=[a:1, a:1]", "upstreams.shop.endpoints[1]: is listed twice: a:1"},
      {"upstreams.shop.endpoints=[a:0]",
       "upstreams.shop.endpoints[0]: needs a port to connect to, got 0"},
      {"upstreams.shop.endpoints=[{name: x}]", "upstreams.shop.endpoints[0].address: is required"},
      {"upstreams.shop.breaker.open=2m",
       "upstreams.shop.breaker.open_max: cannot be shorter than open (2m)"},
      {"upstreams.shop.breaker.probes=2",
       "upstreams.shop.breaker.successes_needed: cannot be more than probes (2): the breaker could "
       "never close"},
      {"upstreams.shop.breaker.failure_rate=0.5",
       "upstreams.shop.breaker.failure_rate: expected a percentage such as 5%, got '0.5'"},
      {"upstreams.shop.breaker.failure_rate=0.5%",
       "upstreams.shop.breaker.failure_rate: expected a whole percentage such as 5%, got '0.5%'"},
      {"upstreams.shop.breaker=false",
       "upstreams.shop.breaker: expected a mapping (key: value) or off, got 'false'"},
      {"upstreams.shop.health.path=ready",
       "upstreams.shop.health.path: must begin with /, got 'ready'"},
      {"upstreams.shop.pool.idle_timeout=0",
       "upstreams.shop.pool.idle_timeout: must be more than 0"},
      {"routes[0].retry.max_retries=9", "routes[0].retry.max_retries: must be from 0 to 5, got 9"},
      {"routes[0].retry.on_stale=false",
       "routes[0].retry.on_stale: is not a known setting; did you mean on_stale_reuse?"},
      {"routes[0].retry.backoff=1s",
       "routes[0].retry.backoff_max: cannot be shorter than backoff (1s)"},
      {"routes[0].limits={burst: 3}", "routes[0].limits.burst: means nothing without a rate"},
      {"routes[0].match.host='a:80'",
       "routes[0].match.host: expected a host name without scheme or port, got 'a:80'"},
      {"routes=[]", "routes: needs at least one route"},
      {"upstreams={}", "upstreams: needs at least one upstream"},
      {"routes=[{upstream: shop}, {upstream: shop}]",
       "routes[1]: is never taken: routes[0] matches the same requests"},
      {"routes=[{upstream: shop, name: a}, {upstream: shop, name: a, match: {path_prefix: /x}}]",
       "routes[1]: has the same name as routes[0]: a"},
      {"sample_ok=0", "sample_ok: must be at least 1, got 0"},
      {"record={keep_secrets: true}", "record.traffic: is required"},
      {"record=''", "record: must not be empty"},
      {"record={traffic: t.db, keep_secrets: true, redact: {fields: [x-user]}}",
       "record.redact: hides nothing while keep_secrets is true; leave one of them out"},
      {"record={traffic: t.db, redact: {key: ''}}", "record.redact.key: must not be empty"},
      {"record={traffic: t.db, redact: {json: [$.a, 'user.name']}}",
       "record.redact.json[1]: JSON path 'user.name': not understood at character 1; write it as "
       "$.user.cards[*].number, with ['a name'] where it needs quotes"},
      {"record={traffic: t.db, redact: {allow: [sid, '$.a[']}}",
       "record.redact.allow[1]: JSON path '$.a[': not understood at character 4; write it as "
       "$.user.cards[*].number, with ['a name'] where it needs quotes"},
      {"record={traffic: t.db, buffer: 5KiB}", "record.buffer: must be at least 1048576, got 5120"},
      {"threads=0", "threads: must be from 1 to 64, got 0"},
      {"listen=[]", "listen: needs at least one address"},
      {"listen=[80]",
       "listen[0]: expected an address such as 127.0.0.1:8080 or [::1]:8080, got '80'"},
      {"client.trusted_proxies=[proxy]",
       "client.trusted_proxies[0]: expected an IP address or network such as 10.0.0.1, 10.0.0.0/8 "
       "or fd00::/8, got 'proxy'"},
      {"client.trusted_proxies=[10.0.0.0/33]",
       "client.trusted_proxies[0]: expected an IP address or network such as 10.0.0.1, 10.0.0.0/8 "
       "or fd00::/8, got '10.0.0.0/33'"},
      {"client.proxy_protocol={}", "client.proxy_protocol.from: is required"},
      {"client.max_uri=0", "client.max_uri: must be more than 0"},
      {"trailers=[X-Sum, Content-Length]",
       "trailers[1]: cannot pass behind a body: 'Content-Length' frames, routes, authenticates or "
       "controls"},
      {"routes[0].trailers=[X-Forwarded-For]",
       "routes[0].trailers[0]: cannot pass behind a body: 'X-Forwarded-For' frames, routes, "
       "authenticates or controls"},
  };
  for (const auto& [assignment, text] : rows)
    EXPECT_EQ(problem_of(assignment), text) << assignment;
}

TEST(GatewayConfig, EachThreadNeedsAConnectionOfAPoolThatHasALimit) {
  EXPECT_EQ(
      load(kSmallest, {"threads=4", "upstreams.shop.pool.max_connections=3"}).problems,
      "--set threads=4: threads: 4 share the 3 of shop's pool.max_connections, and each needs "
      "at least one");
  EXPECT_EQ(load(kSmallest, {"threads=4", "upstreams.shop.pool.max_connections=4"}).problems, "");
  EXPECT_EQ(load(kSmallest, {"threads=4"}).problems, "");
}

TEST(GatewayConfig, TheDocumentWithEverySettingShowsTheDefaults) {
  const auto documented = load_gateway_config(std::string(GD_SOURCE_DIR) + "/docs/gateway.yaml");
  ASSERT_TRUE(documented) << documented.error().message;
  GatewayConfig defaults = load(kSmallest).config;
  defaults.routes[0].name = "shop";
  EXPECT_TRUE(*documented == defaults);
  EXPECT_EQ(explanation(*documented), explanation(defaults));
}

TEST(GatewayConfig, IsReadOverABase) {
  GatewayConfig config = load(kSmallest, {"upstreams.shop.max_requests=7"}).config;
  YamlDocument variant = YamlDocument::from_text(
      "listen: 127.0.0.1:8081\nupstreams: {shop: {pool: {idle_timeout: 4s}}}\n"
      "routes: [{upstream: shop}]\n",
      "fixed.yaml");
  variant.read(config);
  EXPECT_EQ(to_string(variant.problems()), "");
  ASSERT_EQ(config.upstreams.size(), 1U);
  EXPECT_EQ(config.upstreams[0].max_requests, 7);
  EXPECT_EQ(config.upstreams[0].pool.idle_timeout, Duration{4s});
  EXPECT_THAT(config.upstreams[0].endpoints, ElementsAre("127.0.0.1:9001"));
}

TEST(Explanation, SaysWhatHoldsForARouteAndWhy) {
  const Loaded loaded =
      load(kSmallest, {"routes[0].timeouts={response: 10s, total: 5s}",
                       "upstreams.shop.health={path: /ready}", "routes[0].limits={rate: 100/s}"});
  ASSERT_EQ(loaded.problems, "");
  EXPECT_EQ(
      explanation(loaded.config, loaded.config.routes[0]),
      "route / to upstream shop\n"
      "  connect   1s\n"
      "  response  10s     total ends it first, after 5s\n"
      "  idle      15s     between two reads of the answer's body\n"
      "  tunnel    1h      that neither side sends anything, after a 101\n"
      "  total     5s      from the request's end to the answer's head, retries and back-off "
      "included\n"
      "  retry     once    on connect, stale_reuse; a stale connection is not counted\n"
      "  limit     100/s   at most 100 at once\n"
      "  queue     off     beyond 1024 requests at the upstream: 503 upstream_overflow\n"
      "  breaker   opens   for 5s after 50% of at least 20 calls in 5s or 10 failures in a row\n"
      "  health    checked /ready every 5s; a dead endpoint is out after at most 13s\n"
      "  pool      50s     idle at most; must be less than the upstream's own keep-alive "
      "timeout\n");
}

TEST(Explanation, SaysWhetherAPerTryTimeoutEverFires) {
  const auto said = [](const char* per_try) {
    return explanation(
        load(kSmallest, {std::string("routes[0].timeouts={per_try: ") + per_try + "}"}).config);
  };
  EXPECT_THAT(said("2s"),
              ::testing::HasSubstr("  per try   2s      ends each attempt before response could"));
  EXPECT_THAT(said("3500ms"), ::testing::HasSubstr("for one attempt, connecting included"));
  EXPECT_THAT(said("4s"), ::testing::HasSubstr("never reached"));
}

TEST(Explanation, SaysHowLongWhoWaitsForAPlace) {
  const auto said = [](const char* setting) {
    return explanation(load(kSmallest, {std::string("upstreams.shop.") + setting}).config);
  };
  EXPECT_THAT(said("queue={max: 20, timeout: 2s}"),
              ::testing::HasSubstr("  queue     20      beyond 1024 requests at the upstream: 2s "
                                   "for a place; then 503 upstream_overflow\n"));
  EXPECT_THAT(said("max_requests=0"),
              ::testing::HasSubstr("  queue     off     the upstream is never full\n"));
}

TEST(Explanation, SaysWhatIsOff) {
  const Loaded loaded = load(
      kSmallest, {"upstreams.shop.breaker=off", "upstreams.shop.pool=off", "routes[0].retry=off"});
  ASSERT_EQ(loaded.problems, "");
  EXPECT_EQ(explanation(loaded.config, loaded.config.routes[0]),
            "route / to upstream shop\n"
            "  connect   1s\n"
            "  response  3s\n"
            "  idle      15s     between two reads of the answer's body\n"
            "  tunnel    1h      that neither side sends anything, after a 101\n"
            "  total     5s      from the request's end to the answer's head, retries and back-off "
            "included\n"
            "  retry     off\n"
            "  queue     off     beyond 1024 requests at the upstream: 503 upstream_overflow\n"
            "  breaker   off\n"
            "  health    off\n"
            "  pool      off     a new connection for every request\n");
}

TEST(Explanation, SaysWhatEachHopAcceptsSoThatTiersCanAgree) {
  const Loaded loaded =
      load(kSmallest, {"name=edge",
                       "client={max_header: 16KiB, max_body: 1MiB, max_connections: 50, "
                       "max_connections_per_ip: 5}",
                       "response={max_header_line: 4KiB}"});
  ASSERT_EQ(loaded.problems, "");
  EXPECT_THAT(
      explanation(loaded.config),
      ::testing::StartsWith(
          "from clients: what the tiers in front may send\n"
          "  head      16KiB   in 100 fields of at most 8KiB; beyond: 431 "
          "request_header_too_large\n"
          "  uri       8KiB    beyond: 414 uri_too_long\n"
          "  body      1MiB    counted as it comes; beyond: 413 request_body_too_large\n"
          "  head by   10s     from its first byte to its end; later: 408 client_header_timeout\n"
          "  body by   15s     for each next piece, and at least 240B/s over 20s; slower: 408 "
          "client_body_timeout\n"
          "  answer by 15s     for each next piece to be taken, and at least 240B/s over 20s; "
          "slower: closed\n"
          "  clients   50      at once; more wait; 5 from one address, more: 503 overloaded\n"
          "  keep-alive 1m     idle between requests; whoever keeps connections to us must drop "
          "them earlier\n"
          "\n"
          "to upstreams: what the next tier must take, and may answer\n"
          "  head      16KiB   and some 200 bytes of ours and its Host once more, in 6 fields; a "
          "tier that takes less answers 431 or 400\n"
          "  answer    32KiB   in 100 fields of at most 4KiB; beyond: 502 "
          "response_header_too_large\n"
          "\n"
          "route / to upstream shop\n"));
}

}  // namespace
}  // namespace gatedrill::gateway
