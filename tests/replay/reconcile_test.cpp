// Two recordings of the same traffic, one of them with what a test takes away or changes.
#include "replay/reconcile.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "replay/reconcile_command.hpp"
#include "replay/reconcile_summary.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

RecordedExchange exchange(std::int64_t connection, std::int64_t at_ms, const std::string& target) {
  RecordedExchange exchange;
  exchange.at = {1'700'000'000'000'000'000 + at_ms * kMs};
  exchange.connection = connection;
  exchange.client = "10.0.0.1:" + std::to_string(5000 + connection);
  exchange.server = "10.0.0.2:80";
  exchange.protocol = "http/1.1";
  exchange.request.emplace();
  exchange.request->method = "GET";
  exchange.request->target = target;
  exchange.request->version = "HTTP/1.1";
  exchange.response.emplace();
  exchange.response->status = 200;
  exchange.response->version = "HTTP/1.1";
  exchange.response->body = "hello " + target;
  return exchange;
}

// Three connections, ten requests on each, some of them alike.
std::vector<RecordedExchange> shop() {
  std::vector<RecordedExchange> all;
  for (int i = 0; i < 10; ++i) {
    for (int connection = 1; connection <= 3; ++connection) {
      all.push_back(exchange(connection, i * 10 + connection, "/item/" + std::to_string(i / 2)));
    }
  }
  return all;
}

class ReconcileTest : public ::testing::Test {
 protected:
  ReconcileTest() {
    std::string pattern = ::testing::TempDir() + "reconcile-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }

  ~ReconcileTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name,
             const std::vector<RecordedExchange>& exchanges,
             const std::vector<LedgerLine>& ledger = {},
             const RecordingOptions& options = {}) const {
    auto writer = std::move(RecordingWriter::create(path(name), options).value());
    for (const RecordedExchange& one : exchanges)
      ASSERT_TRUE(writer.add(one));
    ASSERT_TRUE(writer.finish(ledger));
  }

  [[nodiscard]] Reconciliation reconciled(const ReconcileOptions& options = {}) const {
    return reconcile(path("a.db"), path("b.db"), options).value();
  }

  int run(std::vector<std::string> arguments) {
    CLI::App traffic("traffic");
    int status = 0;
    add_reconcile_command(traffic, status);
    std::reverse(arguments.begin(), arguments.end());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    try {
      traffic.parse(arguments);
    } catch (const CLI::ParseError&) {
      status = 2;
    }
    out = ::testing::internal::GetCapturedStdout();
    err = ::testing::internal::GetCapturedStderr();
    return status;
  }

  fs::path folder_;
  std::string out;
  std::string err;
};

TEST_F(ReconcileTest, TheSameTrafficIsCompleteBothWays) {
  write("a.db", shop());
  write("b.db", shop());
  const Reconciliation result = reconciled();
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.matched, 30U);
  EXPECT_EQ(result.matched_by[static_cast<std::size_t>(MatchedBy::connection)], 30U);
  EXPECT_EQ(result.completeness_of_a(), 1.0);
  EXPECT_EQ(result.completeness_of_b(), 1.0);
}

TEST_F(ReconcileTest, EachPlantedLossIsFoundAndNamed) {
  const std::vector<RecordedExchange> all = shop();
  write("a.db", all);
  for (std::size_t lost = 0; lost < all.size(); ++lost) {
    std::vector<RecordedExchange> rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(lost));
    write("b.db", rest);
    const Reconciliation result = reconciled();
    EXPECT_EQ(result.matched, 29U);
    EXPECT_EQ(result.b.only, 0U);
    EXPECT_EQ(result.differing, 0U);
    ASSERT_EQ(result.a.only, 1U);
    EXPECT_EQ(result.a.first_only[0].at, all[lost].at);
    EXPECT_EQ(result.a.first_only[0].client, all[lost].client);
    EXPECT_LT(*result.completeness_of_b(), 1.0);
    EXPECT_EQ(result.completeness_of_a(), 1.0);
  }
}

