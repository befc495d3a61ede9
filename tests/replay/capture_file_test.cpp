// Capture files of every kind, as bytes, as files, packed and through a pipe.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "gateway/core/random.hpp"
#include "replay/capture/packet_source.hpp"
#include "replay/capture/pcapng_file.hpp"
#include "tests/support/pcap_builder.hpp"
#include "tests/support/pcapng_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::PcapngBuilder;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kTls = 0x544c534b;

struct Read {
  std::vector<std::string> packets;  // "link type@ns bytes", and "/sent" where the frame was cut
  PacketSource::Drops drops;
  FileEnd end;
  std::string error;
};

Read read_all(Result<std::unique_ptr<PacketSource>> source) {
  Read read;
  if (!source) {
    read.error = source.error().message;
    return read;
  }
  for (;;) {
    Packet packet;
    const auto next = (*source)->next(packet);
    if (!next) {
      read.error = next.error().message;
      return read;
    }
    if (*next == PacketSource::Next::end) break;
    if (*next == PacketSource::Next::quiet) continue;
    std::string line = std::to_string(packet.link_type) + "@" + std::to_string(packet.at.ns) + " " +
                       std::string(packet.bytes);
    if (packet.wire_bytes != packet.bytes.size()) line += "/" + std::to_string(packet.wire_bytes);
    read.packets.push_back(line);
  }
  read.drops = (*source)->drops();
  read.end = (*source)->file_end();
  return read;
}

Read read_bytes(const std::string& bytes, const std::string& filter = {}) {
  return read_all(open_bytes(bytes, filter));
}

