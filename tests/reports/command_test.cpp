#include "reports/command.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "reports/expectation/expectation.hpp"
#include "tests/reports/run_maker.hpp"

namespace gatedrill::reports {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ReportCommand : public testing::Test {
 protected:
  int report(ReportOptions options) {
    out_.str("");
    errors_.str("");
    return report_runs(options, out_, errors_);
  }

  int report(const std::string& path) {
    ReportOptions options;
    options.runs = {path};
    return report(options);
  }

  std::string judged(const std::string& expectation) {
    run_.request({}, 3);
    run_.finish();
    const std::vector<Expectation> expectations{{"", expectation, {"g"}}};
    EXPECT_TRUE(judge(run_.path(), expectations));
    return run_.path();
  }

  RunMaker run_;
  std::ostringstream out_;
  std::ostringstream errors_;
};

TEST_F(ReportCommand, SucceedsIfAllHeld) {
  EXPECT_EQ(report(judged("count() == 3")), 0);
  EXPECT_TRUE(out_.str().starts_with("HELD  run.db: the one expectation held\n")) << out_.str();
  EXPECT_EQ(errors_.str(), "");
}

TEST_F(ReportCommand, ExitsWithOneIfAnExpectationDidNotHold) {
  EXPECT_EQ(report(judged("count() == 4")), 1);
  EXPECT_TRUE(out_.str().starts_with("FAILED  run.db: 1 of 1 expectations did not hold\n"));
}

TEST_F(ReportCommand, ExitsWithOneIfThereIsNoData) {
  EXPECT_EQ(report(judged("missing == 0")), 1);
}

TEST_F(ReportCommand, ExitsWithFourIfTheRunIsNoEvidence) {
  run_.store().invalidate("the load generator was saturated");
  EXPECT_EQ(report(judged("count() == 3")), 4);
  EXPECT_TRUE(
      out_.str().starts_with("NOT VALID EVIDENCE  run.db\n"
                             "  the load generator was saturated\n"));
}

TEST_F(ReportCommand, ExitsWithFourIfTheRunWasNotFinished) {
  run_.request({});
  ASSERT_TRUE(run_.store().flush());
  EXPECT_EQ(report(run_.path()), 4);
  EXPECT_NE(out_.str().find("the run was not finished"), std::string::npos);
}

TEST_F(ReportCommand, WritesEveryForm) {
  ReportOptions options;
  options.runs = {judged("count() == 3")};
  options.html = run_.folder().file("r.html");
  options.json = run_.folder().file("r.json");
  options.junit = run_.folder().file("r.xml");
  options.markdown = run_.folder().file("r.md");
  EXPECT_EQ(report(options), 0);
  EXPECT_TRUE(content_of(options.html).starts_with("<!doctype html>"));
  EXPECT_TRUE(content_of(options.json).starts_with("{\n  \"schema\": 1,"));
  EXPECT_TRUE(content_of(options.junit).starts_with("<?xml"));
  EXPECT_TRUE(content_of(options.markdown).starts_with("## run.db: the one expectation held"));
  EXPECT_FALSE(std::filesystem::exists(options.html + ".partial"));
}

TEST_F(ReportCommand, PutsOneDocumentOnStandardOutput) {
  ReportOptions options;
  options.runs = {judged("count() == 3")};
  options.json = "-";
  EXPECT_EQ(report(options), 0);
  EXPECT_TRUE(out_.str().starts_with("{"));
  EXPECT_EQ(out_.str().find("HELD"), std::string::npos);
}

TEST_F(ReportCommand, RendersSeveralRunsAndExitsWithTheWorst) {
  const std::string good = judged("count() == 3");
  RunMaker other;
  other.request({});
  other.store().invalidate("too little data");
  ReportOptions options;
  options.runs = {good, other.finish()};
  EXPECT_EQ(report(options), 4);
  EXPECT_NE(out_.str().find("HELD"), std::string::npos);
  EXPECT_NE(out_.str().find("too little data"), std::string::npos);
}

TEST_F(ReportCommand, SaysInOneLineWhatIsWrongWithBadInput) {
  const std::string empty = run_.folder().file("empty.db");
  std::ofstream(empty).flush();
  const std::string text = run_.folder().file("text.db");
  std::ofstream(text) << std::string(9000, 'x');
  const std::string cut = run_.folder().file("cut.db");
  judged("count() == 3");
  std::filesystem::copy_file(run_.path(), cut);
  std::filesystem::resize_file(cut, 9000);

  struct Case {
    std::string path;
    int status;
    std::string message;
  };

  for (const Case& each : {Case{run_.folder().file("none.db"), 3, "there is no file "},
                           Case{run_.folder().path(), 2, "is a folder; name the run.db in it"},
                           Case{empty, 2, "is empty: nothing was ever recorded in it"},
                           Case{text, 2, "is not a run.db"}, Case{cut, 2, "is damaged"}}) {
    EXPECT_EQ(report(each.path), each.status) << each.path;
    EXPECT_NE(errors_.str().find(each.message), std::string::npos) << errors_.str();
    EXPECT_EQ(std::ranges::count(errors_.str(), '\n'), 1) << errors_.str();
    EXPECT_EQ(out_.str(), "");
  }
}

TEST_F(ReportCommand, ExitsWithThreeIfAFormCannotBeWritten) {
  ReportOptions options;
  options.runs = {judged("count() == 3")};
  options.html = run_.folder().file("no/such/folder/r.html");
  EXPECT_EQ(report(options), 3);
  EXPECT_EQ(errors_.str(),
            "gatedrill report: cannot write " + options.html + ": No such file or directory\n");
}

}  // namespace
}  // namespace gatedrill::reports
