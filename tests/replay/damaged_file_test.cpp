// Capture files that are damaged inside: reading goes on behind the damage, which is named, and
// nothing is recorded that was not there.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/core/random.hpp"
#include "replay/capture/packet_source.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"
#include "tests/support/pcapng_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::PcapngBuilder;

constexpr std::size_t kFileHeaderBytes = 24;
constexpr std::size_t kRecordHeaderBytes = 16;
constexpr std::int64_t kBeginNs = 1'700'000'000'000'000'000;
constexpr std::int64_t kDayNs = std::int64_t{86'400} * 1'000'000'000;

struct Read {
  std::vector<std::string> packets;
  FileEnd end;
};

Read read_all(Result<std::unique_ptr<PacketSource>> source) {
  Read read;
  EXPECT_TRUE(source) << source.error().message;
  if (!source) return read;
  for (;;) {
    Packet packet;
    const auto next = (*source)->next(packet);
    if (!next || *next == PacketSource::Next::end) break;
    if (*next == PacketSource::Next::packet) read.packets.emplace_back(packet.bytes);
  }
  read.end = (*source)->file_end();
  return read;
}

Read read_all(const std::string& bytes) {
  return read_all(open_bytes(bytes, ""));
}

std::vector<Frame> ten(std::int64_t step_ns = 1000) {
  std::vector<Frame> frames;
  for (int i = 0; i < 10; ++i)
    frames.push_back({UnixTime{kBeginNs + i * step_ns}, "packet " + std::to_string(i)});
  return frames;
}

constexpr std::size_t kTenBytes = kRecordHeaderBytes + 8;  // of each of them

std::size_t place_of(std::size_t record) {
  return kFileHeaderBytes + record * kTenBytes;
}

std::vector<std::string> all_but(const std::set<int>& lost) {
  std::vector<std::string> packets;
  for (int i = 0; i < 10; ++i) {
    if (!lost.contains(i)) packets.push_back("packet " + std::to_string(i));
  }
  return packets;
}

void put(std::string& bytes, std::size_t at, std::uint32_t word) {
  bytes.replace(at, 4, PcapngBuilder().u32(word));
}

TEST(DamagedPcap, ALengthThatCannotBeLosesItsPacketOnly) {
  for (const std::uint32_t length : {0xffffffffU, 400'000U, 5000U, 60U, 24U, 9U}) {
    std::string bytes = tests::pcap_file(ten());
    put(bytes, place_of(4) + 8, length);
    const Read read = read_all(bytes);
    EXPECT_THAT(read.packets, ElementsAreArray(all_but({4}))) << length;
    EXPECT_EQ(read.end.damaged_places, 1U) << length;
    EXPECT_EQ(read.end.damaged_bytes, kTenBytes) << length;
    EXPECT_EQ(read.end.damages.at(0).at, place_of(4)) << length;
    EXPECT_EQ(read.end.damages.at(0).after, UnixTime{kBeginNs + 3000});
    EXPECT_EQ(read.end.cut_bytes, 0U);
    EXPECT_THAT(read.end.damage, IsEmpty());
  }
}

TEST(DamagedPcap, ALengthThatIsTooSmallLeavesACutPacketAndTheRestIsNamed) {
  std::string bytes = tests::pcap_file(ten());
  put(bytes, place_of(4) + 8, 3);
  const Read read = read_all(bytes);
  std::vector<std::string> expected = all_but({});
  expected[4] = "pac";
  EXPECT_THAT(read.packets, ElementsAreArray(expected));
  EXPECT_EQ(read.end.damaged_bytes, 5U);
  EXPECT_EQ(read.end.damages.at(0).at, place_of(5) - 5);
}

TEST(DamagedPcap, ATimeThatIsFarFromThoseBesideItLosesItsPacketOnly) {
  std::string bytes = tests::pcap_file(ten());
  put(bytes, place_of(4), 0x80000000);
  const Read read = read_all(bytes);
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({4})));
  EXPECT_THAT(read.end.places(), HasSubstr("a packet whose time is far from those beside it"));
  EXPECT_EQ(read.end.damaged_bytes, kTenBytes);
}

