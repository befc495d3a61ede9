// Every HAR, .gor and access log of the data folder against what another, short reader found in it
// (its .expected.tsv), field by field. Each difference that is meant stands here with its reason.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/content_coding.hpp"
#include "replay/digest.hpp"
#include "replay/formats/formats.hpp"
#include "replay/formats/timestamps.hpp"
#include "replay/formats/wire_message.hpp"
#include "tests/support/imported.hpp"

namespace gatedrill::replay::formats {
namespace {

namespace fs = std::filesystem;
using tests::Imported;

const fs::path kData = fs::path(GD_SOURCE_DIR) / ".." / "shared" / "data";

using Row = std::map<std::string, std::string>;

std::vector<Row> table(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const auto cells = [](const std::string& text) {
    std::vector<std::string> out(1);
    for (const char c : text) {
      if (c == '\t') {
        out.emplace_back();
      } else {
        out.back().push_back(c);
      }
    }
    return out;
  };
  const std::vector<std::string> names = cells(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> values = cells(line);
    Row row;
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i)
      row[names[i]] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

void import_file(Imported& imported, const std::string& format, const fs::path& path) {
  std::vector<Input> inputs;
  auto input = Input::open(path);
  ASSERT_TRUE(input) << input.error().message;
  inputs.push_back(std::move(*input));
  auto done = find_format(format, Direction::read).value()->read(inputs, imported);
  ASSERT_TRUE(done) << done.error().message;
}

std::vector<fs::path> files_with(const std::string& end) {
  std::vector<fs::path> files;
  if (!fs::is_directory(kData)) return files;
  for (const auto& entry : fs::directory_iterator(kData)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(end) && fs::exists(entry.path().string() + ".expected.tsv"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

class FormatOracleTest : public ::testing::TestWithParam<fs::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FormatOracleTest);

std::string name_of(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class HarOracleTest : public FormatOracleTest {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HarOracleTest);

std::string url_of(const RecordedExchange& exchange) {
  const bool https = exchange.server.ends_with(":443");
  return (https ? "https://" : "http://") + exchange.host + exchange.request->target;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
  }));
}

TEST_P(HarOracleTest, EveryEntryIsAsTheOracleSays) {
  Imported imported;
  import_file(imported, "har", GetParam());
  const std::vector<Row> rows = table(GetParam().string() + ".expected.tsv");
  ASSERT_EQ(imported.exchanges.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    SCOPED_TRACE("entry " + row["seq"]);
    const RecordedExchange& exchange = imported.exchanges[i];
    EXPECT_EQ(exchange.at, parse_iso8601(row["startedDateTime"]));
    EXPECT_EQ(exchange.request->method, row["method"]);
    EXPECT_EQ(url_of(exchange), row["url"]);
    EXPECT_EQ(std::to_string(exchange.response ? exchange.response->status : 0), row["status"]);
    const bool pseudo = exchange.protocol == "h2" || exchange.protocol == "h3";
    const std::size_t headers = std::stoul(row["n_req_headers"]);
    constexpr std::size_t kPseudoHeaders = 4;
    EXPECT_TRUE(exchange.request->fields.size() == headers ||
                (pseudo && exchange.request->fields.size() == headers - kPseudoHeaders));
    EXPECT_EQ(exchange.request->body.size(), std::stoul(row["post_text_bytes"]));
    if (!exchange.response) continue;
    const RecordedResponse& response = *exchange.response;
    const auto body = decode_content(response.body, value_of(response.fields, "Content-Encoding"));
    const std::string& shown = body ? *body : response.body;
    const std::size_t length = std::stoul(row["content_text_len"]);
    if (response.status == 304) {
      EXPECT_EQ(shown, "") << "what a browser shows with a 304 is its cache";
    } else if (row["content_encoding"] == "base64") {
      EXPECT_EQ((shown.size() + 2) / 3 * 4, length);
    } else {
      EXPECT_EQ(characters(shown), length);
    }
    const bool lost = length == 0 && row["content_size"] != "0";
    EXPECT_TRUE(!lost || !response.complete);
  }
}

INSTANTIATE_TEST_SUITE_P(Data, HarOracleTest, ::testing::ValuesIn(files_with(".har")), name_of);

class GorOracleTest : public FormatOracleTest {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GorOracleTest);

TEST_P(GorOracleTest, EveryRecordIsAsTheOracleSays) {
  Imported imported;
  import_file(imported, "gor", GetParam());
  EXPECT_EQ(imported.lost(), "");
  const std::vector<Row> rows = table(GetParam().string() + ".expected.tsv");
  ASSERT_EQ(imported.exchanges.size(), rows.size()) << "all are requests alone";
  Digest sha1 = Digest::sha1();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    SCOPED_TRACE("record " + row["seq"]);
    const RecordedExchange& exchange = imported.exchanges[i];
    ASSERT_EQ(row["type"], "1");
    EXPECT_EQ(std::to_string(exchange.at.ns), row["timestamp_ns"]);
    EXPECT_EQ(exchange.request->method, row["method"]);
    EXPECT_EQ(exchange.request->target, row["uri"]);
    EXPECT_EQ(exchange.host, row["host"]);
    EXPECT_EQ(std::to_string(exchange.request->body.size()), row["body_len"]);
    const auto wire = to_wire(*exchange.request, exchange.host);
    ASSERT_TRUE(wire);
    // Heads with LF alone, or with one line end too many, are written in the usual way.
    if (exchange.request->defects.empty() && row["host"] != "") {
      EXPECT_EQ(to_hex(sha1.of(wire->bytes)), row["payload_sha1"]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Data, GorOracleTest, ::testing::ValuesIn(files_with(".gor")), name_of);

class MitmproxyOracleTest : public FormatOracleTest {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MitmproxyOracleTest);

TEST_P(MitmproxyOracleTest, EveryFlowIsAsTheOracleSays) {
  Imported imported;
  import_file(imported, "mitmproxy", GetParam());
  const std::vector<Row> rows = table(GetParam().string() + ".expected.tsv");
  ASSERT_EQ(imported.exchanges.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Row row = rows[i];
    SCOPED_TRACE("flow " + row["seq"]);
    const RecordedExchange& exchange = imported.exchanges[i];
    EXPECT_EQ(exchange.at, parse_epoch_seconds(row["timestamp_start"]));
    EXPECT_EQ(exchange.request->method, row["method"]);
    EXPECT_EQ(exchange.request->target, row["path"]);
    EXPECT_EQ(exchange.host, row["host"]);
    EXPECT_TRUE(exchange.server.ends_with(":" + row["port"]));
    EXPECT_EQ(exchange.response ? std::to_string(exchange.response->status) : "", row["status"]);
    EXPECT_EQ(std::to_string(exchange.request->body.size()), row["req_body_len"]);
    EXPECT_EQ(std::to_string(exchange.response ? exchange.response->body.size() : 0),
              row["resp_body_len"]);
  }
}

INSTANTIATE_TEST_SUITE_P(Data,
                         MitmproxyOracleTest,
                         ::testing::ValuesIn(files_with(".mitm")),
                         name_of);

// The same two exchanges, as mitmproxy stores and as it exports them.
TEST(FormatOracle, AFlowFileAndItsHarAreTheSame) {
  const fs::path flows = kData / "mitm-successful-log.mitm";
  if (!fs::exists(flows)) GTEST_SKIP() << "no data folder";
  Imported stored;
  import_file(stored, "mitmproxy", flows);
  Imported exported;
  import_file(exported, "har", kData / "har-successful-log.har");
  ASSERT_EQ(stored.exchanges.size(), exported.exchanges.size());
  for (std::size_t i = 0; i < stored.exchanges.size(); ++i) {
    const RecordedExchange& a = stored.exchanges[i];
    const RecordedExchange& b = exported.exchanges[i];
    EXPECT_EQ(a.request->fields, b.request->fields);
    EXPECT_EQ(a.request->body, b.request->body);
    EXPECT_EQ(a.response->body, b.response->body);
    EXPECT_EQ(a.response->fields, b.response->fields);
    EXPECT_EQ(a.protocol, b.protocol);
    EXPECT_EQ(a.server, b.server);
    EXPECT_LT(std::abs(a.at.ns - b.at.ns), 1000) << "HAR has microseconds";
  }
}

class LogOracleTest : public FormatOracleTest {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogOracleTest);

// The oracle reads the combined format strictly. These lines it does not take, and they can be
// read: a line without the user's field, and one with a quoted list of addresses in front.
const std::map<std::string, std::vector<std::string>> kReadAllTheSame = {
    {"nginx-access-generic", {"8"}}, {"nginx-access-forwarded-for-lists", {"5"}}};

TEST_P(LogOracleTest, EveryLineIsAsTheOracleSays) {
  Imported imported;
  import_file(imported, "access-log", GetParam());
  std::vector<std::string> surplus;
  if (const auto known = kReadAllTheSame.find(GetParam().stem()); known != kReadAllTheSame.end())
    surplus = known->second;
  const auto is_surplus = [&surplus](const std::string& line) {
    return std::find(surplus.begin(), surplus.end(), line) != surplus.end();
  };
  // Lines of one second leave together, but always in the file's order.
  auto exchange = imported.exchanges.begin();
  std::string lost;
  for (Row row : table(GetParam().string() + ".expected.tsv")) {
    SCOPED_TRACE("line " + row["line"]);
    if (row["verdict"] != "ok") lost += is_surplus(row["line"]) ? "" : row["line"] + " ";
    if (row["verdict"] == "unparsed" && !is_surplus(row["line"])) continue;
    ASSERT_NE(exchange, imported.exchanges.end());
    const RecordedExchange& one = *exchange++;
    if (row["verdict"] == "unparsed") continue;
    EXPECT_EQ(one.client, row["remote_addr"]);
    EXPECT_EQ(one.at.ns / 1'000'000'000, parse_log_time(row["time_local"])->ns / 1'000'000'000);
    EXPECT_EQ(std::to_string(one.response->status), row["status"]);
    if (row["verdict"] == "bad-request-line") {
      EXPECT_FALSE(one.request);
      continue;
    }
    EXPECT_EQ(one.request->method, row["method"]);
    EXPECT_EQ(one.request->target, row["uri"]);
    EXPECT_EQ(one.request->version, row["protocol"]);
    const std::string_view agent = value_of(one.request->fields, "User-Agent");
    EXPECT_EQ(agent.empty() ? "-" : agent, row["user_agent"]);
  }
  EXPECT_EQ(exchange, imported.exchanges.end());
  std::string told;
  for (const ImportLoss& loss : imported.losses)
    told += loss.place.substr(loss.place.rfind(':') + 1) + " ";
  EXPECT_EQ(told, lost);
}

INSTANTIATE_TEST_SUITE_P(Data, LogOracleTest, ::testing::ValuesIn(files_with(".log")), name_of);

}  // namespace
}  // namespace gatedrill::replay::formats
