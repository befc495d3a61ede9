#include "gateway/config/units.hpp"

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

using namespace std::chrono_literals;

TEST(Durations, ReadEveryUnitAndChainsOfThem) {
  struct Row {
    const char* text;
    Duration value;
    const char* written;  // back again, in the shortest spelling
  };

  for (const Row& row : {
           Row{"0", 0ns, "0"},
           Row{"0s", 0ns, "0"},
           Row{"1ns", 1ns, "1ns"},
           Row{"20us", 20us, "20us"},
           Row{"250ms", 250ms, "250ms"},
           Row{"2s", 2s, "2s"},
           Row{"1.5s", 1500ms, "1.5s"},
           Row{"1500ms", 1500ms, "1.5s"},
           Row{"0.5ms", 500us, "500us"},
           Row{"1m30s", 90s, "1m30s"},
           Row{"90s", 90s, "1m30s"},
           Row{"5m", 5min, "5m"},
           Row{"1h", 1h, "1h"},
           Row{"1h2m3.25s", 3723250ms, "1h2m3.25s"},
           Row{"2d", 48h, "2d"},
           Row{"1.000000001s", 1000000001ns, "1.000000001s"},
       }) {
    const Result<Duration> value = parse_duration(row.text);
    ASSERT_TRUE(value) << row.text << ": " << value.error().message;
    EXPECT_EQ(*value, row.value) << row.text;
    EXPECT_EQ(to_text(*value), row.written);
    EXPECT_EQ(*parse_duration(to_text(*value)), row.value) << row.written;
  }
}

TEST(Durations, SayWhatIsExpectedOfAnythingElse) {
  for (const char* text : {"",     "250",   "1.5",  "-5s",  "+5s",
                           "5 s",  " 5s",   "5S",   "5min", "s",
                           ".5s",  "5.s",   "1s1m", "1s1s", "1.5m3s",
                           "1e3s", "0x10s", "1,5s", "fast", "12345678901234567890s"}) {
    const Result<Duration> value = parse_duration(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().message,
              "expected a duration such as 250ms or 2s, got '" + std::string(text) + "'");
  }
}

TEST(Durations, ThatDoNotFitAreRefused) {
  EXPECT_EQ(to_text(*parse_duration("106751d")), "106751d");
  EXPECT_EQ(parse_duration("106752d").error().message, "is too long a duration: '106752d'");
  EXPECT_EQ(parse_duration("106751d24h").error().message, "is too long a duration: '106751d24h'");
}

TEST(Sizes, ReadBinaryAndDecimalUnits) {
  struct Row {
    const char* text;
    std::uint64_t bytes;
    const char* written;
  };

  for (const Row& row :
       {Row{"0", 0, "0"}, Row{"64KiB", 65536, "64KiB"}, Row{"1MiB", 1048576, "1MiB"},
        Row{"10MB", 10'000'000, "10MB"}, Row{"2GiB", 2147483648, "2GiB"},
        Row{"1.5KiB", 1536, "1536B"}, Row{"512B", 512, "512B"}, Row{"3kB", 3000, "3kB"},
        Row{"3KB", 3000, "3kB"}}) {
    const Result<std::uint64_t> bytes = parse_size(row.text);
    ASSERT_TRUE(bytes) << row.text;
    EXPECT_EQ(*bytes, row.bytes) << row.text;
    EXPECT_EQ(size_text(*bytes), row.written);
  }
}

TEST(Sizes, NeedAUnit) {
  for (const char* text : {"64", "64k", "64K", "10 MB", "-1B", "", "MB", "10mb", "1MBit"}) {
    ASSERT_FALSE(parse_size(text)) << text;
    EXPECT_EQ(parse_size(text).error().message,
              "expected a size such as 64KiB or 10MB, got '" + std::string(text) + "'");
  }
  EXPECT_EQ(parse_size("99999999999GiB").error().message, "is too large a size: '99999999999GiB'");
}

TEST(Rates, AreExactAndInLowestTerms) {
  struct Row {
    const char* text;
    Rate rate;
    const char* written;
  };

  for (const Row& row : {Row{"500/s", {500, 1s}, "500/s"}, Row{"30/m", {30, 1min}, "30/m"},
                         Row{"0.5/s", {1, 2s}, "0.5/s"}, Row{"1.5/m", {3, 2min}, "1.5/m"},
                         Row{"100/h", {100, 1h}, "100/h"}, Row{"0.1/d", {1, 240h}, "0.1/d"},
                         Row{"0", {0, 1s}, "0"}, Row{"0.0/m", {0, 1s}, "0"}}) {
    const Result<Rate> rate = parse_rate(row.text);
    ASSERT_TRUE(rate) << row.text;
    EXPECT_EQ(rate->count, row.rate.count) << row.text;
    EXPECT_EQ(rate->per, row.rate.per) << row.text;
    EXPECT_EQ(to_text(*rate), row.written);
  }
  EXPECT_EQ(to_text(Rate{7, 3ms}), "7 in 3ms");
  EXPECT_DOUBLE_EQ(parse_rate("30/m")->per_second(), 0.5);
}

