#include "replay/capture/http2_fields.hpp"

#include <cassert>
#include <cstdint>

#include <nghttp2/nghttp2.h>

namespace gatedrill::replay::capture {
namespace {

// Every change of the compression's table stands in the stream itself, so any size may be taken;
// none in use is larger.
constexpr std::size_t kTableBytesMax = 64 * 1024;
// The table that stands for what was compressed before the capture; so many entries of it are made
// first, since they take memory and few connections refer further back.
constexpr std::size_t kForgottenTableBytes = 16 * 1024;
constexpr std::size_t kForgottenFew = 64;
constexpr std::string_view kForgottenName = "?";
constexpr std::size_t kEntryOverheadBytes = 32;  // RFC 7541 section 4.1, RFC 9113 section 6.5.2
// Damaged field blocks in a row, behind which a direction's fields are given up.
constexpr int kFailuresMax = 16;
// When lists are larger than any that is sent in earnest, over and over.
constexpr std::size_t kKeptBytesLeast = 4U * 1024U * 1024U;
constexpr std::size_t kKeptTimesSent = 200;
constexpr std::size_t kModestListBytes = 16U * 1024U;

// An integer with a prefix of so many bits (RFC 7541 section 5.1).
std::string prefixed(std::uint8_t pattern, unsigned bits, std::size_t value) {
  const std::size_t most = (std::size_t{1} << bits) - 1;
  if (value < most) return {static_cast<char>(pattern | value)};
  std::string bytes(1, static_cast<char>(pattern | most));
  for (value -= most; value >= 128; value /= 128)
    bytes.push_back(static_cast<char>(value % 128 + 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

constexpr std::size_t kForgottenMost =
    kForgottenTableBytes / (kEntryOverheadBytes + 2 * kForgottenName.size());

// A field block that makes so many entries that stand for unknown ones.
std::string forgetting_block(std::size_t entries) {
  constexpr std::uint8_t kSizeUpdate = 0x20;
  constexpr std::uint8_t kNewEntry = 0x40;
  std::string block = prefixed(kSizeUpdate, 5, kForgottenTableBytes);
  for (std::size_t i = 0; i < entries; ++i) {
    block.push_back(static_cast<char>(kNewEntry));
    for (int part = 0; part < 2; ++part)
      block.append(prefixed(0, 7, kForgottenName.size())).append(kForgottenName);
  }
  return block;
}

}  // namespace

void Http2Inflater::Free::operator()(nghttp2_hd_inflater* inflater) const {
  nghttp2_hd_inflate_del(inflater);
}

Http2Inflater::Http2Inflater() {
  reset();
}

void Http2Inflater::reset() {
  nghttp2_hd_inflater* made = nullptr;
  [[maybe_unused]] const int error = nghttp2_hd_inflate_new(&made);
  assert(error == 0);
  inflater_.reset(made);
  nghttp2_hd_inflate_change_table_size(made, kTableBytesMax);
}

void Http2Inflater::forget() {
  forgotten_ = true;
}

std::optional<Http2Fields> Http2Inflater::inflate(std::string_view block) {
  if (failures_ >= kFailuresMax) return std::nullopt;
  sent_bytes_ += block.size();
  std::optional<Http2Fields> fields;
  if (!forgotten_) fields = feed(block);
  if (forgotten_) fields = feed_behind(kForgottenFew, block);
  // It may refer further back.
  if (!fields && placeholders_ == kForgottenFew) fields = feed_behind(kForgottenMost, block);
  forgotten_ = false;
  if (fields) {
    failures_ = 0;
    kept_bytes_ += fields->kept_bytes;
    return fields;
  }
  ++failures_;
  forget();
  return std::nullopt;
}

std::optional<Http2Fields> Http2Inflater::feed_behind(std::size_t entries, std::string_view block) {
  reset();
  feed(forgetting_block(entries));
  placeholders_ = entries;
  return feed(block);
}

std::optional<Http2Fields> Http2Inflater::feed(std::string_view block) {
  Http2Fields into;
  const auto* in = reinterpret_cast<const std::uint8_t*>(block.data());
  std::size_t left = block.size();
  const bool inflated = kept_bytes_ > kKeptBytesLeast + kKeptTimesSent * sent_bytes_;
  const std::size_t most = inflated ? kModestListBytes : kHeadBytesMax;
  for (;;) {
    nghttp2_nv field{};
    int flags = 0;
    const auto consumed = nghttp2_hd_inflate_hd2(inflater_.get(), &field, &flags, in, left, 1);
    if (consumed < 0) return std::nullopt;
    in += consumed;
    left -= static_cast<std::size_t>(consumed);
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
      const std::string_view name(reinterpret_cast<const char*>(field.name), field.namelen);
      const std::string_view value(reinterpret_cast<const char*>(field.value), field.valuelen);
      const std::size_t size = name.size() + value.size() + kEntryOverheadBytes;
      if (name == kForgottenName) {
        into.unknown = true;
      } else if (into.cut_bytes == 0 && into.kept_bytes + size <= most) {
        into.kept_bytes += size;
        into.fields.push_back({std::string(name), std::string(value)});
      } else {
        into.cut_bytes += size;
      }
    }
    if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && left == 0) return std::nullopt;
  }
  nghttp2_hd_inflate_end_headers(inflater_.get());
  return into;
}

}  // namespace gatedrill::replay::capture
