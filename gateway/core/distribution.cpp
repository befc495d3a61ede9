#include "gateway/core/distribution.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gatedrill {

Distribution Distribution::fixed(Duration value) {
  Distribution result;
  result.fixed_ = value;
  return result;
}

Distribution Distribution::uniform(Duration low, Duration high) {
  return quantiles({{0.0, low}, {1.0, high}});
}

Distribution Distribution::log_normal(Duration p50, Duration p99) {
  assert(p50.count() > 0 && p99 >= p50);
  Distribution result;
  result.kind_ = Kind::log_normal;
  result.log_p50_ = std::log(static_cast<double>(p50.count()));
  result.sigma_ =
      (std::log(static_cast<double>(p99.count())) - result.log_p50_) / normal_quantile(0.99);
  return result;
}

Distribution Distribution::quantiles(std::vector<std::pair<double, Duration>> points) {
  assert(!points.empty());
  const auto descends = [](const auto& a, const auto& b) {
    return a.first > b.first || a.second > b.second;
  };
  assert(std::adjacent_find(points.begin(), points.end(), descends) == points.end());
  Distribution result;
  result.kind_ = Kind::table;
  result.table_ = std::move(points);
  return result;
}

Duration Distribution::at(double p) const {
  switch (kind_) {
    case Kind::fixed:
      return fixed_;
    case Kind::log_normal: {
      const double inside = std::clamp(p, 1e-9, 1.0 - 1e-9);
      return Duration{std::llround(std::exp(log_p50_ + sigma_ * normal_quantile(inside)))};
    }
    case Kind::table:
      break;
  }
  const auto above =
      std::upper_bound(table_.begin(), table_.end(), p,
                       [](double value, const auto& point) { return value < point.first; });
  if (above == table_.begin()) return table_.front().second;
  if (above == table_.end()) return table_.back().second;
  const auto& [p0, v0] = *std::prev(above);
  const auto& [p1, v1] = *above;
  const double part = (p - p0) / (p1 - p0);
  return v0 + Duration{std::llround(part * static_cast<double>((v1 - v0).count()))};
}

bool Distribution::is_zero() const {
  return kind_ == Kind::fixed && fixed_.count() == 0;
}

}  // namespace gatedrill