TEST(DamagedPcap, TimesMayJump) {
  std::vector<Frame> frames = ten();
  for (std::size_t i = 4; i < frames.size(); ++i)
    frames[i].at.ns += 400 * kDayNs;
  frames.back().at.ns += 400 * kDayNs;
  const Read read = read_all(tests::pcap_file(frames));
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({})));
  EXPECT_EQ(read.end.damaged_places, 0U);
}

TEST(DamagedPcap, MissingBytesAreNamedWithTheirPlace) {
  for (std::size_t missing = 1; missing < 3 * kTenBytes; ++missing) {
    SCOPED_TRACE(missing);
    std::string bytes = tests::pcap_file(ten());
    bytes.erase(place_of(3), missing);
    const Read read = read_all(bytes);
    const std::size_t whole = missing / kTenBytes;  // records that are gone without a trace
    const std::size_t rest = missing % kTenBytes == 0 ? 0 : kTenBytes - missing % kTenBytes;
    EXPECT_EQ(read.end.damaged_bytes, rest);
    std::vector<std::string> expected = all_but({});
    expected.erase(expected.begin() + 3,
                   expected.begin() + 3 + static_cast<std::ptrdiff_t>(whole + (rest > 0 ? 1 : 0)));
    EXPECT_THAT(read.packets, ElementsAreArray(expected));
    EXPECT_EQ(read.end.cut_bytes, 0U);
  }
}

TEST(DamagedPcap, TheLastPacketsAreFoundToo) {
  std::string bytes = tests::pcap_file(ten());
  put(bytes, place_of(8) + 8, 0x7fffffff);
  const Read one_left = read_all(bytes);
  EXPECT_THAT(one_left.packets, ElementsAreArray(all_but({8})));
  EXPECT_EQ(one_left.end.damaged_bytes, kTenBytes);
  // The last one breaks off in addition: then its header is all there is, which is not enough.
  const Read broken_off = read_all(bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(broken_off.packets, ElementsAreArray(all_but({8, 9})));
  EXPECT_EQ(broken_off.end.cut_bytes, 2 * kTenBytes - 1);
  EXPECT_THAT(broken_off.end.damage, HasSubstr("a packet of 2147483647 bytes is longer than any"));
}

TEST(DamagedPcap, ALengthBeyondTheEndOfTheFileIsNotItsEnd) {
  std::string bytes = tests::pcap_file(ten());
  put(bytes, place_of(4) + 8, 200'000);
  const Read read = read_all(bytes);
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({4})));
  EXPECT_THAT(read.end.places(), HasSubstr("reaches beyond the end of the file"));
}

TEST(DamagedPcap, ACaptureInsideOfAPacketIsNotTakenForTheFileItself) {
  std::vector<Frame> old = ten();
  for (Frame& frame : old)
    frame.at.ns -= 1000 * kDayNs;
  std::vector<Frame> frames = ten();
  frames[4].bytes = tests::pcap_file(old);
  std::string bytes = tests::pcap_file(frames);
  put(bytes, place_of(4) + 8, 0xffffffff);
  const Read read = read_all(bytes);
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({4})));
  EXPECT_EQ(read.end.damaged_bytes, kRecordHeaderBytes + frames[4].bytes.size());
}

TEST(DamagedPcap, TwoFilesInARowAreReadAsOne) {
  std::vector<Frame> later = ten();
  for (Frame& frame : later)
    frame.at.ns += kDayNs;
  const Read read = read_all(tests::pcap_file(ten()) + tests::pcap_file(later));
  EXPECT_EQ(read.packets.size(), 20U);
  EXPECT_EQ(read.end.damaged_bytes, 0U);
}

TEST(DamagedPcap, APipeGoesOnToo) {
  const std::string path = ::testing::TempDir() + "damaged-" + std::to_string(getpid()) + ".pcap";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::string bytes = tests::pcap_file(ten());
  put(bytes, place_of(4) + 8, 0xffffffff);
  std::thread writer([&] {
    std::FILE* pipe = std::fopen(path.c_str(), "wb");
    for (const char byte : bytes) {
      std::fputc(byte, pipe);
      std::fflush(pipe);
    }
    std::fclose(pipe);
  });
  const Read read = read_all(open_file(path, ""));
  writer.join();
  std::filesystem::remove(path);
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({4})));
  EXPECT_EQ(read.end.damaged_bytes, kTenBytes);
}

