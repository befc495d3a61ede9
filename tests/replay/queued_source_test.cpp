#include "replay/capture/queued_source.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gatedrill::replay::capture {
namespace {

using Next = PacketSource::Next;

// Gives what a test's function says.
class ScriptedSource final : public PacketSource {
 public:
  using Script = std::function<Result<Next>(Packet&)>;

  explicit ScriptedSource(Script script, Drops drops = {})
      : script_(std::move(script)), drops_(drops) {}

  Result<Next> next(Packet& packet) override { return script_(packet); }

  [[nodiscard]] Drops drops() const override { return drops_; }

 private:
  Script script_;
  Drops drops_;
};

// Packets of one source, one each step of time, then its end.
ScriptedSource::Script packets(int link_type, int count, std::size_t bytes = 10) {
  return [=, given = 0, buffer = std::string()](Packet& packet) mutable -> Result<Next> {
    if (given == count) return Next::end;
    buffer.assign(bytes, static_cast<char>('a' + given % 26));
    packet = {{++given}, buffer, bytes + 5, link_type};
    return Next::packet;
  };
}

std::vector<std::unique_ptr<PacketSource>> sources(std::vector<ScriptedSource::Script> scripts) {
  std::vector<std::unique_ptr<PacketSource>> all;
  for (auto& script : scripts)
    all.push_back(std::make_unique<ScriptedSource>(std::move(script)));
  return all;
}

TEST(QueuedSource, EveryPacketOfEverySourceComesOutAsItWasAndInItsOrder) {
  constexpr int kPackets = 5000;
  QueuedSource source(sources({packets(1, kPackets), packets(276, kPackets)}), 8U << 20U);
  std::int64_t last[2] = {0, 0};
  int count = 0;
  Packet packet;
  for (Next next = Next::quiet; (next = source.next(packet).value()) != Next::end;) {
    if (next == Next::quiet) continue;
    ++count;
    std::int64_t& its_last = last[packet.link_type == 1 ? 0 : 1];
    ASSERT_EQ(packet.at.ns, its_last + 1);
    its_last = packet.at.ns;
    ASSERT_EQ(packet.bytes, std::string(10, static_cast<char>('a' + (packet.at.ns - 1) % 26)));
    ASSERT_EQ(packet.wire_bytes, 15U);
  }
  EXPECT_EQ(count, 2 * kPackets);
  EXPECT_EQ(source.drops().queue, 0U);
}

TEST(QueuedSource, WhatFindsNoRoomIsCounted) {
  constexpr std::uint64_t kPackets = 1000;
  QueuedSource source(sources({packets(1, static_cast<int>(kPackets), 1000)}), 100'000);
  while (source.drops().queue == 0)
    std::this_thread::yield();
  Packet packet;
  std::uint64_t given = 0;
  for (Next next = Next::quiet; (next = source.next(packet).value()) != Next::end;) {
    if (next == Next::packet) ++given;
  }
  EXPECT_LT(given, kPackets);
  EXPECT_EQ(given + source.drops().queue, kPackets);
}

TEST(QueuedSource, ASourceThatBreaksOffIsNamedAndTheOthersGoOn) {
  auto broken = [](Packet&) -> Result<Next> { return outside_error("eth1: it went away"); };
  QueuedSource source(sources({broken, packets(1, 2000)}), 1U << 20U);
  Packet packet;
  int given = 0;
  for (Next next = Next::quiet; (next = source.next(packet).value()) != Next::end;) {
    if (next == Next::packet) ++given;
  }
  EXPECT_EQ(given, 2000);
  EXPECT_EQ(source.file_end().damage, "eth1: it went away");
}

TEST(QueuedSource, AfterAStopWhatWasStampedBeforeItStillComesAndNothingElse) {
  auto endless = [at = std::int64_t{0}](Packet& packet) mutable -> Result<Next> {
    packet = {{++at}, "x", 1, 1};
    if (at > 50'000) std::this_thread::yield();
    return Next::packet;
  };
  QueuedSource source(sources({endless}), 64U << 20U);
  source.stop({30'000});
  Packet packet;
  std::int64_t last = 0;
  for (Next next = Next::quiet; (next = source.next(packet).value()) != Next::end;) {
    if (next == Next::packet) last = packet.at.ns;
  }
  // Its thread may have been beyond that when it was told.
  EXPECT_GE(last, 30'000);
}

// The kernel gives packets in blocks, a while after they came.
TEST(QueuedSource, WhatTheKernelStillHeldBackAtTheStopComesToo) {
  std::atomic<bool> stopped = false;
  auto held_back = [&, call = 0](Packet& packet) mutable -> Result<Next> {
    while (!stopped)
      std::this_thread::yield();
    if (++call != 3) return Next::quiet;
    packet = {{5}, "x", 1, 1};
    return Next::packet;
  };
  QueuedSource source(sources({held_back}), 1U << 16U);
  Packet packet;
  EXPECT_EQ(source.next(packet).value(), Next::quiet);
  source.stop({10});
  stopped = true;
  int given = 0;
  for (Next next = Next::quiet; (next = source.next(packet).value()) != Next::end;) {
    if (next == Next::packet) ++given;
  }
  EXPECT_EQ(given, 1);
}

TEST(QueuedSource, DropsOfAllSourcesAreAddedUp) {
  std::vector<std::unique_ptr<PacketSource>> all;
  all.push_back(std::make_unique<ScriptedSource>(packets(1, 1), PacketSource::Drops{3, 1, 0}));
  all.push_back(std::make_unique<ScriptedSource>(packets(1, 1), PacketSource::Drops{4, 0, 0}));
  QueuedSource source(std::move(all), 1U << 16U);
  Packet packet;
  while (source.next(packet).value() != Next::end) {
  }
  EXPECT_EQ(source.drops().kernel, 7U);
  EXPECT_EQ(source.drops().interface, 1U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