TEST_F(ReconcileTest, EachPlantedDifferenceIsFoundAndNamed) {
  using Change = std::function<void(RecordedExchange&)>;
  const std::vector<std::pair<Difference, Change>> changes = {
      {Difference::status, [](auto& one) { one.response->status = 502; }},
      {Difference::answer_missing, [](auto& one) { one.response.reset(); }},
      {Difference::answer_partial, [](auto& one) { one.response->complete = false; }},
      {Difference::answer_body, [](auto& one) { one.response->body[0] = 'j'; }},
      {Difference::request_body, [](auto& one) { one.request->body = "new"; }},
      {Difference::request_missing, [](auto& one) { one.request.reset(); }},
      {Difference::request_partial, [](auto& one) { one.request->complete = false; }},
  };
  write("a.db", shop());
  for (const auto& [difference, change] : changes) {
    std::vector<RecordedExchange> changed = shop();
    change(changed[7]);
    write("b.db", changed);
    const Reconciliation result = reconciled();
    EXPECT_EQ(result.matched, 30U) << to_string(difference);
    EXPECT_EQ(result.differing, 1U) << to_string(difference);
    EXPECT_EQ(result.differences[static_cast<std::size_t>(difference)], 1U)
        << to_string(difference);
    ASSERT_EQ(result.first_differing.size(), 1U);
    EXPECT_EQ(result.first_differing[0].differences, std::vector{difference});
    EXPECT_EQ(result.first_differing[0].b.at, changed[7].at);
  }
}

TEST_F(ReconcileTest, ClocksThatAreApartDoNotMatter) {
  std::vector<RecordedExchange> later = shop();
  for (RecordedExchange& one : later)
    one.at.ns += 3600'000 * kMs;
  later.erase(later.begin() + 13);
  write("a.db", shop());
  write("b.db", later);
  const Reconciliation result = reconciled();
  ASSERT_EQ(result.a.only, 1U);
  EXPECT_EQ(result.a.first_only[0].at, shop()[13].at);
}

TEST_F(ReconcileTest, OtherAddressesAreJoinedByRequestIdAndElseByTheRequest) {
  std::vector<RecordedExchange> inside = shop();
  std::vector<RecordedExchange> outside = shop();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    inside[i].client = "172.16.0.9:" + std::to_string(900 + inside[i].connection);
    if (i % 2 != 0) continue;
    // The gateway takes a prefix off.
    inside[i].request->target = "/api" + inside[i].request->target;
    for (auto* one : {&inside[i], &outside[i]})
      one->request->fields.push_back({"X-Request-Id", "r-" + std::to_string(i)});
  }
  write("a.db", outside);
  write("b.db", inside);
  const Reconciliation result = reconciled();
  EXPECT_EQ(result.matched, 30U);
  EXPECT_EQ(result.matched_by[static_cast<std::size_t>(MatchedBy::id)], 15U);
  EXPECT_EQ(result.matched_by[static_cast<std::size_t>(MatchedBy::request)], 15U);
}

TEST_F(ReconcileTest, ALossOnAKnownConnectionIsNotCoveredUpByTheOtherLeg) {
  // Both legs of one request in A; B has lost the client's, and holds the upstream's.
  RecordedExchange client = exchange(1, 0, "/cart");
  RecordedExchange other = exchange(1, 10, "/other");
  RecordedExchange upstream = exchange(2, 1, "/cart");
  upstream.server = "10.0.0.3:9001";
  for (auto* one : {&client, &upstream})
    one->request->fields.push_back({"x-request-id", "r-1"});
  write("a.db", {client, upstream, other});
  write("b.db", {upstream, other});
  const Reconciliation result = reconciled();
  EXPECT_EQ(result.matched, 2U);
  EXPECT_EQ(result.a.only, 1U);
}