// In the byte order that is asked for.
std::string pcap(std::uint32_t magic, bool big, const std::string& patch = {}) {
  PcapngBuilder numbers;
  numbers.use_big_endian(big);
  const auto packet = [&](std::uint32_t seconds, std::uint32_t fraction, const std::string& bytes) {
    return numbers.u32(seconds) + numbers.u32(fraction) +
           numbers.u32(static_cast<std::uint32_t>(bytes.size())) + numbers.u32(9) + patch + bytes;
  };
  return numbers.u32(magic) + numbers.u16(2) + numbers.u16(4) + numbers.u64(0) +
         numbers.u32(65'535) + numbers.u32(101) + packet(1, 5, "onepacket") + packet(2, 6, "two");
}

TEST(PcapFile, IsReadInBothByteOrdersAndResolutionsOfTime) {
  for (const bool big : {false, true}) {
    EXPECT_THAT(read_bytes(pcap(0xa1b2c3d4, big)).packets,
                ElementsAre("101@1000005000 onepacket", "101@2000006000 two/9"));
    EXPECT_THAT(read_bytes(pcap(0xa1b23c4d, big)).packets,
                ElementsAre("101@1000000005 onepacket", "101@2000000006 two/9"));
    EXPECT_THAT(read_bytes(pcap(0xa1b2cd34, big, "8 bytes.")).packets,
                ElementsAre("101@1000005000 onepacket", "101@2000006000 two/9"));
  }
}

TEST(PcapFile, OnlyTheLowerHalfOfTheLinkTypeIsOne) {
  std::string bytes = pcap(0xa1b2c3d4, true);
  bytes[20] = '\x24';  // there are four bytes of checksum
  EXPECT_EQ(read_bytes(bytes).packets.size(), 2U);
}

TEST(PcapFile, EveryPrefixGivesTheWholePacketsAndCountsTheRest) {
  const std::string whole = pcap(0xa1b2c3d4, false);
  constexpr std::size_t kFirst = 24 + 16 + 9;
  for (std::size_t size = 24; size < whole.size(); ++size) {
    const Read read = read_bytes(whole.substr(0, size));
    EXPECT_EQ(read.packets.size(), size < kFirst ? 0U : 1U) << size;
    EXPECT_EQ(read.end.cut_bytes, size < kFirst ? size - 24 : size - kFirst) << size;
    EXPECT_THAT(read.end.damage, IsEmpty());
  }
}

TEST(PcapFile, AFileAppendedToAnotherIsReadOnWithItsOwnHeader) {
  const std::vector<std::string> formats = {pcap(0xa1b2c3d4, false), pcap(0xa1b2c3d4, true),
                                            pcap(0xa1b23c4d, false)};
  for (const std::string& first : formats) {
    for (const std::string& second : formats) {
      std::vector<std::string> expected = read_bytes(first).packets;
      for (const std::string& packet : read_bytes(second).packets)
        expected.push_back(packet);
      const Read both = read_bytes(first + second);
      EXPECT_EQ(both.packets, expected);
      EXPECT_EQ(both.end.cut_bytes, 0U);
      EXPECT_EQ(both.end.damaged_bytes, 0U);
      const Read three = read_bytes(first + second + first);
      EXPECT_EQ(three.packets.size(), 6U);
    }
  }
}

TEST(PcapFile, APacketLongerThanAnyIsDamageWithItsPlace) {
  std::string bytes = pcap(0xa1b2c3d4, true);
  bytes[49 + 8] = '\x10';
  const Read read = read_bytes(bytes);
  EXPECT_EQ(read.packets.size(), 1U);
  EXPECT_EQ(read.end.damage, "byte 49: a packet of 268435459 bytes is longer than any");
  EXPECT_EQ(read.end.cut_bytes, bytes.size() - 49);
}

TEST(PcapFile, AnotherVersionIsRefused) {
  std::string bytes = pcap(0xa1b2c3d4, true);
  bytes[5] = 3;
  EXPECT_THAT(read_bytes(bytes).error, HasSubstr("byte 4: pcap version 3 is not known"));
}

TEST(PcapngFile, EachInterfaceHasItsOwnLinkTypeAndTime) {
  for (const bool big : {false, true}) {
    PcapngBuilder file;
    file.use_big_endian(big);
    file.section();
    file.interface(1);
    file.interface(101, 0, file.option(9, "\x09"));
    file.interface(113, 0, file.option(9, "\x8a") + file.option(14, file.u64(1000)));
    file.packet(1, 5, "nanoseconds");
    file.packet(0, 5, "microseconds");
    file.packet(2, 5 * 1024 + 512, "in 1024ths, from 1000 s on");
    EXPECT_THAT(read_bytes(file.bytes()).packets,
                ElementsAre("101@5 nanoseconds", "1@5000 microseconds",
                            "113@1005500000000 in 1024ths, from 1000 s on"));
  }
}

TEST(PcapngFile, EachSectionHasItsOwnByteOrderAndInterfaces) {
  PcapngBuilder file;
  for (const bool big : {false, true, false}) {
    file.use_big_endian(big);
    file.section();
    file.interface(big ? 101 : 1);
    file.packet(0, 7, big ? "big" : "little");
  }
  EXPECT_THAT(read_bytes(file.bytes()).packets,
              ElementsAre("1@7000 little", "101@7000 big", "1@7000 little"));
}

TEST(PcapngFile, SimpleAndOldPacketsAreRead) {
  PcapngBuilder file;
  file.section();
  file.interface(1, 6);
  file.old_packet(0, 42, "old");
  file.simple_packet("simple", 10);
  file.simple_packet("four");
  EXPECT_THAT(read_bytes(file.bytes()).packets,
              ElementsAre("1@42000 old", "1@42000 simple/10", "1@42000 four"));
}

TEST(PcapngFile, BlocksOfOtherKindsArePassedOver) {
  PcapngBuilder file;
  file.section();
  file.block(4, "names");
  file.block(0x0bad, std::string(3'000'000, 'x'));
  file.interface(1);
  file.block(0x40000bad, "");
  file.packet(0, 1, "one");
  file.block(0x77777777, std::string(20'000'000, 'x'));
  file.packet(0, 2, "two");
  EXPECT_THAT(read_bytes(file.bytes()).packets, ElementsAre("1@1000 one", "1@2000 two"));
}

TEST(PcapngFile, SecretsComeBeforeThePacketsThatTheyAreFor) {
  PcapngBuilder file;
  file.section();
  file.interface(1);
  file.secrets(kTls, "CLIENT_RANDOM 1 2");
  file.secrets(0x57474b4c, "another protocol's");
  file.packet(0, 1, "one");
  file.secrets(kTls, "CLIENT_RANDOM 3 4\n");
  auto source = open_bytes(file.bytes(), "");
  ASSERT_TRUE(source);
  Packet packet;
  while (*(*source)->next(packet) == PacketSource::Next::quiet) {
    EXPECT_EQ((*source)->take_key_log(), "CLIENT_RANDOM 1 2\n");
  }
  EXPECT_EQ(packet.bytes, "one");
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::quiet);
  EXPECT_EQ((*source)->take_key_log(), "CLIENT_RANDOM 3 4\n\n");
  EXPECT_EQ((*source)->take_key_log(), "");
}