TEST(DamagedPcap, OnlyTheFirstPlacesAreKept) {
  std::vector<Frame> frames;
  for (int i = 0; i < 300; ++i)
    frames.push_back({UnixTime{kBeginNs + i}, "12345678"});
  std::string bytes = tests::pcap_file(frames);
  for (std::size_t i = 5; i < 300; i += 10)
    put(bytes, place_of(i) + 8, 0xffffffff);
  const Read read = read_all(bytes);
  EXPECT_EQ(read.packets.size(), 270U);
  EXPECT_EQ(read.end.damaged_places, 30U);
  EXPECT_EQ(read.end.damaged_bytes, 30 * kTenBytes);
  EXPECT_EQ(read.end.damages.size(), FileEnd::kDamagesKept);
  EXPECT_THAT(read.end.places(), ::testing::EndsWith(", ..."));
}

PcapngBuilder ten_in_blocks() {
  PcapngBuilder file;
  file.section();
  file.interface(1);
  for (int i = 0; i < 10; ++i)
    file.packet(0, static_cast<std::uint64_t>(kBeginNs / 1000 + i), "packet " + std::to_string(i));
  return file;
}

constexpr std::size_t kBlockBytes = 40;  // of each packet

std::size_t block_of(std::size_t packet) {
  return 28 + 20 + packet * kBlockBytes;
}

TEST(DamagedPcapng, ABlockWhoseLengthsDifferLosesItsPacketOnly) {
  for (const std::uint32_t length : {0U, 36U, 41U, 44U, 80U, 100'000U, 0x7ffffff0U}) {
    for (const std::size_t end : {std::size_t{4}, kBlockBytes - 4}) {
      std::string bytes = ten_in_blocks().bytes();
      put(bytes, block_of(4) + end, length);
      const Read read = read_all(bytes);
      EXPECT_THAT(read.packets, ElementsAreArray(all_but({4}))) << length;
      EXPECT_EQ(read.end.damaged_bytes, kBlockBytes) << length;
      EXPECT_EQ(read.end.damages.at(0).at, block_of(4)) << length;
      EXPECT_EQ(read.end.cut_bytes, 0U);
    }
  }
}

TEST(DamagedPcapng, ABlockThatIsWrongInsideIsPassedOver) {
  std::string bytes = ten_in_blocks().bytes();
  put(bytes, block_of(4) + 20, 5000);
  const Read read = read_all(bytes);
  EXPECT_THAT(read.packets, ElementsAreArray(all_but({4})));
  EXPECT_EQ(read.end.places(), "byte " + std::to_string(block_of(4)) +
                                   ": a packet longer than its block (40 bytes skipped)");
}

TEST(DamagedPcapng, MissingBytesAreNamedWithTheirPlace) {
  for (std::size_t missing = 1; missing < 2 * kBlockBytes; ++missing) {
    std::string bytes = ten_in_blocks().bytes();
    bytes.erase(block_of(3), missing);
    const Read read = read_all(bytes);
    const std::size_t rest = missing % kBlockBytes == 0 ? 0 : kBlockBytes - missing % kBlockBytes;
    EXPECT_EQ(read.end.damaged_bytes, rest) << missing;
    EXPECT_THAT(read.packets,
                ElementsAreArray(missing <= kBlockBytes ? all_but({3}) : all_but({3, 4})))
        << missing;
  }
}

TEST(DamagedPcapng, BehindADamagedSectionTheNextOneIsLookedFor) {
  PcapngBuilder file = ten_in_blocks();
  const std::size_t second = file.bytes().size();
  file.section();
  file.interface(101);
  file.packet(0, static_cast<std::uint64_t>(kBeginNs / 1000), "of the lost section");
  file.section();
  file.interface(101);
  file.packet(0, static_cast<std::uint64_t>(kBeginNs / 1000), "of the third");
  std::string bytes = file.bytes();
  put(bytes, second + 8, 0);
  const Read read = read_all(bytes);
  std::vector<std::string> expected = all_but({});
  expected.emplace_back("of the third");
  EXPECT_THAT(read.packets, ElementsAreArray(expected));
  EXPECT_EQ(read.end.damages.at(0).at, second);
}

// Which number the interface has is not known where one before it may be lost.
TEST(DamagedPcapng, WhatIsWhoseIsNotGuessed) {
  PcapngBuilder file;
  file.section();
  file.interface(113);
  file.interface(1);
  file.packet(0, static_cast<std::uint64_t>(kBeginNs / 1000), "of the lost interface");
  file.packet(1, static_cast<std::uint64_t>(kBeginNs / 1000), "of the second");
  std::string bytes = file.bytes();
  put(bytes, 28 + 4, 21);
  auto source = open_bytes(bytes, "");
  ASSERT_TRUE(source);
  Packet packet;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(*(*source)->next(packet), PacketSource::Next::packet);
    EXPECT_EQ(packet.link_type, kNoLinkType);
  }
}

