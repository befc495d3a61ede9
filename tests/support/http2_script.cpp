#include "tests/support/http2_script.hpp"

#include <algorithm>

#include "tests/support/pcap_builder.hpp"

namespace gatedrill::tests {
namespace {

constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::uint8_t kPadded = 0x8;
constexpr std::uint8_t kPriority = 0x20;

std::string padded(std::string_view content, std::size_t padding) {
  return std::string(1, static_cast<char>(padding)) + std::string(content) +
         std::string(padding, '\0');
}

}  // namespace

Http2Script::Http2Script() {
  nghttp2_hd_deflater* made = nullptr;
  nghttp2_hd_deflate_new(&made, 4096);
  deflater_.reset(made);
}

std::string Http2Script::compress(const Fields& fields) {
  std::vector<nghttp2_nv> pairs;
  for (const auto& [name, value] : fields) {
    // nghttp2 writes to neither.
    pairs.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                     value.size(), NGHTTP2_NV_FLAG_NONE});
  }
  std::string block(nghttp2_hd_deflate_bound(deflater_.get(), pairs.data(), pairs.size()), '\0');
  const auto size =
      nghttp2_hd_deflate_hd(deflater_.get(), reinterpret_cast<std::uint8_t*>(block.data()),
                            block.size(), pairs.data(), pairs.size());
  block.resize(static_cast<std::size_t>(size));
  return block;
}

std::string Http2Script::frame(std::uint8_t type,
                               std::uint8_t flags,
                               std::uint32_t stream,
                               std::string_view payload) {
  std::string bytes = be32(static_cast<std::uint32_t>(payload.size())).substr(1);
  bytes.push_back(static_cast<char>(type));
  bytes.push_back(static_cast<char>(flags));
  return bytes + be32(stream) + std::string(payload);
}

std::string Http2Script::preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings();
}

std::string Http2Script::settings() {
  return frame(NGHTTP2_SETTINGS, 0, 0, be16(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE) + be32(1 << 20U));
}

std::string Http2Script::data(std::uint32_t stream,
                              std::string_view text,
                              bool end_stream,
                              std::size_t padding) {
  const std::uint8_t end = end_stream ? kEndStream : 0;
  if (padding == 0) return frame(NGHTTP2_DATA, end, stream, text);
  return frame(NGHTTP2_DATA, end | kPadded, stream, padded(text, padding));
}

std::string Http2Script::reset(std::uint32_t stream) {
  return frame(NGHTTP2_RST_STREAM, 0, stream, be32(NGHTTP2_CANCEL));
}

std::string Http2Script::goaway(std::uint32_t last_stream) {
  return frame(NGHTTP2_GOAWAY, 0, 0, be32(last_stream) + be32(NGHTTP2_NO_ERROR));
}

std::string Http2Script::head(const Head& head) {
  const std::string block = compress(head.fields);
  const std::size_t first =
      head.fragment_bytes == 0 ? block.size() : std::min(head.fragment_bytes, block.size());
  std::string content = block.substr(0, first);
  std::uint8_t flags = head.end_stream ? kEndStream : 0;
  if (head.priority) {
    content.insert(0, be32(0) + std::string(1, '\x10'));
    flags |= kPriority;
  }
  if (head.padding > 0) {
    content = padded(content, head.padding);
    flags |= kPadded;
  }
  if (first == block.size()) flags |= kEndHeaders;
  std::string bytes = frame(NGHTTP2_HEADERS, flags, head.stream, content);
  for (std::size_t at = first; at < block.size(); at += head.fragment_bytes) {
    const std::string part = block.substr(at, head.fragment_bytes);
    const bool last = at + part.size() == block.size();
    bytes += frame(NGHTTP2_CONTINUATION, last ? kEndHeaders : 0, head.stream, part);
  }
  return bytes;
}

std::string Http2Script::promise(std::uint32_t stream,
                                 std::uint32_t promised,
                                 const Fields& fields) {
  return frame(NGHTTP2_PUSH_PROMISE, kEndHeaders, stream, be32(promised) + compress(fields));
}

std::string Http2Script::get(std::uint32_t stream, const std::string& path) {
  return head({.stream = stream,
               .fields = {{":method", "GET"},
                          {":scheme", "http"},
                          {":authority", "shop"},
                          {":path", path},
                          {"user-agent", "script"}},
               .end_stream = true});
}

std::string Http2Script::ok(std::uint32_t stream, const std::string& body) {
  return head({.stream = stream,
               .fields = {{":status", "200"}, {"content-length", std::to_string(body.size())}}}) +
         data(stream, body);
}

}  // namespace gatedrill::tests
