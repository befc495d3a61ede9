// Where a request's body ends: Content-Length and Transfer-Encoding, alone and together. Behind
// each stands a probe: whoever takes another end than we do shows it there.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {

std::vector<Input> request_framing_inputs() {
  const std::string post = "POST / HTTP/1.1\r\nHost: shop.example\r\n";
  const std::string chunks = "\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  const std::string hello = "\r\n\r\nhello";
  const std::string chunked = "Transfer-Encoding: chunked";
  const std::string length = "Content-Length: 5";
  std::vector<std::pair<std::string, std::string>> framings = {
      {"a length and chunked", post + "Content-Length: 6\r\n" + chunked + "\r\n\r\n0\r\n\r\nX"},
      {"chunked and a length", post + chunked + "\r\n" + "Content-Length: 6\r\n\r\n0\r\n\r\nX"},
      {"a length and chunked that agree", post + "Content-Length: 15\r\n" + chunked + chunks},
      {"identity and a length", post + "Transfer-Encoding: identity\r\n" + length + hello},
      {"gzip and a length", post + "Transfer-Encoding: gzip\r\n" + length + hello},
      {"xchunked and a length", post + "Transfer-Encoding: xchunked\r\n" + length + hello},
      {"a quoted chunked and a length",
       post + "Transfer-Encoding: \"chunked\"\r\n" + length + hello},
      {"chunked, identity and a length",
       post + "Transfer-Encoding: chunked, identity\r\n" + length + hello},
      {"an empty coding and a length", post + "Transfer-Encoding:\r\n" + length + hello},
      {"gzip alone", post + "Transfer-Encoding: gzip" + hello},
      {"identity alone", post + "Transfer-Encoding: identity" + hello},
      {"an empty coding alone", post + "Transfer-Encoding:" + chunks},
      {"chunked twice in a list", post + "Transfer-Encoding: chunked, chunked" + chunks},
      {"chunked twice in two lines", post + chunked + "\r\n" + chunked + chunks},
      {"gzip, chunked", post + "Transfer-Encoding: gzip, chunked" + chunks},
      {"a line of gzip and one of chunked",
       post + "Transfer-Encoding: gzip\r\n" + chunked + chunks},
      {"chunked, gzip", post + "Transfer-Encoding: chunked, gzip" + chunks},
      {"chunked and a comma", post + "Transfer-Encoding: chunked," + chunks},
      {"a comma and chunked", post + "Transfer-Encoding: , chunked" + chunks},
      {"chunked with a parameter", post + "Transfer-Encoding: chunked;q=1" + chunks},
      {"chunked in upper case", post + "TRANSFER-ENCODING: CHUNKED" + chunks},
      {"chunked with white space round it", post + "Transfer-Encoding: \t chunked \t" + chunks},
      {"chunked with a vertical tab", post +
                                          "Transfer-Encoding: \x0b"
                                          "chunked" +
                                          chunks},
      {"chunked with a letter of another alphabet", post +
                                                        "Transfer-Encoding: chun\xc4\xb7"
                                                        "ed\r\n" +
                                                        length + hello},
      {"a space before the coding's colon", post + "Transfer-Encoding : chunked" + chunks},
      {"an underscore in Transfer_Encoding",
       post + "Transfer_Encoding: chunked\r\n" + length + hello},
      {"chunked in HTTP/1.0",
       "POST / HTTP/1.0\r\nHost: shop.example\r\nConnection: keep-alive\r\n" + chunked + chunks},
      {"a length and chunked in HTTP/1.0",
       "POST / HTTP/1.0\r\nHost: shop.example\r\nConnection: keep-alive\r\n" + length + "\r\n" +
           chunked + chunks},
      {"a fold before chunked", post + "Transfer-Encoding:\r\n chunked" + chunks},
      {"a length that repeats itself in a list", post + "Content-Length: 5, 5" + hello},
      {"two equal lengths", post + length + "\r\n" + length + hello},
      {"two different lengths", post + length + "\r\nContent-Length: 6" + hello},
      {"a length with a plus", post + "Content-Length: +5" + hello},
      {"a negative length", post + "Content-Length: -1" + hello},
      {"a length of 2^64", post + "Content-Length: 18446744073709551616" + hello},
      {"a length of 2^64 + 5", post + "Content-Length: 18446744073709551621" + hello},
      {"a length of 2^63", post + "Content-Length: 9223372036854775808" + hello},
      {"a hexadecimal length", post + "Content-Length: 0x5" + hello},
      {"a length with leading zeros", post + "Content-Length: 00005" + hello},
      {"a length with a space inside", post + "Content-Length: 5 5" + hello},
      {"a length with a decimal point", post + "Content-Length: 5.0" + hello},
      {"an empty length", post + "Content-Length:" + hello},
      {"a length with white space round it", post + "Content-Length: \t5 \t" + hello},
      {"a space before the length's colon", post + "Content-Length : 5" + hello},
      {"an underscore in Content_Length", post + "Content_Length: 5\r\nContent-Length: 0\r\n\r\n"},
      {"a fold in a length", post + "Content-Length: 5\r\n 0" + hello},
      {"a length of 0 with a body behind it", post + "Content-Length: 0" + hello},
      {"POST without a length", post + "\r\n"},
      {"GET with a body", "GET / HTTP/1.1\r\nHost: shop.example\r\n" + length + hello},
      {"GET with a chunked body", "GET / HTTP/1.1\r\nHost: shop.example\r\n" + chunked + chunks},
      {"DELETE with a body", "DELETE /a HTTP/1.1\r\nHost: shop.example\r\n" + length + hello},
      {"OPTIONS with a body", "OPTIONS /a HTTP/1.1\r\nHost: shop.example\r\n" + length + hello},
      {"TRACE with a body", "TRACE /a HTTP/1.1\r\nHost: shop.example\r\n" + length + hello},
      {"a length named by Connection", post + "Connection: Content-Length\r\n" + length + hello},
      {"a coding named by Connection",
       post + "Connection: Transfer-Encoding\r\n" + chunked + chunks},
  };
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : framings)
    inputs.push_back({.section = "request framing", .name = name, .pieces = {bytes}});
  inputs.push_back({.section = "request framing",
                    .name = "HEAD with a body",
                    .pieces = {"HEAD / HTTP/1.1\r\nHost: shop.example\r\n" + length + hello},
                    .methods = {"HEAD"}});
  return inputs;
}

}  // namespace gatedrill::differential
