// Which host a request is for.
#include "tests/differential/input.hpp"

namespace gatedrill::differential {

std::vector<Input> host_inputs() {
  const std::string get = "GET / HTTP/1.1\r\n";
  const std::string end = "\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> hosts = {
      {"no Host", get + "\r\n"},
      {"no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n"},
      {"two different Hosts", get + "Host: shop.example\r\nHost: other.example" + end},
      {"two equal Hosts", get + "Host: shop.example\r\nHost: shop.example" + end},
      {"an empty Host", get + "Host:" + end},
      {"a Host with a port", get + "Host: shop.example:8080" + end},
      {"a Host with a port that is none", get + "Host: shop.example:http" + end},
      {"a Host with an empty port", get + "Host: shop.example:" + end},
      {"a Host with a port beyond all ports", get + "Host: shop.example:99999" + end},
      {"a Host in upper case", get + "HOST: SHOP.EXAMPLE" + end},
      {"a Host with a dot at its end", get + "Host: shop.example." + end},
      {"a Host with a space", get + "Host: shop example" + end},
      {"a Host with a path", get + "Host: shop.example/a" + end},
      {"a Host with user information", get + "Host: user@shop.example" + end},
      {"a Host that is a list", get + "Host: shop.example, other.example" + end},
      {"a Host with an underscore", get + "Host: shop_1.example" + end},
      {"a Host that is an IPv6 address", get + "Host: [::1]:80" + end},
      {"a Host with an open bracket", get + "Host: [::1" + end},
      {"a Host in raw UTF-8", get + "Host: caf\xc3\xa9.example" + end},
      {"a Host with a percent sign", get + "Host: shop%20.example" + end},
      {"a Host with quotes and angle brackets", get + "Host: <\"shop\">" + end},
      {"an absolute target without Host", "GET http://shop.example/a HTTP/1.1\r\n\r\n"},
      {"an absolute target in HTTP/1.0 without Host", "GET http://shop.example/a HTTP/1.0\r\n\r\n"},
      {"an absolute target of the same host with a port",
       "GET http://shop.example:80/a HTTP/1.1\r\nHost: shop.example" + end},
  };
  std::vector<Input> inputs;
  for (const auto& [name, bytes] : hosts)
    inputs.push_back({.section = "host", .name = name, .pieces = {bytes}});
  return inputs;
}

}  // namespace gatedrill::differential
