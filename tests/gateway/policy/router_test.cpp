#include "gateway/policy/router.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace gatedrill::gateway {
namespace {

RouteConfig route(std::string host, std::string prefix) {
  RouteConfig config;
  config.match = {std::move(host), std::move(prefix), ""};
  return config;
}

TEST(Router, TheLongestPrefixWinsWhateverTheOrder) {
  const Router router({route("", "/"), route("", "/order"), route("", "/order/api")});
  EXPECT_EQ(router.match("h", "/"), 0U);
  EXPECT_EQ(router.match("h", "/cart"), 0U);
  EXPECT_EQ(router.match("h", "/order/1"), 1U);
  EXPECT_EQ(router.match("h", "/orders"), 1U) << "a prefix is plain text";
  EXPECT_EQ(router.match("h", "/order/api/x"), 2U);
}

TEST(Router, AnExactHostComesBeforeAnyHost) {
  const Router router({route("", "/order/api"), route("shop", "/"), route("", "/")});
  EXPECT_EQ(router.match("shop", "/order/api"), 1U);
  EXPECT_EQ(router.match("other", "/order/api"), 0U);
}

TEST(Router, AHostWithoutAMatchingPrefixFallsToAnyHost) {
  const Router router({route("shop", "/a"), route("", "/")});
  EXPECT_EQ(router.match("shop", "/b"), 1U);
}

TEST(Router, HostsCompareWithoutCaseAndPort) {
  const Router router({route("Shop.Example", "/"), route("[::1]", "/")});
  EXPECT_EQ(router.match("shop.example", "/"), 0U);
  EXPECT_EQ(router.match("SHOP.EXAMPLE:8080", "/"), 0U);
  EXPECT_EQ(router.match("[::1]", "/"), 1U);
  EXPECT_EQ(router.match("[::1]:8080", "/"), 1U);
  EXPECT_EQ(router.match("shop", "/"), std::nullopt);
}

TEST(Router, EqualsMatchInTheOrderOfTheConfiguration) {
  const Router router({route("", "/a"), route("", "/a")});
  EXPECT_EQ(router.match("h", "/a"), 0U);
}

TEST(Router, NothingMatchesIsNoRoute) {
  const Router router({route("", "/a")});
  EXPECT_EQ(router.match("h", "/"), std::nullopt);
  EXPECT_EQ(router.match("h", "*"), std::nullopt);
  EXPECT_EQ(Router({}).match("h", "/"), std::nullopt);
}

TEST(Router, ARouteWithoutANameIsKnownByItsMatch) {
  EXPECT_EQ(route_name(route("shop", "/a")), "shop/a");
  RouteConfig named = route("shop", "/a");
  named.name = "order";
  EXPECT_EQ(route_name(named), "order");
}

TEST(Router, ARouteForAConnectTakesItsTargetAndNothingElse) {
  std::vector<RouteConfig> routes(2);
  routes[0].match.connect = "db.internal:5432";
  routes[1].match.path_prefix = "/shop";
  const Router router(routes);
  EXPECT_EQ(router.match_connect("DB.internal:5432"), 0U);
  EXPECT_EQ(router.match_connect("db.internal:5433"), std::nullopt);
  EXPECT_EQ(router.match_connect("db.internal"), std::nullopt);
  EXPECT_EQ(router.match("db.internal:5432", "/"), std::nullopt);
  EXPECT_EQ(router.match("any", "/shop"), 1U);
}

}  // namespace
}  // namespace gatedrill::gateway