// The one behind the lost one is like the first, but not like all.
TEST(DamagedPcapng, WhatIsWhoseIsNotGuessedByTheFirstInterface) {
  PcapngBuilder file;
  file.section();
  for (const unsigned link_type : {1U, 101U, 101U, 1U})
    file.interface(link_type);
  file.packet(2, static_cast<std::uint64_t>(kBeginNs / 1000), "of the lost interface");
  std::string bytes = file.bytes();
  constexpr std::size_t kSectionBytes = 28;
  constexpr std::size_t kInterfaceBytes = 20;
  put(bytes, kSectionBytes + 2 * kInterfaceBytes + 4, 21);
  auto source = open_bytes(bytes, "");
  ASSERT_TRUE(source);
  Packet packet;
  ASSERT_EQ(*(*source)->next(packet), PacketSource::Next::packet);
  EXPECT_EQ(packet.link_type, kNoLinkType);
}

// Sixty exchanges, each on a connection of its own.
std::vector<Frame> exchanges() {
  std::vector<Frame> frames;
  for (int i = 0; i < 60; ++i) {
    Conversation talk({.client_port = static_cast<std::uint16_t>(20'000 + i),
                       .begin = UnixTime{kBeginNs + std::int64_t{i} * 50'000'000}});
    talk.handshake();
    talk.client("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: shop\r\n\r\n");
    talk.server("HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n" +
                std::string(40, static_cast<char>('a' + i % 26)));
    talk.close();
    frames.insert(frames.end(), talk.frames().begin(), talk.frames().end());
  }
  return frames;
}

// Where each frame's record begins, and the end of the file.
struct Layout {
  std::string bytes;
  std::vector<std::size_t> places;
};

Layout as_pcap(const std::vector<Frame>& frames) {
  Layout layout;
  layout.bytes = tests::pcap_file(frames);
  std::size_t place = kFileHeaderBytes;
  for (const Frame& frame : frames) {
    layout.places.push_back(place);
    place += kRecordHeaderBytes + frame.bytes.size();
  }
  layout.places.push_back(place);
  return layout;
}

Layout as_pcapng(const std::vector<Frame>& frames) {
  PcapngBuilder file;
  file.section();
  file.interface(1);
  Layout layout;
  for (const Frame& frame : frames) {
    layout.places.push_back(file.bytes().size());
    file.packet(0, static_cast<std::uint64_t>(frame.at.ns / 1000), frame.bytes);
  }
  layout.places.push_back(file.bytes().size());
  layout.bytes = file.bytes();
  return layout;
}

std::string text_of(const RecordedExchange& exchange) {
  Captured one;
  one.exchanges.push_back(exchange);
  return exchange.client + " " + one.text();
}

class DamageAnywhere
    : public ::testing::TestWithParam<std::function<Layout(const std::vector<Frame>&)>> {};

TEST_P(DamageAnywhere, LeavesWhatIsBeforeAndBehindAndInventsNothing) {
  const std::vector<Frame> frames = exchanges();
  const Layout layout = GetParam()(frames);
  std::set<std::string> originals;
  const auto capture = [](const std::string& bytes, Captured& all) {
    auto source = open_bytes(bytes, "");
    ASSERT_TRUE(source);
    Capture into({}, all);
    Packet packet;
    while (*(*source)->next(packet) == PacketSource::Next::packet)
      into.add(packet);
    into.finish();
    EXPECT_THAT(into.ledger().open_sums(), IsEmpty());
  };
  Captured whole;
  capture(layout.bytes, whole);
  ASSERT_EQ(whole.exchanges.size(), 60U);
  for (const RecordedExchange& exchange : whole.exchanges)
    originals.insert(text_of(exchange));

  Random random(20);
  for (int round = 0; round < 300; ++round) {
    const std::size_t first = random.below(frames.size() - 1);
    const std::size_t begin = layout.places[first];
    // Four bytes are the type of a block, and one of an unknown type is no damage.
    const std::size_t end = std::min(begin + 5 + random.below(800), layout.bytes.size());
    std::string bytes = layout.bytes;
    const bool erased = random.chance(0.4);
    if (erased) {
      bytes.erase(begin, end - begin);
    } else {
      for (std::size_t i = begin; i < end; ++i)
        bytes[i] = static_cast<char>(random.below(256));
    }
    SCOPED_TRACE("round " + std::to_string(round) + ", bytes " + std::to_string(begin) + " to " +
                 std::to_string(end) + (erased ? " gone" : " overwritten"));
    std::set<std::string> untouched = originals;
    for (std::size_t i = first; i < frames.size() && layout.places[i] < end; ++i) {
      const std::string port = ":" + std::to_string(20'000 + i * 60 / frames.size()) + " ";
      std::erase_if(untouched,
                    [&](const std::string& text) { return text.find(port) != std::string::npos; });
    }
    Captured all;
    capture(bytes, all);
    std::set<std::string> recorded;
    for (const RecordedExchange& exchange : all.exchanges) {
      const bool is_whole = exchange.request && exchange.response && exchange.request->complete &&
                            exchange.response->complete;
      if (is_whole) recorded.insert(text_of(exchange));
    }
    EXPECT_TRUE(std::includes(originals.begin(), originals.end(), recorded.begin(), recorded.end()))
        << all.text();
    EXPECT_TRUE(std::includes(recorded.begin(), recorded.end(), untouched.begin(), untouched.end()))
        << all.text();
    const FileEnd file = read_all(bytes).end;
    const bool on_boundaries =
        erased && std::find(layout.places.begin(), layout.places.end(), end) != layout.places.end();
    EXPECT_EQ(file.damaged_bytes + file.cut_bytes > 0, !on_boundaries);
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryKind, DamageAnywhere, ::testing::Values(as_pcap, as_pcapng));

TEST(DamagedFile, AnyDamageIsReadToTheEndAndAccountedFor) {
  const std::vector<Frame> frames = exchanges();
  Random random(21);
  for (const Layout& layout : {as_pcap(frames), as_pcapng(frames)}) {
    for (int round = 0; round < 200; ++round) {
      std::string bytes = layout.bytes;
      for (std::uint64_t damages = 1 + random.below(5); damages > 0; --damages) {
        const std::size_t begin = layout.places[0] + random.below(bytes.size() - layout.places[0]);
        const std::size_t size = std::min(1 + random.below(300), bytes.size() - begin);
        if (random.chance(0.3)) {
          bytes.erase(begin, size);
        } else {
          for (std::size_t i = begin; i < begin + size; ++i)
            bytes[i] = static_cast<char>(random.chance(0.5) ? 0 : random.below(256));
        }
      }
      const Read read = read_all(bytes);
      std::size_t given = 0;
      for (const std::string& packet : read.packets)
        given += packet.size();
      EXPECT_LE(given + read.end.damaged_bytes + read.end.cut_bytes, bytes.size());
      EXPECT_GT(read.packets.size(), frames.size() / 2)
          << round << ": " << read.end.places() << "; " << read.end.damage;
    }
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
