#include "scenarios/origin/dependency.hpp"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::scenarios {
namespace {

using namespace std::chrono_literals;

Dependency config_service(std::uint64_t seed = 1) {
  return {"config",
          {{"normal", Distribution::fixed(40ms)}, {"slow", Distribution::uniform(1s, 3s)}},
          seed};
}

TEST(Dependency, IsAsSlowAsItsModeAtTheTimeOfTheCall) {
  Dependency dependency = config_service();
  chaos::RequestSight request;
  request.request_id = "r-1";
  EXPECT_EQ(dependency.mode(), "normal");
  EXPECT_EQ(dependency.call(request), 40ms);
  ASSERT_TRUE(dependency.switch_to("slow"));
  EXPECT_GE(dependency.call(request), 1s);
  EXPECT_EQ(dependency.call(request), dependency.call(request))
      << "the same request, the same time";
  request.attempt = 2;
  const Duration again = dependency.call(request);
  request.attempt = 1;
  EXPECT_NE(dependency.call(request), again) << "a retry is another call";
}

TEST(Dependency, NamesTheModesItHas) {
  Dependency dependency = config_service();
  const auto switched = dependency.switch_to("broken");
  ASSERT_FALSE(switched);
  EXPECT_EQ(switched.error().message,
            "dependency 'config' has no mode 'broken'; it has: normal, slow");
}

TEST(Dependency, DrawsByItsSeed) {
  Dependency one = config_service(1);
  Dependency two = config_service(2);
  ASSERT_TRUE(one.switch_to("slow"));
  ASSERT_TRUE(two.switch_to("slow"));
  chaos::RequestSight request;
  request.request_id = "r-1";
  EXPECT_NE(one.call(request), two.call(request));
}

}  // namespace
}  // namespace gatedrill::scenarios
