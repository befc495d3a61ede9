#include "replay/content_coding.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

#include "gateway/http/head.hpp"

namespace gatedrill::replay {
namespace {

enum class Coding { identity, gzip, deflate, brotli, zstd, unknown };

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kCodingsMax = 5;
constexpr int kGzipWindow = 15 + 16;
constexpr int kZlibWindow = 15;
constexpr int kRawWindow = -15;
// RFC 9659 allows senders 8 MiB.
constexpr int kZstdWindowLogMax = 25;

Coding coding_of(std::string_view name) {
  using http::equals_ignoring_case;
  if (name.empty() || equals_ignoring_case(name, "identity")) return Coding::identity;
  if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) {
    return Coding::gzip;
  }
  if (equals_ignoring_case(name, "deflate")) return Coding::deflate;
  if (equals_ignoring_case(name, "br")) return Coding::brotli;
  if (equals_ignoring_case(name, "zstd")) return Coding::zstd;
  return Coding::unknown;
}

std::vector<Coding> codings_of(std::string_view list) {
  std::vector<Coding> codings;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    while (!name.empty() && (name.front() == ' ' || name.front() == '\t'))
      name.remove_prefix(1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t'))
      name.remove_suffix(1);
    const Coding coding = coding_of(name);
    if (coding != Coding::identity) codings.push_back(coding);
    if (codings.size() > kCodingsMax) return {Coding::unknown};
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return codings;
}

struct EndInflate {
  void operator()(z_stream* stream) const { inflateEnd(stream); }
};

// zlib's interface takes non-const input that it does not change.
Bytef* input_of(std::string_view bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}

std::optional<DecodedPrefix> inflate_all(std::string_view body, int window, std::size_t bytes_max) {
  z_stream stream{};
  if (inflateInit2(&stream, window) != Z_OK) return std::nullopt;
  const std::unique_ptr<z_stream, EndInflate> guard(&stream);
  DecodedPrefix decoded;
  std::string& out = decoded.content;
  std::array<Bytef, kPieceBytes> piece{};
  std::size_t begun = 0;
  while (begun < body.size()) {
    // zlib counts in 32 bits.
    const std::string_view input = body.substr(begun, 1U << 30U);
    stream.next_in = input_of(input);
    stream.avail_in = static_cast<uInt>(input.size());
    int code = Z_OK;
    do {
      stream.next_out = piece.data();
      stream.avail_out = static_cast<uInt>(piece.size());
      code = inflate(&stream, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return std::nullopt;
      out.append(reinterpret_cast<const char*>(piece.data()), piece.size() - stream.avail_out);
      if (out.size() > bytes_max) return std::nullopt;
    } while (code == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0));
    begun += input.size() - stream.avail_in;
    if (code == Z_STREAM_END) {
      // Another gzip member may follow; anything else behind the end is ignored, as browsers do.
      const bool member = window == kGzipWindow && body.substr(begun).starts_with("\x1f\x8b");
      if (!member) {
        decoded.trailing = begun < body.size();
        return decoded;
      }
      inflateReset(&stream);
    } else if (stream.avail_in > 0) {
      return std::nullopt;
    }
  }
  decoded.ended = false;
  return decoded;
}

std::optional<DecodedPrefix> decode_deflate(std::string_view body, std::size_t bytes_max) {
  auto wrapped = inflate_all(body, kZlibWindow, bytes_max);
  if (wrapped && wrapped->ended) return wrapped;
  auto raw = inflate_all(body, kRawWindow, bytes_max);
  return wrapped && (!raw || !raw->ended) ? std::move(wrapped) : std::move(raw);
}

std::optional<DecodedPrefix> decode_brotli(std::string_view body, std::size_t bytes_max) {
  const std::unique_ptr<BrotliDecoderState, decltype(&BrotliDecoderDestroyInstance)> state(
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), &BrotliDecoderDestroyInstance);
  if (!state) return std::nullopt;
  DecodedPrefix decoded;
  std::string& out = decoded.content;
  std::array<std::uint8_t, kPieceBytes> piece{};
  std::size_t input_left = body.size();
  const auto* input = reinterpret_cast<const std::uint8_t*>(body.data());
  for (;;) {
    std::size_t output_left = piece.size();
    std::uint8_t* output = piece.data();
    const auto result = BrotliDecoderDecompressStream(state.get(), &input_left, &input,
                                                      &output_left, &output, nullptr);
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size() - output_left);
    if (out.size() > bytes_max) return std::nullopt;
    if (result == BROTLI_DECODER_RESULT_ERROR) return std::nullopt;
    if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) continue;
    if (BrotliDecoderHasMoreOutput(state.get()) == BROTLI_TRUE) continue;
    decoded.ended = result == BROTLI_DECODER_RESULT_SUCCESS;
    decoded.trailing = input_left > 0;
    return decoded;
  }
}

