// Repeatable randomness: one seed for a run, one stream of its own for each user of it, so that a
// new user does not shift the others.
//
//   Random root(seed);
//   Random endpoints = root.fork("endpoints");
//
// The generator is xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
// generators", 2018), seeded by SplitMix64. No std:: distributions anywhere: their algorithms are
// not specified and differ between libraries.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gatedrill {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  // A stream that depends on this one's seed and the name only, not on what was drawn before.
  [[nodiscard]] Random fork(std::string_view name) const;
  [[nodiscard]] Random fork(std::uint64_t number) const;

  std::uint64_t next();
  // Uniform in [0, 1), 53 bits.
  double uniform();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Standard normal, by inversion (Acklam's rational approximation, relative error 1.2e-9).
  double normal();

  bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

// A well-mixed 64-bit value of a text: FNV-1a, then SplitMix64's finaliser. Stable for ever, so it
// may decide which requests a fault hits.
[[nodiscard]] std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0);

// The standard normal quantile of p in (0, 1).
[[nodiscard]] double normal_quantile(double p);

}  // namespace gatedrill
