// Packed bytes: one zstd frame (RFC 8878) that holds its content's size. Private to replay.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;

namespace gatedrill::replay {

// Not thread-safe.
class ZstdPacker {
 public:
  ZstdPacker();

  // A frame of `content`, until the next call.
  std::string_view pack(std::string_view content);
  // The same, or nothing where it would not save an eighth.
  std::optional<std::string_view> pack_if_smaller(std::string_view content);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string frame_;
};

[[nodiscard]] bool begins_zstd_frame(std::string_view bytes);

// Nothing if the frame is damaged, or says that it holds more than 1 GB.
[[nodiscard]] std::optional<std::string> unpack_zstd(std::string_view frame);

}  // namespace gatedrill::replay