TEST(PcapngFile, SaysWhatItsWriterDropped) {
  PcapngBuilder file;
  file.section();
  file.interface(1);
  file.statistics(0, 1, 10);
  file.statistics(0, 2, 20);
  file.statistics(7, 1000, 1000);
  file.section();
  file.interface(1);
  file.statistics(0, 3, 30);
  const Read read = read_bytes(file.bytes());
  EXPECT_EQ(read.drops.interface, 5U);
  EXPECT_EQ(read.drops.kernel, 50U);
}

TEST(PcapngFile, APacketOfAnUndeclaredInterfaceIsStillGiven) {
  PcapngBuilder file;
  file.section();
  file.packet(3, 1, "whose");
  EXPECT_THAT(read_bytes(file.bytes()).packets, ElementsAre("-1@1000 whose"));
  EXPECT_THAT(read_bytes(file.bytes(), "tcp").packets, ElementsAre("-1@1000 whose"));
}

TEST(PcapngFile, WhatIsDamagedIsNamedWithItsPlace) {
  const auto damage = [](const auto& add) {
    PcapngBuilder file;
    file.section();     // 28 bytes
    file.interface(1);  // 20 bytes
    add(file);
    const Read read = read_bytes(file.bytes());
    // Of a block that is wrong inside, the end is known.
    if (read.end.damage.empty()) {
      EXPECT_EQ(read.end.damaged_places, 1U);
      const FileDamage& one = read.end.damages.at(0);
      EXPECT_EQ(one.at + one.bytes, file.bytes().size());
      return "byte " + std::to_string(one.at) + ": " + one.what;
    }
    const std::size_t place = std::stoul(read.end.damage.substr(std::string("byte ").size()));
    EXPECT_EQ(read.end.cut_bytes, file.bytes().size() - place);
    return read.end.damage;
  };
  EXPECT_EQ(damage([](PcapngBuilder& file) { file.raw(file.u32(6) + file.u32(13) + "12345"); }),
            "byte 48: a block of 13 bytes");
  EXPECT_EQ(damage([](PcapngBuilder& file) { file.raw(file.u32(6) + file.u32(8) + "1234"); }),
            "byte 48: a block of 8 bytes");
  EXPECT_EQ(damage([](PcapngBuilder& file) {
              file.raw(file.u32(6) + file.u32(0x7ffffff0) + std::string(100, 'x'));
            }),
            "byte 48: a block of 2147483632 bytes is longer than any");
  EXPECT_EQ(damage([](PcapngBuilder& file) {
              file.raw(file.u32(1) + file.u32(20) + std::string(8, '\0') + file.u32(24));
            }),
            "byte 48: a block whose two lengths differ");
  EXPECT_EQ(damage([](PcapngBuilder& file) { file.block(6, "short"); }),
            "byte 48: a packet block that is too short");
  EXPECT_EQ(damage([](PcapngBuilder& file) {
              file.block(6, file.u64(0) + file.u32(0) + file.u32(5) + file.u32(5) + "1234");
            }),
            "byte 48: a packet longer than its block");
  EXPECT_EQ(damage([](PcapngBuilder& file) { file.section(2); }),
            "byte 48: pcapng version 2 is not known, only 1");
  EXPECT_EQ(damage([](PcapngBuilder& file) {
              file.raw(file.u32(0x0a0d0d0a) + file.u32(28) + std::string(20, 'x'));
            }),
            "byte 48: a section without a byte order");
  EXPECT_EQ(damage([](PcapngBuilder& file) {
              file.secrets(kTls, "");
              file.block(10, "1234");
            }),
            "byte 68: a secrets block that is too short");
}

