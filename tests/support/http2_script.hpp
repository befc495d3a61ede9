// The bytes that one side of an HTTP/2 connection sends, frame by frame; fields are compressed as a
// real sender does (nghttp2).
//
//   Http2Script client;
//   talk.client(Http2Script::preface() + client.get(1, "/a"));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

namespace gatedrill::tests {

class Http2Script {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  struct Head {
    std::uint32_t stream = 1;
    Fields fields{};
    bool end_stream = false;
    std::size_t fragment_bytes = 0;  // the rest comes in CONTINUATION frames of that size
    std::size_t padding = 0;
    bool priority = false;
  };

  Http2Script();

  // What a client begins with: the preface and SETTINGS.
  [[nodiscard]] static std::string preface();
  [[nodiscard]] static std::string settings();
  [[nodiscard]] static std::string frame(std::uint8_t type,
                                         std::uint8_t flags,
                                         std::uint32_t stream,
                                         std::string_view payload);
  [[nodiscard]] static std::string data(std::uint32_t stream,
                                        std::string_view text,
                                        bool end_stream = true,
                                        std::size_t padding = 0);
  [[nodiscard]] static std::string reset(std::uint32_t stream);
  [[nodiscard]] static std::string goaway(std::uint32_t last_stream);

  [[nodiscard]] std::string head(const Head& head);
  [[nodiscard]] std::string promise(std::uint32_t stream, std::uint32_t promised, const Fields&);

  // A request without body.
  [[nodiscard]] std::string get(std::uint32_t stream, const std::string& path);
  // An answer with this body.
  [[nodiscard]] std::string ok(std::uint32_t stream, const std::string& body);

 private:
  struct Free {
    void operator()(nghttp2_hd_deflater* deflater) const { nghttp2_hd_deflate_del(deflater); }
  };

  [[nodiscard]] std::string compress(const Fields& fields);

  std::unique_ptr<nghttp2_hd_deflater, Free> deflater_;
};

}  // namespace gatedrill::tests
