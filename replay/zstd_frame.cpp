#include "replay/zstd_frame.hpp"

#include <new>

#include <zstd.h>

namespace gatedrill::replay {
namespace {

constexpr int kLevel = 1;
constexpr unsigned long long kContentBytesMax = 1'000'000'000;
constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";

}  // namespace

void ZstdPacker::Free::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

ZstdPacker::ZstdPacker() : context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
}

std::string_view ZstdPacker::pack(std::string_view content) {
  frame_.resize(ZSTD_compressBound(content.size()));
  const std::size_t size = ZSTD_compressCCtx(context_.get(), frame_.data(), frame_.size(),
                                             content.data(), content.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // it has room; nothing else is left
  return std::string_view(frame_).substr(0, size);
}

std::optional<std::string_view> ZstdPacker::pack_if_smaller(std::string_view content) {
  const std::string_view frame = pack(content);
  if (frame.size() >= content.size() - content.size() / 8) return std::nullopt;
  return frame;
}

bool begins_zstd_frame(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::optional<std::string> unpack_zstd(std::string_view frame) {
  const auto size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size > kContentBytesMax) return std::nullopt;  // so are its two values for errors
  std::string content(static_cast<std::size_t>(size), '\0');
  const std::size_t got =
      ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
  if (got != content.size()) return std::nullopt;
  return content;
}

}  // namespace gatedrill::replay