TEST(PcapngFile, EveryPrefixGivesTheWholePacketsAndCountsTheRest) {
  PcapngBuilder file;
  file.section();
  file.interface(1);
  file.packet(0, 1, "one");
  const std::size_t first = file.bytes().size();
  file.block(0x0bad, std::string(100, 'x'));
  const std::size_t passed = file.bytes().size();
  file.packet(0, 2, "two");
  for (std::size_t size = first; size < file.bytes().size(); ++size) {
    const Read read = read_bytes(file.bytes().substr(0, size));
    EXPECT_THAT(read.packets, ElementsAre("1@1000 one"));
    EXPECT_EQ(read.end.cut_bytes, size < passed ? size - first : size - passed) << size;
    EXPECT_THAT(read.end.damage, IsEmpty()) << size;
  }
}

TEST(TimeUnit, CountsInTensAndTwosOfAnyFineness) {
  EXPECT_EQ(TimeUnit(0, 0).time(3).ns, 3 * kSecond);
  EXPECT_EQ(TimeUnit(9, 0).time(3).ns, 3);
  EXPECT_EQ(TimeUnit(12, 0).time(3'500'000'000'001).ns, 3'500'000'000);
  EXPECT_EQ(TimeUnit(19, 0).time(15'000'000'000'000'000'000U).ns, 1'500'000'000);
  EXPECT_EQ(TimeUnit(20, 0).time(15'000'000'000'000'000'000U).ns, 150'000'000);
  EXPECT_EQ(TimeUnit(127, 0).time(~std::uint64_t{0}).ns, 0);
  EXPECT_EQ(TimeUnit(0x80, 0).time(3).ns, 3 * kSecond);
  EXPECT_EQ(TimeUnit(0xa0, 0).time((std::uint64_t{3} << 32U) + (1U << 31U)).ns, 3'500'000'000);
  EXPECT_EQ(TimeUnit(0xbf, 0).time(std::uint64_t{3} << 62U).ns, 1'500'000'000);
  EXPECT_EQ(TimeUnit(0xc0, 0).time(std::uint64_t{3} << 62U).ns, 750'000'000);
  EXPECT_EQ(TimeUnit(0xff, 0).time(~std::uint64_t{0}).ns, 0);
}

TEST(TimeUnit, WhatCannotBeHeldBecomesItsNearest) {
  EXPECT_EQ(TimeUnit(6, -10).time(3).ns, 3000);
  EXPECT_EQ(TimeUnit(6, std::numeric_limits<std::int64_t>::min()).time(0).ns, 0);
  EXPECT_GT(TimeUnit(6, std::numeric_limits<std::int64_t>::max()).time(~std::uint64_t{0}).ns, 0);
  EXPECT_GT(TimeUnit(0, 0).time(~std::uint64_t{0}).ns, 0);
}

TEST(CaptureFile, AFilterIsCompiledForEachLinkType) {
  const std::string to_80 = tests::ipv4_packet({.payload = "a"});
  const std::string to_81 = tests::ipv4_packet({.destination_port = 81, .payload = "b"});
  PcapngBuilder file;
  file.section();
  file.interface(1);
  file.interface(101);
  for (const std::string& packet : {to_81, to_80}) {
    file.packet(0, 1, tests::ethernet(packet));
    file.packet(1, 1, packet);
  }
  const Read read = read_bytes(file.bytes(), "tcp dst port 80");
  ASSERT_EQ(read.packets.size(), 2U);
  EXPECT_TRUE(read.packets[0].starts_with("1@") && read.packets[0].ends_with("a"));
  EXPECT_TRUE(read.packets[1].starts_with("101@") && read.packets[1].ends_with("a"));
  EXPECT_THAT(read_bytes(file.bytes(), "no such filter").error, HasSubstr("pcap-filter(7)"));
}

TEST(CaptureFile, WhatIsNoCaptureIsNamedForWhatItIs) {
  const auto error = [](const std::string& bytes) { return read_bytes(bytes).error; };
  EXPECT_THAT(error(""), HasSubstr("is empty"));
  EXPECT_THAT(error("ab"), HasSubstr("breaks off inside its header"));
  EXPECT_THAT(error("GET / HTTP/1.1\r\n"), HasSubstr("is not a capture file"));
  EXPECT_THAT(error("\x28\xb5\x2f\xfd...."), HasSubstr("zstd -dc"));
  EXPECT_THAT(error("SQLite format 3"), HasSubstr("is a recording already"));
  EXPECT_THAT(error("\x0a\x0d\x0d\x0a 20 bytes of nothing"),
              HasSubstr("byte 0: a section without"));
}

class PackedFileTest : public ::testing::Test {
 protected:
  ~PackedFileTest() override { std::filesystem::remove(path_); }

  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  static std::string packed(const std::string& bytes) {
    constexpr int kGzip = 15 + 16;
    z_stream stream{};
    deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
    std::string in = bytes;
    std::string out(bytes.size() + 1000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
  }

  // More than any buffer holds, and not to be packed small.
  static std::string large() {
    Random random(3);
    std::vector<tests::Frame> frames;
    for (int i = 0; i < 3000; ++i) {
      std::string bytes(1 + random.below(2000), '\0');
      for (char& byte : bytes)
        byte = static_cast<char>(random.below(256));
      frames.push_back({UnixTime{i}, bytes});
    }
    return tests::pcap_file(frames);
  }

  std::string path_ = ::testing::TempDir() + "packed-" + std::to_string(getpid()) + ".pcap";
};

TEST_F(PackedFileTest, AFileAPackedFileAndMemoryGiveTheSamePackets) {
  const std::string bytes = large();
  const Read expected = read_bytes(bytes);
  ASSERT_EQ(expected.packets.size(), 3000U);
  write(bytes);
  EXPECT_EQ(read_all(open_file(path_, "")).packets, expected.packets);
  write(packed(bytes));
  EXPECT_EQ(read_all(open_file(path_, "")).packets, expected.packets);
  write(packed(bytes.substr(0, 1'000'000)) + packed(bytes.substr(1'000'000)) +
        std::string(100, '\0'));
  EXPECT_EQ(read_all(open_file(path_, "")).packets, expected.packets);
}

TEST_F(PackedFileTest, APackedFileThatBreaksOffOrIsDamagedGivesWhatIsBeforeThat) {
  std::string bytes = packed(large());
  write(bytes.substr(0, bytes.size() / 2));
  const Read half = read_all(open_file(path_, ""));
  EXPECT_GT(half.packets.size(), 1000U);
  EXPECT_LT(half.packets.size(), 2000U);
  EXPECT_THAT(half.end.damage, HasSubstr("its gzip data break off"));
  EXPECT_TRUE(half.end.rest_unknown);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write(bytes);
  const Read damaged = read_all(open_file(path_, ""));
  EXPECT_THAT(damaged.end.damage, HasSubstr("its gzip data are damaged"));
}

TEST_F(PackedFileTest, APipeGivesItsPacketsAsTheyComeAndIsQuietBetween) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const std::string bytes = pcap(0xa1b2c3d4, false);
  std::FILE* pipe = nullptr;
  std::thread writer([&] {
    pipe = std::fopen(path_.c_str(), "wb");
    std::fwrite(bytes.data(), 24 + 16 + 9 + 10, 1, pipe);  // and a piece of the next
    std::fflush(pipe);
  });
  auto source = open_file(path_, "");
  writer.join();
  ASSERT_TRUE(source);
  Packet packet;
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::packet);
  EXPECT_EQ(packet.bytes, "onepacket");
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::quiet);
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::quiet);
  std::fwrite(bytes.data() + 59, bytes.size() - 59, 1, pipe);
  std::fclose(pipe);
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::packet);
  EXPECT_EQ(packet.bytes, "two");
  EXPECT_EQ(*(*source)->next(packet), PacketSource::Next::end);
  EXPECT_EQ((*source)->file_end().cut_bytes, 0U);
}

}  // namespace
}  // namespace gatedrill::replay::capture