std::optional<DecodedPrefix> decode_zstd(std::string_view body, std::size_t bytes_max) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  if (!stream) return std::nullopt;
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kZstdWindowLogMax);
  DecodedPrefix decoded;
  std::string& out = decoded.content;
  std::array<char, kPieceBytes> piece{};
  ZSTD_inBuffer input{body.data(), body.size(), 0};
  std::size_t wanted = 1;
  for (;;) {
    ZSTD_outBuffer output{piece.data(), piece.size(), 0};
    wanted = ZSTD_decompressStream(stream.get(), &output, &input);
    if (ZSTD_isError(wanted) != 0) return std::nullopt;
    out.append(piece.data(), output.pos);
    if (out.size() > bytes_max) return std::nullopt;
    const bool more_output = output.pos == output.size;
    if (input.pos == input.size && !more_output) break;
  }
  decoded.ended = wanted == 0;
  return decoded;
}

std::optional<DecodedPrefix> decode_one(std::string_view body,
                                        Coding coding,
                                        std::size_t bytes_max) {
  switch (coding) {
    case Coding::identity:
      return DecodedPrefix{.content = std::string(body)};
    case Coding::gzip:
      return inflate_all(body, kGzipWindow, bytes_max);
    case Coding::deflate:
      return decode_deflate(body, bytes_max);
    case Coding::brotli:
      return decode_brotli(body, bytes_max);
    case Coding::zstd:
      return decode_zstd(body, bytes_max);
    case Coding::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> deflate_all(std::string_view body, int window) {
  z_stream stream{};
  constexpr int kMemoryLevel = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string out(deflateBound(&stream, body.size()), '\0');
  stream.next_in = input_of(body);
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return std::nullopt;
  return out;
}

std::optional<std::string> encode_one(std::string_view body, Coding coding) {
  switch (coding) {
    case Coding::identity:
      return std::string(body);
    case Coding::gzip:
      return deflate_all(body, kGzipWindow);
    case Coding::deflate:
      return deflate_all(body, kZlibWindow);
    case Coding::brotli: {
      constexpr int kQuality = 5;
      std::size_t size = BrotliEncoderMaxCompressedSize(body.size());
      std::string out(size, '\0');
      if (BrotliEncoderCompress(kQuality, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, body.size(),
                                reinterpret_cast<const std::uint8_t*>(body.data()), &size,
                                reinterpret_cast<std::uint8_t*>(out.data())) == BROTLI_FALSE) {
        return std::nullopt;
      }
      out.resize(size);
      return out;
    }
    case Coding::zstd: {
      std::string out(ZSTD_compressBound(body.size()), '\0');
      const std::size_t size =
          ZSTD_compress(out.data(), out.size(), body.data(), body.size(), ZSTD_CLEVEL_DEFAULT);
      if (ZSTD_isError(size) != 0) return std::nullopt;
      out.resize(size);
      return out;
    }
    case Coding::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> decode_content(std::string_view body,
                                          std::string_view codings,
                                          std::size_t bytes_max) {
  auto decoded = decode_prefix(body, codings, bytes_max);
  if (!decoded || !decoded->ended) return std::nullopt;
  return std::move(decoded->content);
}

std::optional<DecodedPrefix> decode_prefix(std::string_view body,
                                           std::string_view codings,
                                           std::size_t bytes_max) {
  std::vector<Coding> list = codings_of(codings);
  if (list.empty()) return DecodedPrefix{.content = std::string(body)};
  DecodedPrefix current;
  for (bool first = true; !list.empty(); list.pop_back(), first = false) {
    const std::string_view coded = first ? body : std::string_view(current.content);
    auto next = decode_one(coded, list.back(), bytes_max);
    if (!next) return std::nullopt;
    next->ended = next->ended && current.ended;
    next->trailing = next->trailing || current.trailing;
    current = std::move(*next);
  }
  return current;
}

std::optional<std::string> encode_content(std::string_view body, std::string_view codings) {
  std::string current(body);
  for (const Coding coding : codings_of(codings)) {
    auto next = encode_one(current, coding);
    if (!next) return std::nullopt;
    current = std::move(*next);
  }
  return current;
}

std::string decoded_sha1(Digest& sha1, std::string_view body, std::string_view codings) {
  std::optional<std::string> plain;
  if (is_coded(codings)) plain = decode_content(body, codings, searched_bytes_max(body.size()));
  const std::string_view content = plain ? std::string_view(*plain) : body;
  return content.empty() ? std::string() : sha1.of(content);
}

bool is_coded(std::string_view codings) {
  return !codings_of(codings).empty();
}

}  // namespace gatedrill::replay
