// Chunked bodies, right and wrong.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {

std::vector<Input> chunk_inputs() {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: shop.example\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string end = "0\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> bodies = {
      {"three chunks", "2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n" + end},
      {"no chunk but the last", end},
      {"a size in upper case with zeros", "00A\r\n0123456789\r\n" + end},
      {"a last size of many zeros", "5\r\nhello\r\n00000\r\n\r\n"},
      {"an extension", "5;a=b\r\nhello\r\n" + end},
      {"a quoted extension", "5;a=\"b;c\"\r\nhello\r\n" + end},
      {"an extension without a name", "5;\r\nhello\r\n" + end},
      {"an extension with a LF inside", "5;a\nb\r\nhello\r\n" + end},
      {"an extension with a CR inside", "5;a\rb\r\nhello\r\n" + end},
      {"an extension with a NUL", std::string("5;a\0b\r\n", 7) + "hello\r\n" + end},
      {"an extension of 5000 bytes", "5;" + std::string(5000, 'a') + "\r\nhello\r\n" + end},
      {"an extension of 20 KB", "5;" + std::string(20000, 'a') + "\r\nhello\r\n" + end},
      {"an extension behind the last size", "5\r\nhello\r\n0;a=b\r\n\r\n"},
      {"a space behind a size", "5 \r\nhello\r\n" + end},
      {"a tab behind a size", "5\t\r\nhello\r\n" + end},
      {"a space before a size", " 5\r\nhello\r\n" + end},
      {"a space before an extension", "5 ;a=b\r\nhello\r\n" + end},
      {"a size with 0x", "0x5\r\nhello\r\n" + end},
      {"a size with a plus", "+5\r\nhello\r\n" + end},
      {"a negative size", "-5\r\nhello\r\n" + end},
      {"a size that is no number", "g\r\nhello\r\n" + end},
      {"an empty size", "\r\nhello\r\n" + end},
      {"a size beyond 64 bits", "10000000000000005\r\nhello\r\n" + end},
      {"a size of 2^63", "8000000000000000\r\nhello\r\n" + end},
      {"a size with an underscore", "1_0\r\n0123456789abcdef\r\n" + end},
      {"a size that ends in LF", "5\nhello\r\n" + end},
      {"a size that ends in CR", "5\rhello\r\n" + end},
      {"data that end in LF", "5\r\nhello\n" + end},
      {"data that end in CR", "5\r\nhello\r0\r\n\r\n"},
      {"data without an end", "5\r\nhello" + end},
      {"data that are too long", "5\r\nhello!!\r\n" + end},
      {"a last chunk that ends in LF", "5\r\nhello\r\n0\n\n"},
      {"a trailer", "5\r\nhello\r\n0\r\nX-Sum: abc\r\n\r\n"},
      {"a trailer that names a client", "5\r\nhello\r\n0\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n"},
      {"a trailer that is a length", "5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n"},
      {"a trailer that is a coding", "5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {"a trailer that closes", "5\r\nhello\r\n0\r\nConnection: close\r\n\r\n"},
      {"a trailer that is no field", "5\r\nhello\r\n0\r\nno field\r\n\r\n"},
      {"a trailer with a fold", "5\r\nhello\r\n0\r\nX-Sum: a\r\n b\r\n\r\n"},
      {"a trailer that ends in LF", "5\r\nhello\r\n0\r\nX-Sum: a\n\r\n"},
      {"a trailer with a request inside", "5\r\nhello\r\n0\r\nGET /b HTTP/1.1\r\n\r\n"},
  };
  std::vector<Input> inputs;
  for (const auto& [name, body] : bodies)
    inputs.push_back({.section = "chunks", .name = name, .pieces = {head + body}});
  return inputs;
}

}  // namespace gatedrill::differential