TEST_F(ReconcileTest, AnAnswerWhoseRequestWasNotSeenIsTheSameExchange) {
  std::vector<RecordedExchange> begun_late = shop();
  begun_late[4].at.ns += kMs;  // of its answer
  begun_late[4].request.reset();
  write("a.db", shop());
  write("b.db", begun_late);
  for (const auto& [a, b] : {std::pair{"a.db", "b.db"}, std::pair{"b.db", "a.db"}}) {
    const Reconciliation result = reconcile(path(a), path(b), {}).value();
    EXPECT_EQ(result.matched, 30U);
    EXPECT_EQ(result.differing, 1U);
    EXPECT_EQ(result.differences[static_cast<std::size_t>(Difference::request_missing)], 1U);
  }
}

TEST_F(ReconcileTest, AnotherFieldMayNameTheRequest) {
  std::vector<RecordedExchange> inside = shop();
  std::vector<RecordedExchange> outside = shop();
  for (std::size_t i = 0; i < inside.size(); ++i) {
    inside[i].client = "172.16.0.9:" + std::to_string(900 + inside[i].connection);
    for (auto* one : {&inside[i], &outside[i]})
      one->request->fields.push_back({"Order-Ref", std::to_string(i)});
  }
  write("a.db", outside);
  write("b.db", inside);
  ReconcileOptions options;
  options.id_field = "order-ref";
  const Reconciliation result = reconciled(options);
  EXPECT_EQ(result.matched_by[static_cast<std::size_t>(MatchedBy::id)], 30U);
}

TEST_F(ReconcileTest, PseudonymsOfTwoRecordingsAreTheSameSecret) {
  std::vector<RecordedExchange> all = shop();
  for (RecordedExchange& one : all) {
    one.request->target += "?token=s3cret";
    one.request->fields.push_back({"Content-Type", "application/x-www-form-urlencoded"});
    one.request->body = "password=hunter2";
  }
  write("a.db", all);
  write("b.db", all);
  const Reconciliation result = reconciled();
  EXPECT_TRUE(result.equal());
  EXPECT_EQ(result.matched, 30U);
  EXPECT_EQ(result.bodies_not_compared, 30U);
  EXPECT_EQ(result.heads_not_compared, 30U);
  EXPECT_THAT(render(result), HasSubstr("secrets in them were replaced: 30 heads, 30 bodies"));
}

TEST_F(ReconcileTest, WhatIsHiddenByTheSameRulesUnderOneKeyIsCompared) {
  std::vector<RecordedExchange> all = shop();
  for (RecordedExchange& one : all) {
    one.request->fields = {{"Cookie", "sid=c00kie"},
                           {"Content-Type", "application/x-www-form-urlencoded"}};
    one.request->body = "password=hunter2";
  }
  const RecordingOptions one_key{.redaction_key = "sixteen bytes or more"};
  write("a.db", all, {}, one_key);
  std::reverse(all[3].request->fields.begin(), all[3].request->fields.end());
  write("b.db", all, {}, one_key);
  const Reconciliation same = reconciled();
  EXPECT_TRUE(same.equal()) << render(same);
  EXPECT_EQ(same.bodies_not_compared + same.heads_not_compared, 0U);

  // A secret that differs is seen, though neither recording holds it.
  all[7].request->body = "password=hunter3";
  all[9].request->fields[0].value = "sid=c00kiE";
  write("b.db", all, {}, one_key);
  const Reconciliation differing = reconciled();
  EXPECT_EQ(differing.differing, 2U);
  EXPECT_EQ(differing.differences[static_cast<std::size_t>(Difference::request_body)], 1U);
  EXPECT_EQ(differing.differences[static_cast<std::size_t>(Difference::request_head)], 1U);

  // Other rules hide something else: that is no difference of the traffic.
  RecordingOptions other_rules = one_key;
  other_rules.redaction.fields = {"content-type"};
  write("b.db", all, {}, other_rules);
  EXPECT_EQ(reconciled().heads_not_compared, 30U);
  EXPECT_TRUE(reconciled().equal());
}

