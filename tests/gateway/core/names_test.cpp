#include <array>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/core/names.hpp"

namespace gatedrill {
namespace {

TEST(Names, TheSameTextHasTheSameId) {
  const NameId id = intern("names test: shop");
  EXPECT_EQ(intern(std::string("names test: ") + "shop"), id);
  EXPECT_EQ(name_of(id), "names test: shop");
  EXPECT_NE(intern("names test: cart"), id);
}

TEST(Names, TheEmptyNameIsZero) {
  EXPECT_EQ(intern(""), NameId{});
  EXPECT_FALSE(static_cast<bool>(NameId{}));
  EXPECT_EQ(name_of(NameId{}), "");
}

TEST(Names, AnIdOutlivesTheTextItWasMadeFrom) {
  NameId id;
  {
    std::string text = "names test: short-lived";
    id = intern(text);
    text.assign(text.size(), '#');
  }
  EXPECT_EQ(name_of(id), "names test: short-lived");
}

TEST(Names, ThreadsThatInternTheSameTextsAgreeOnTheIds) {
  constexpr std::size_t kNames = 500;
  std::array<std::vector<NameId>, 4> seen;
  std::vector<std::thread> threads;
  threads.reserve(seen.size());
  for (std::vector<NameId>& ids : seen) {
    threads.emplace_back([&ids] {
      for (std::size_t i = 0; i < kNames; ++i) {
        const std::string text = "names test: shared " + std::to_string(i);
        ids.push_back(i % 2 == 0 ? intern(text) : intern_untrusted(text));
        if (name_of(ids.back()) != text) ids.back() = NameId{};
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  for (const std::vector<NameId>& ids : seen) {
    EXPECT_EQ(ids, seen[0]);
    for (const NameId id : ids)
      EXPECT_TRUE(static_cast<bool>(id));
  }
}

// The last test of the file in effect: it fills the process's table.
TEST(NamesFull, LongHostileNamesCannotFillTheMemory) {
  const NameId known = intern_untrusted("names test: known before");
  const std::string padding(8000, 'x');
  std::size_t kept_bytes = 0;
  for (int i = 0; i < 20'000; ++i) {  // 160 MB if all were kept
    const std::string text = padding + std::to_string(i);
    if (name_of(intern_untrusted(text)) == text) kept_bytes += text.size();
  }
  EXPECT_LE(kept_bytes, std::size_t{65} << 20U);
  EXPECT_TRUE(name_of(intern_untrusted(padding + "one more")) == "(other)");
  EXPECT_EQ(intern_untrusted("names test: known before"), known) << "known names stay known";
  EXPECT_EQ(name_of(intern("names test: from the configuration")),
            "names test: from the configuration");
}

}  // namespace
}  // namespace gatedrill
