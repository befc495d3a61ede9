#include "reports/render.hpp"

#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "reports/run_report.hpp"
#include "tests/reports/run_maker.hpp"
#include "tests/reports/sample_run.hpp"

namespace gatedrill::reports {
namespace {

const RunReport& sample() {
  static const RunReport kReport = [] {
    const TemporaryFolder folder;
    make_sample_run(folder.file("run.db"));
    return read_report(folder.file("run.db")).value();
  }();
  return kReport;
}

int times_in(const std::string& text, std::string_view part) {
  int times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++times;
  }
  return times;
}

// A run in which every text that a stranger may choose is hostile.
RunReport hostile() {
  RunMaker run;
  const std::string evil = "</script><script>alert(1)</script>\"'&|\x01\xff";
  run.store().set_run("name", evil);
  run.store().set_run("note", evil);
  run.request({.gateway = evil, .method = evil, .path = evil, .route = evil});
  run.publish(evil, FaultWindow{at_ms(0), at_ms(1), intern(evil), intern(evil), intern(evil)});
  run.publish(evil, Transition{at_ms(0), Transition::Kind::breaker, intern(evil), intern(evil),
                               intern(evil), intern(evil)});
  run.publish(evil, Dropped{intern(evil), intern(evil), 1});
  const std::string path = run.finish();
  const std::vector<Expectation> expectations{{evil, "count() == 2", {evil}}};
  EXPECT_TRUE(judge(path, expectations));
  return read_report(path).value();
}

TEST(RunReport, AddsUpToTheExactCounters) {
  const RunReport& report = sample();
  ASSERT_EQ(report.gateways.size(), 4U);
  EXPECT_EQ(report.gateways[0].name, "as_was") << "in the scenario's order";
  EXPECT_EQ(report.gateways[3].name, "nginx_as_was");
  EXPECT_FALSE(report.gateways[3].ours);
  for (const GatewayReport& gateway : report.gateways) {
    EXPECT_EQ(gateway.requests, 1500);
    std::int64_t total = 0;
    for (const OutcomeSeries& series : gateway.outcomes) {
      EXPECT_EQ(
          std::accumulate(series.per_second.begin(), series.per_second.end(), std::int64_t{0}),
          series.requests);
      total += series.requests;
    }
    EXPECT_EQ(total, gateway.requests);
    EXPECT_EQ(gateway.latency_per_second.size(), report.gateways[0].latency_per_second.size());
  }
}

TEST(RenderText, PutsTheVerdictFirstAndWhatDidNotHoldBeforeWhatDid) {
  const std::string text = render_text(sample(), TextStyle{});
  EXPECT_TRUE(text.starts_with(
      "FAILED  inc-1-rolling-upgrade: 1 of 20 expectations did not hold, 1 had no data\n"))
      << text;
  EXPECT_LT(text.find("FAILED   answered_as_recorded"), text.find("held  "));
  EXPECT_NE(text.find("504 response_timeout"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no colours unless they are asked for";
  EXPECT_NE(render_text(sample(), TextStyle{.color = true}).find('\x1b'), std::string::npos);
}

TEST(RenderJson, IsOneDocumentWithTheTimelines) {
  const RunReport& report = sample();
  const auto document = nlohmann::json::parse(render_json({&report, 1}));
  EXPECT_EQ(document["schema"], 1);
  const auto& run = document["runs"][0];
  EXPECT_EQ(run["exit_status"], 1);
  EXPECT_EQ(run["gateways"][0]["requests"], 1500);
  EXPECT_EQ(run["gateways"][0]["latency_per_second"]["p99_ms"].size(),
            report.gateways[0].latency_per_second.size());
  EXPECT_EQ(run["verdicts"].size(), 20U);
  EXPECT_EQ(run["phases"][0]["name"], "outage");
}

TEST(RenderHtml, IsOnePageThatNeedsNoNetwork) {
  const RunReport& report = sample();
  const std::string page = render_html({&report, 1});
  EXPECT_EQ(times_in(page, "<script"), 2);
  EXPECT_EQ(times_in(page, " src="), 0);
  EXPECT_EQ(times_in(page, "<link"), 0);
  EXPECT_EQ(times_in(page, "url("), 0);
  EXPECT_EQ(times_in(page, "@import"), 0);
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(page.find("uPlot"), std::string::npos);
  EXPECT_NE(page.find("Permission is hereby granted"), std::string::npos)
      << "the library's licence";
  for (const char* mark : {"@title@", "@styles@", "@text@", "@document@", "@scripts@"}) {
    EXPECT_EQ(page.find(mark), std::string::npos) << mark;
  }
}

TEST(RenderHtml, LetsNoTextOutOfItsPlace) {
  const RunReport report = hostile();
  const std::string page = render_html({&report, 1});
  EXPECT_EQ(times_in(page, "<script>alert"), 0);
  EXPECT_EQ(times_in(page, "<script"), 2);
  EXPECT_EQ(times_in(page, "</script"), 2);
}

TEST(RenderJson, StaysWellFormedWhateverTheTexts) {
  const RunReport report = hostile();
  EXPECT_TRUE(nlohmann::json::accept(render_json({&report, 1})));
}

TEST(RenderJunit, HasACaseForEachVerdictAndOneForTheRun) {
  const RunReport& report = sample();
  const std::string xml = render_junit({&report, 1});
  EXPECT_EQ(times_in(xml, "<testcase "), 21);
  EXPECT_EQ(times_in(xml, "<failure "), 2);
  EXPECT_NE(xml.find("tests=\"21\" failures=\"2\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("name=\"the run is valid evidence\"/>"), std::string::npos);
}

TEST(RenderJunit, EscapesTextsAndLeavesOutWhatXmlCannotHold) {
  const RunReport report = hostile();
  const std::string xml = render_junit({&report, 1});
  EXPECT_EQ(times_in(xml, "<script"), 0);
  EXPECT_EQ(xml.find('\x01'), std::string::npos);
  EXPECT_EQ(xml.find('\xff'), std::string::npos);
}

TEST(RenderMarkdown, KeepsATableATable) {
  const RunReport report = hostile();
  const std::string markdown = render_markdown({&report, 1});
  EXPECT_EQ(markdown.find("<script"), std::string::npos);
  EXPECT_NE(markdown.find("\\|"), std::string::npos);
}

TEST(Headline, CountsWhatDidNotHoldAndWhatHadNoData) {
  const auto verdict = [](std::optional<bool> passed) {
    Verdict made;
    made.passed = passed;
    return made;
  };
  Judgement judgement;
  EXPECT_EQ(headline(judgement), "nothing was expected");
  judgement.verdicts = {verdict(true)};
  EXPECT_EQ(headline(judgement), "the one expectation held");
  judgement.verdicts = {verdict(true), verdict(true)};
  EXPECT_EQ(headline(judgement), "all 2 expectations held");
  judgement.verdicts = {verdict(true), verdict(std::nullopt)};
  EXPECT_EQ(headline(judgement), "1 of 2 expectations had no data");
  judgement.verdicts = {verdict(false), verdict(std::nullopt)};
  EXPECT_EQ(headline(judgement), "1 of 2 expectations did not hold, 1 had no data");
}

}  // namespace
}  // namespace gatedrill::reports
