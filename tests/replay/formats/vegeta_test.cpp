// Targets as vegeta's reader takes them.
#include "replay/formats/vegeta.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/imported.hpp"
#include "tests/support/recorded.hpp"

namespace gatedrill::replay::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Vegeta, ATargetIsALineWithItsBodyInBase64) {
  RecordedExchange one = testing::recorded(1, Duration{0}, 1, "/a?b");
  one.server = "10.0.0.2:443";
  one.request->method = "POST";
  one.request->body = "\xFF";
  one.request->fields = {
      {"Host", "shop"}, {"X-A", "1"}, {"X-A", "2"}, {"Content-Length", "1"}, {"X-L", "\xE9"}};
  tests::Exported exported;
  tests::export_exchanges(exported, vegeta_format(), {one});
  EXPECT_EQ(nlohmann::json::parse(exported.text), nlohmann::json::parse(R"({
    "method": "POST", "url": "https://shop/a?b", "body": "/w==",
    "header": {"Host": ["shop"], "X-A": ["1", "2"]}})"));
  EXPECT_THAT(exported.notes, ElementsAre(HasSubstr("not UTF-8")));
}

TEST(Vegeta, WhatCannotBeATargetIsLeftOutAndSaid) {
  RecordedExchange half = testing::recorded(1, Duration{0});
  half.request->complete = false;
  RecordedExchange dropped = testing::recorded(3, Duration{2});
  dropped.request->body_dropped = true;
  RecordedExchange star = testing::recorded(2, Duration{1}, 1, "*");
  tests::Exported exported;
  tests::export_exchanges(exported, vegeta_format(), {half, star, dropped});
  EXPECT_EQ(exported.text, "");
  EXPECT_THAT(exported.notes,
              ElementsAre("2 exchanges left out: the request is not whole: exchange 1 3",
                          "1 exchanges left out: a target that is no path: exchange 2"));
}

}  // namespace
}  // namespace gatedrill::replay::formats
