#include "replay/explain/timeouts.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace gatedrill::replay::explain {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kSampleMax = 20'000;

// What a gateway adds to its timeout until its answer is seen.
Duration slack(Duration timeout) {
  return std::max<Duration>(milliseconds(50), timeout / 20);
}

}  // namespace

const std::vector<Timeout>& usual_timeouts() {
  static const std::vector<Timeout> timeouts = {
      {seconds(1), "Spring Cloud TimeLimiter (default)"},
      {seconds(3), "gatedrill response timeout (default)"},
      {seconds(5), "Envoy connect, Huawei Cloud APIG backend or ELB connect timeout (defaults)"},
      {seconds(15), "Envoy route timeout (default)"},
      {seconds(29), "AWS API Gateway integration timeout"},
      {seconds(30), "HAProxy timeout server as often set (30 s)"},
      {seconds(50), "HAProxy timeout server as often set (50 s)"},
      {seconds(60),
       "nginx proxy_read_timeout, Kong or APISIX read timeout, ELB response timeout "
       "(defaults)"},
  };
  return timeouts;
}

Result<Timeout> parse_timeout(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  Timeout timeout{.name = equals == std::string::npos ? "given" : text.substr(0, equals),
                  .given = true};
  const std::string value = equals == std::string::npos ? text : text.substr(equals + 1);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
  const double ms = unit == "ms" ? 1 : unit == "s" ? 1000 : unit == "m" ? 60'000 : 0;
  const bool named_well = !timeout.name.empty() && timeout.name.find('=') == std::string::npos;
  if (!named_well || error != std::errc() || ms == 0 || number <= 0 || number > 1e6) {
    return usage_error("timeout " + text +
                       ": say a duration with its unit, such as 1s, 750ms or route=15s");
  }
  timeout.after = from_ms(number * ms);
  return timeout;
}

const Timeout* match(const std::vector<Timeout>& timeouts, Duration waited) {
  const Timeout* best = nullptr;
  for (const Timeout& timeout : timeouts) {
    // A timer starts before the last byte is on the wire, so a wait may look a little shorter.
    const Duration early = std::max<Duration>(milliseconds(2), timeout.after / 100);
    if (waited < timeout.after - early || waited > timeout.after + slack(timeout.after)) continue;
    if (best == nullptr || (timeout.given && !best->given)) best = &timeout;
  }
  return best;
}

std::optional<Cluster> cluster_of(std::vector<Duration> values, const ClusterRule& rule) {
  std::sort(values.begin(), values.end());
  Cluster best;
  std::size_t begin = 0;
  for (std::size_t end = 0; end < values.size(); ++end) {
    while (static_cast<double>(values[end].count()) >
           static_cast<double>(values[begin].count()) * (1 + rule.width)) {
      ++begin;
    }
    if (end - begin + 1 <= best.count) continue;
    best = {.low = values[begin], .high = values[end], .count = end - begin + 1};
  }
  best.of = values.size();
  const double share = static_cast<double>(best.count) / static_cast<double>(best.of);
  if (best.count < rule.least || share < rule.share) return std::nullopt;
  return best;
}

std::optional<Duration> deadline_of(const Hints& hints, const std::string& listener) {
  for (const Timeout& timeout : hints.timeouts) {
    if (timeout.given) return timeout.after;
  }
  const auto cluster = hints.waits.find(listener);
  if (cluster != hints.waits.end()) return cluster->second.low;
  return std::nullopt;
}

void Sample::add(Duration value) {
  if (seen_++ % every_ != 0) return;
  values_.push_back(value);
  if (values_.size() < kSampleMax) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < values_.size(); i += 2)
    values_[kept++] = values_[i];
  values_.resize(kept);
  every_ *= 2;
}

}  // namespace gatedrill::replay::explain
