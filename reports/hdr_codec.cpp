#include "reports/hdr_codec.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include <zlib.h>

namespace gatedrill::reports {
namespace {

constexpr std::uint32_t kPayloadCookie = 0x1c849303U | 0x10U;
constexpr std::uint32_t kCompressedCookie = 0x1c849304U | 0x10U;
constexpr std::size_t kHeaderBytes = 40;
// What one hour at three digits can fill: 22 doublings of 1024 buckets beyond the first 2048.
constexpr std::size_t kBucketsMax = 23 * 1024;
// The largest payload that decode accepts: every bucket at nine bytes.
constexpr std::size_t kPayloadMax = kHeaderBytes + 9 * kBucketsMax;

template <class Integer>
void put(std::string& out, Integer value) {
  for (int shift = static_cast<int>(sizeof(Integer)) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

template <class Integer>
Integer get(std::string_view bytes, std::size_t at) {
  Integer value = 0;
  for (std::size_t i = 0; i < sizeof(Integer); ++i) {
    value = static_cast<Integer>((value << 8U) | static_cast<unsigned char>(bytes[at + i]));
  }
  return value;
}

void put_zigzag(std::string& out, std::int64_t number) {
  auto value =
      (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63);
  // The ninth byte holds eight bits and needs no continuation.
  for (int i = 0; i < 8; ++i) {
    if (value < 0x80U) {
      out.push_back(static_cast<char>(value));
      return;
    }
    out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    value >>= 7U;
  }
  out.push_back(static_cast<char>(value));
}

std::optional<std::int64_t> get_zigzag(std::string_view bytes, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 9; ++i) {
    if (at >= bytes.size()) return std::nullopt;
    const std::uint64_t byte = static_cast<unsigned char>(bytes[at++]);
    if (i == 8) {
      value |= byte << 56U;
      break;
    }
    value |= (byte & 0x7fU) << (7 * i);
    if (byte < 0x80U) break;
  }
  return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
}

std::string payload_of(const Histogram& histogram) {
  std::string counts;
  std::int64_t zeros = 0;
  for (const std::uint64_t count : histogram.counts()) {
    if (count == 0) {
      ++zeros;
      continue;
    }
    if (zeros == 1) put_zigzag(counts, 0);
    if (zeros > 1) put_zigzag(counts, -zeros);
    zeros = 0;
    put_zigzag(counts, static_cast<std::int64_t>(count));
  }
  std::string out;
  put(out, kPayloadCookie);
  put(out, static_cast<std::uint32_t>(counts.size()));
  put(out, std::uint32_t{0});
  put(out, static_cast<std::uint32_t>(Histogram::kSignificantDigits));
  put(out, std::uint64_t{1});
  put(out, static_cast<std::uint64_t>(Histogram::kHighestMicros));
  put(out, std::bit_cast<std::uint64_t>(1.0));
  return out + counts;
}

std::optional<std::string> inflate_all(std::string_view bytes) {
  std::string out(kPayloadMax, '\0');
  auto size = static_cast<uLongf>(out.size());
  const int code =
      uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()));
  if (code != Z_OK) return std::nullopt;
  out.resize(size);
  return out;
}

Error not_a_histogram() {
  return evidence_error("a latency histogram in run.db is damaged; its percentiles are lost");
}

}  // namespace

std::string encode_hdr(const Histogram& histogram) {
  const std::string payload = payload_of(histogram);
  auto size = compressBound(static_cast<uLong>(payload.size()));
  std::string packed(size, '\0');
  compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
            reinterpret_cast<const Bytef*>(payload.data()), static_cast<uLong>(payload.size()),
            Z_DEFAULT_COMPRESSION);
  packed.resize(size);
  std::string out;
  put(out, kCompressedCookie);
  put(out, static_cast<std::uint32_t>(packed.size()));
  return out + packed;
}

Result<Histogram> decode_hdr(std::string_view bytes) {
  if (bytes.size() < 8 || get<std::uint32_t>(bytes, 0) != kCompressedCookie ||
      get<std::uint32_t>(bytes, 4) != bytes.size() - 8) {
    return not_a_histogram();
  }
  const std::optional<std::string> payload = inflate_all(bytes.substr(8));
  if (!payload || payload->size() < kHeaderBytes ||
      get<std::uint32_t>(*payload, 0) != kPayloadCookie ||
      get<std::uint32_t>(*payload, 4) != payload->size() - kHeaderBytes ||
      get<std::uint32_t>(*payload, 12) != Histogram::kSignificantDigits ||
      get<std::uint64_t>(*payload, 16) != 1) {
    return not_a_histogram();
  }
  std::vector<std::uint64_t> counts;
  std::size_t at = kHeaderBytes;
  while (at < payload->size()) {
    const std::optional<std::int64_t> number = get_zigzag(*payload, at);
    if (!number) return not_a_histogram();
    const std::uint64_t run = *number < 0 ? 0 - static_cast<std::uint64_t>(*number) : 1;
    if (run > kBucketsMax - counts.size()) return not_a_histogram();
    counts.insert(counts.end(), run, *number < 0 ? 0 : static_cast<std::uint64_t>(*number));
  }
  return Histogram::from_counts(counts);
}

}  // namespace gatedrill::reports