TEST(Rates, NeedAPeriod) {
  for (const char* text :
       {"500", "500/", "/s", "500/ms", "500/2s", "-1/s", "500 /s", "500rps", ""}) {
    ASSERT_FALSE(parse_rate(text)) << text;
    EXPECT_EQ(parse_rate(text).error().message,
              "expected a rate such as 500/s or 30/m, got '" + std::string(text) + "'");
  }
  EXPECT_EQ(parse_rate("0.0000000001/s").error().message,
            "has too many decimals for a rate: '0.0000000001/s'");
}

TEST(Percentages, AreRatiosUpToOne) {
  EXPECT_DOUBLE_EQ(*parse_percent("5%"), 0.05);
  EXPECT_DOUBLE_EQ(*parse_percent("0%"), 0);
  EXPECT_DOUBLE_EQ(*parse_percent("100%"), 1);
  EXPECT_DOUBLE_EQ(*parse_percent("0.1%"), 0.001);
  EXPECT_EQ(percent_text(0.05), "5%");
  EXPECT_EQ(percent_text(*parse_percent("99.9%")), "99.9%");
  EXPECT_EQ(percent_text(0), "0%");
  for (const char* text : {"5", "0.05", "%", "-5%", "5 %", "5%%"}) {
    ASSERT_FALSE(parse_percent(text)) << text;
    EXPECT_EQ(parse_percent(text).error().message,
              "expected a percentage such as 5%, got '" + std::string(text) + "'");
  }
  EXPECT_EQ(parse_percent("150%").error().message,
            "expected a percentage from 0% to 100%, got '150%'");
}

TEST(Addresses, AreHostsAndPorts) {
  struct Row {
    const char* text;
    Address address;
  };

  for (const Row& row :
       {Row{"127.0.0.1:8080", {"127.0.0.1", 8080}}, Row{"localhost:0", {"localhost", 0}},
        Row{"shop-1.example.com:443", {"shop-1.example.com", 443}}, Row{"[::1]:80", {"::1", 80}},
        Row{"[fe80::1%eth0]:65535", {"fe80::1%eth0", 65535}},
        Row{"backend_2:9001", {"backend_2", 9001}}}) {
    const Result<Address> address = parse_address(row.text);
    ASSERT_TRUE(address) << row.text << ": " << address.error().message;
    EXPECT_EQ(address->host, row.address.host);
    EXPECT_EQ(address->port, row.address.port);
    EXPECT_EQ(to_text(*address), row.text);
  }
}

TEST(Addresses, SayPreciselyWhatIsWrong) {
  const std::string shape = "expected an address such as 127.0.0.1:8080 or [::1]:8080, got ";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", shape + "''"},
      {"8080", shape + "'8080'"},
      {":8080", shape + "':8080'"},
      {"localhost", shape + "'localhost'"},
      {"localhost:", shape + "'localhost:'"},
      {"localhost:http", shape + "'localhost:http'"},
      {"localhost:-1", shape + "'localhost:-1'"},
      {"localhost:80x", shape + "'localhost:80x'"},
      {"http://localhost:80", shape + "'http://localhost:80'"},
      {"localhost:65536", "expected a port up to 65535, got '65536'"},
      {"localhost:99999999999", "expected a port up to 65535, got '99999999999'"},
      {"::1:80", "expected brackets round an IPv6 address, as in [::1]:8080, got '::1:80'"},
      {"[fish]:80", "'fish' is not an IPv6 address"},
      {"300.1.1.1:80", "'300.1.1.1' is not an IPv4 address"},
      {"1.2.3:80", "'1.2.3' is not an IPv4 address"},
      {"1.2.3.4.5:80", "'1.2.3.4.5' is not an IPv4 address"},
      {"my host:80", "'my host' is not a host name"},
  };
  for (const auto& [text, message] : rows) {
    ASSERT_FALSE(parse_address(text)) << text;
    EXPECT_EQ(parse_address(text).error().message, message);
  }
}

TEST(Units, ANetworkIsAnAddressOrHasAPrefixThatFitsIt) {
  for (const char* text :
       {"10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "1.2.3.4/32", "::1", "fd00::/8", "::/0", "::1/128"})
    EXPECT_TRUE(is_ip_network(text)) << text;
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8",
                           "::1/129", "10.0/8", "proxy/8", "10.0.0.0/+8", "10.0.0.0/ 8"})
    EXPECT_FALSE(is_ip_network(text)) << text;
}

}  // namespace
}  // namespace gatedrill::gateway
