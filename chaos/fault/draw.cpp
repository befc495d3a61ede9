#include "chaos/fault/draw.hpp"

#include "gateway/core/random.hpp"

namespace gatedrill::chaos {
namespace {

// Mixes a number into a hash: two requests that differ in one number share nothing.
std::uint64_t with_number(std::uint64_t hash, std::uint64_t number) {
  return stable_hash({}, hash ^ (number * 0x9e3779b97f4a7c15U));
}

double to_unit(std::uint64_t hash) {
  return static_cast<double>(hash >> 11U) * 0x1.0p-53;
}

}  // namespace

Draw::Draw(std::uint64_t seed, std::string_view rule) : seed_(stable_hash(rule, seed)) {}

double Draw::of_request(std::string_view link,
                        const RequestSight& sight,
                        std::string_view what) const {
  const std::uint64_t rule = stable_hash(what, seed_);
  if (!sight.request_id.empty()) {
    return to_unit(with_number(stable_hash(sight.request_id, rule), sight.attempt));
  }
  const std::uint64_t connection = with_number(stable_hash(link, rule), sight.connection);
  return to_unit(with_number(connection, sight.ordinal));
}

double Draw::of_connection(std::string_view link,
                           std::uint64_t connection,
                           std::string_view what) const {
  return to_unit(with_number(stable_hash(link, stable_hash(what, seed_)), connection));
}

}  // namespace gatedrill::chaos