TEST_F(ReconcileTest, HeadsAreComparedOnOneConnectionOnly) {
  std::vector<RecordedExchange> all = shop();
  write("a.db", all);
  all[2].request->fields.push_back({"Via", "1.1 front"});
  all[4].response->fields.push_back({"Age", "7"});
  write("b.db", all);
  const Reconciliation same = reconciled();
  EXPECT_EQ(same.differences[static_cast<std::size_t>(Difference::request_head)], 1U);
  EXPECT_EQ(same.differences[static_cast<std::size_t>(Difference::answer_head)], 1U);
  EXPECT_THAT(render(same), HasSubstr("request_head: 1"));
  // Elsewhere a proxy may have been in between.
  for (RecordedExchange& one : all)
    one.client = "10.9.9.9:1";
  write("b.db", all);
  EXPECT_EQ(reconciled().matched, 30U);
  EXPECT_EQ(reconciled().differing, 0U);
}

TEST_F(ReconcileTest, PortsNarrowBothAndServersThatTheOtherNeverNamesAreSaid) {
  std::vector<RecordedExchange> legs = shop();
  for (RecordedExchange& one : shop()) {
    one.connection += 10;
    one.client = "10.0.0.2:" + std::to_string(7000 + one.connection);
    one.server = "10.0.0.3:9001";
    one.request->target += "?upstream";
    legs.push_back(one);
  }
  write("a.db", legs);
  write("b.db", shop());
  const Reconciliation all = reconciled();
  EXPECT_EQ(all.a.only, 30U);
  EXPECT_EQ(all.a.only_elsewhere, 30U);
  ReconcileOptions options;
  options.ports = {80};
  EXPECT_TRUE(reconciled(options).equal());
}

TEST_F(ReconcileTest, TheCommandPrintsBothFiguresAndTheLedgersLosses) {
  std::vector<RecordedExchange> rest = shop();
  rest.erase(rest.begin() + 4);
  write("a.db", shop());
  write("b.db", rest, {{"kernel drops", 12, 0, ""}, {"packets", 500, 9000, ""}});
  EXPECT_EQ(run({"reconcile", path("a.db"), path("b.db")}), 1);
  EXPECT_THAT(out, HasSubstr("A holds 100.0000 % of B: 29 of 29"));
  EXPECT_THAT(out, HasSubstr("B holds 96.6666 % of A: 29 of 30"));
  EXPECT_THAT(out, HasSubstr("#5 GET /item/0"));
  EXPECT_THAT(out, HasSubstr("kernel drops: 12"));
  EXPECT_THAT(out, ::testing::Not(HasSubstr("packets: 500")));
  EXPECT_EQ(run({"reconcile", path("a.db"), path("a.db")}), 0);
  EXPECT_EQ(run({"reconcile", path("a.db"), path("a.db"), "--by", "x-nowhere"}), 0);
  EXPECT_THAT(err, HasSubstr("a.db has the field 'x-nowhere' that --by names"));
  EXPECT_EQ(run({"reconcile", path("a.db"), path("b.db"), "--json"}), 1);
  const auto json = nlohmann::json::parse(out);
  EXPECT_EQ(json["matched"], 29);
  EXPECT_EQ(json["a"]["only_here"], 1);
  EXPECT_EQ(json["a"]["first_only_here"][0]["target"], "/item/0");
  EXPECT_EQ(json["b"]["losses"][0]["what"], "kernel drops");
  EXPECT_EQ(json["equal"], false);
}

TEST_F(ReconcileTest, RecordingsOfDifferentTrafficAreNoEvidence) {
  write("a.db", shop());
  write("b.db", {});
  EXPECT_EQ(run({"reconcile", path("a.db"), path("b.db")}), 4);
  EXPECT_THAT(err, HasSubstr("nothing to compare"));
  RecordedExchange other = exchange(9, 0, "/else");
  write("b.db", {other});
  EXPECT_EQ(run({"reconcile", path("a.db"), path("b.db")}), 4);
  EXPECT_THAT(err, HasSubstr("are they of the same traffic?"));
  EXPECT_EQ(run({"reconcile", path("a.db"), path("none.db")}), 3);
  EXPECT_EQ(run({"reconcile", path("a.db")}), 2);
}

}  // namespace
}  // namespace gatedrill::replay
