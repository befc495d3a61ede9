// What becomes of a capture that lost, shuffled, repeated or cut packets: never a message that was
// not sent, never an answer to another request, and memory that stays within its limits.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "gateway/core/random.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/pcap_builder.hpp"

namespace gatedrill::replay::capture {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::SegmentSpec;

const fs::path kData = fs::path(GD_SOURCE_DIR) / ".." / "shared" / "data";

std::string text_of(const std::vector<RecordedField>& fields) {
  std::string text;
  for (const RecordedField& field : fields)
    text += field.name + ": " + field.value + "\n";
  return text;
}

std::string head_of(const RecordedRequest& request) {
  return request.method + " " + request.target + "\n" + text_of(request.fields);
}

std::string head_of(const RecordedResponse& response) {
  return std::to_string(response.status) + "\n" + text_of(response.fields);
}

// What a capture holds, to be compared with what it held before it was damaged.
struct Messages {
  std::multiset<std::string> heads;  // of all messages, whole or not
  std::multiset<std::string> whole;
  std::multiset<std::string> pairs;  // of whole messages
  std::set<std::string> heads_of_pairs;
  int partial = 0;
};

Messages messages_of(const Captured& captured) {
  Messages messages;
  for (const RecordedExchange& exchange : captured.exchanges) {
    std::string pair;
    std::string heads;
    bool whole = true;
    const auto add = [&](const auto& message) {
      const std::string head = head_of(message);
      heads += head + "\n";
      messages.heads.insert(head);
      pair += head + "\n" + message.body + "\n";
      if (message.complete) {
        messages.whole.insert(head + "\n" + message.body);
      } else {
        ++messages.partial;
        whole = false;
      }
    };
    if (exchange.request) add(*exchange.request);
    if (exchange.response) add(*exchange.response);
    if (!exchange.request || !exchange.response) continue;
    messages.heads_of_pairs.insert(heads);
    if (whole) messages.pairs.insert(pair);
  }
  return messages;
}

template <class Set>
std::vector<std::string> surplus(const Set& seen, const Set& expected) {
  std::vector<std::string> out;
  std::set_difference(seen.begin(), seen.end(), expected.begin(), expected.end(),
                      std::back_inserter(out));
  return out;
}

std::unique_ptr<Captured> captured_from(const std::vector<Frame>& frames) {
  auto captured = std::make_unique<Captured>();
  tests::capture_into(*captured, frames);
  return captured;
}

// Nothing in it that was not in the whole capture, and its account closes.
void expect_nothing_invented(const Captured& damaged, const Messages& original) {
  EXPECT_THAT(damaged.ledger.open_sums(), IsEmpty());
  const Messages seen = messages_of(damaged);
  if (!surplus(seen.whole, original.whole).empty() ||
      !surplus(seen.heads, original.heads).empty() ||
      !surplus(seen.heads_of_pairs, original.heads_of_pairs).empty()) {
    ADD_FAILURE() << damaged.text();
  }
  EXPECT_THAT(surplus(seen.whole, original.whole), IsEmpty()) << "an invented message";
  EXPECT_THAT(surplus(seen.heads, original.heads), IsEmpty()) << "an invented head";
  EXPECT_THAT(surplus(seen.pairs, original.pairs), IsEmpty()) << "a shifted pair";
  EXPECT_THAT(surplus(seen.heads_of_pairs, original.heads_of_pairs), IsEmpty()) << "a shifted pair";
}

std::string request_text(int number, const std::string& more = {}, const std::string& body = {}) {
  std::string text = (body.empty() ? "GET" : "POST") + std::string(" /") + std::to_string(number) +
                     " HTTP/1.1\r\nHost: shop\r\n" + more;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + body;
}

std::string answer_text(int number, std::size_t bytes) {
  const std::string body = "answer " + std::to_string(number) + " " +
                           std::string(bytes, static_cast<char>('a' + number % 26));
  return "HTTP/1.1 200 OK\r\nX-Number: " + std::to_string(number) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string chunked_text(int number) {
  return "HTTP/1.1 200 OK\r\nX-Number: " + std::to_string(number) +
         "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nchunk\r\n7\r\n of " +
         std::to_string(number % 10) + "!\n\r\n0\r\nTrailer: yes\r\n\r\n";
}

// Keep-alive, uploads, chunks, answers of one and of many segments, two connections in turn.
std::vector<Frame> a_shop(std::size_t segment_bytes) {
  Conversation one({.client_port = 40'000, .segment_bytes = segment_bytes});
  Conversation two({.client_port = 40'001,
                    .client_isn = 0xfffffe00,
                    .server_isn = 0xffffff00,
                    .segment_bytes = segment_bytes});
  int number = 0;
  for (Conversation* talk : {&one, &two}) {
    talk->handshake();
    for (int i = 0; i < 6; ++i, ++number) {
      const bool upload = i % 3 == 2;
      talk->client(request_text(number, "X-Request: " + std::to_string(number) + "\r\n",
                                upload ? std::string(700, 'u') : ""));
      talk->server(i % 2 == 0 ? answer_text(number, 40 + static_cast<std::size_t>(i) * 300)
                              : chunked_text(number));
    }
    talk->close();
  }
  std::vector<Frame> frames = one.frames();
  frames.insert(frames.end(), two.frames().begin(), two.frames().end());
  std::stable_sort(frames.begin(), frames.end(),
                   [](const Frame& a, const Frame& b) { return a.at < b.at; });
  return frames;
}

std::vector<Frame> pipelined() {
  Conversation talk({.segment_bytes = 90});
  talk.handshake();
  std::string requests;
  std::string answers;
  for (int i = 0; i < 8; ++i) {
    requests += request_text(i);
    answers += answer_text(i, 30);
  }
  talk.client(requests);
  talk.server(answers);
  talk.close();
  return talk.frames();
}

std::size_t payload_bytes(const Frame& frame) {
  const DecodedPacket packet = decode_frame(frame.link_type, frame.bytes, frame.wire());
  return packet.kind == PacketKind::tcp ? packet.tcp.payload.size() : 0;
}

TEST(CaptureDamage, EachPacketLostInTurnInventsNothingAndShiftsNoPair) {
  for (const std::size_t segment_bytes : {1460U, 100U, 33U}) {
    const std::vector<Frame> whole = a_shop(segment_bytes);
    const auto intact = captured_from(whole);
    const Messages original = messages_of(*intact);
    ASSERT_EQ(original.pairs.size(), 12U);
    ASSERT_EQ(original.partial, 0);
    for (std::size_t lost = 0; lost < whole.size(); ++lost) {
      SCOPED_TRACE("packet " + std::to_string(lost) + " of " + std::to_string(segment_bytes));
      const auto damaged = captured_from(tests::without(whole, lost));
      expect_nothing_invented(*damaged, original);
      const Messages seen = messages_of(*damaged);
      if (payload_bytes(whole[lost]) == 0) {
        EXPECT_EQ(seen.pairs, original.pairs) << "it carried nothing";
      } else {
        // A packet here never holds more than one message.
        EXPECT_EQ(seen.whole.size(), original.whole.size() - 1) << damaged->text();
        EXPECT_GE(seen.pairs.size(), original.pairs.size() - 1) << damaged->text();
      }
    }
  }
}

TEST(CaptureDamage, APacketLostAmongPipelinedMessagesShiftsNoPair) {
  const std::vector<Frame> whole = pipelined();
  const Messages original = messages_of(*captured_from(whole));
  ASSERT_EQ(original.pairs.size(), 8U);
  for (std::size_t lost = 0; lost < whole.size(); ++lost) {
    SCOPED_TRACE("packet " + std::to_string(lost));
    expect_nothing_invented(*captured_from(tests::without(whole, lost)), original);
  }
}

TEST(CaptureDamage, AnyNumberOfLostPacketsInventsNothing) {
  const std::vector<Frame> whole = a_shop(100);
  const Messages original = messages_of(*captured_from(whole));
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(round);
    const double share = 0.01 + 0.6 * random.uniform();
    std::vector<Frame> frames;
    for (const Frame& frame : whole) {
      if (!random.chance(share)) frames.push_back(frame);
    }
    expect_nothing_invented(*captured_from(frames), original);
  }
}

// Frames made anew from what TCP says in a capture, so that they can be cut and moved.
std::vector<SegmentSpec> parts_of(const std::vector<Frame>& frames) {
  std::vector<SegmentSpec> parts;
  for (const Frame& frame : frames) {
    const DecodedPacket packet = decode_frame(frame.link_type, frame.bytes, frame.wire());
    if (packet.kind != PacketKind::tcp) continue;
    const TcpSegment& tcp = packet.tcp;
    const auto ip = [&](const Endpoint& endpoint) {
      return static_cast<std::uint32_t>(
          stable_hash({reinterpret_cast<const char*>(endpoint.address.data()), 16}, tcp.network));
    };
    parts.push_back({.source_ip = ip(tcp.source),
                     .destination_ip = ip(tcp.destination),
                     .source_port = tcp.source.port,
                     .destination_port = tcp.destination.port,
                     .seq = tcp.seq,
                     .ack = tcp.ack,
                     .syn = tcp.syn,
                     .fin = tcp.fin,
                     .rst = tcp.rst,
                     .has_ack = tcp.has_ack,
                     .payload = std::string(tcp.payload)});
  }
  return parts;
}

// Close to each other in time: no network moves a packet by seconds.
std::vector<Frame> frames_of(const std::vector<SegmentSpec>& parts) {
  std::vector<Frame> frames;
  std::int64_t ns = 1'700'000'000'000'000'000;
  for (const SegmentSpec& part : parts)
    frames.push_back({UnixTime{ns += 10'000}, tests::ipv4_packet(part), 0, 101});
  return frames;
}

// Every segment with data in pieces; pieces overlap the one before.
std::vector<SegmentSpec> cut_up(const std::vector<SegmentSpec>& parts, Random& random) {
  std::vector<SegmentSpec> out;
  for (const SegmentSpec& part : parts) {
    if (part.payload.size() < 2 || part.syn) {
      out.push_back(part);
      continue;
    }
    for (std::size_t at = 0; at < part.payload.size();) {
      const std::size_t left = part.payload.size() - at;
      const std::size_t size = 1 + random.below(std::min<std::size_t>(left, 255));
      const std::size_t back = random.below(std::min<std::size_t>(at, 20) + 1);
      SegmentSpec piece = part;
      piece.seq += static_cast<std::uint32_t>(at - back);
      piece.payload = part.payload.substr(at - back, size + back);
      piece.fin = part.fin && size == left;
      piece.rst = part.rst && size == left;
      out.push_back(piece);
      at += size;
    }
  }
  return out;
}

void repeat_some(std::vector<SegmentSpec>& parts, Random& random) {
  const std::size_t count = parts.size() / 5 + 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = random.below(parts.size());
    const std::size_t to = std::min(from + 1 + random.below(20), parts.size());
    const SegmentSpec again = parts[from];
    parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(to), again);
  }
}

// Moves packets by up to three places, as two paths of the network do. What ends a connection
// stays behind what it acknowledges: no capture can tell otherwise.
void shuffle_near(std::vector<SegmentSpec>& parts, Random& random) {
  constexpr std::size_t kBlock = 4;
  for (std::size_t begin = random.below(kBlock); begin < parts.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, parts.size());
    const bool reset = std::any_of(parts.begin() + static_cast<std::ptrdiff_t>(begin),
                                   parts.begin() + static_cast<std::ptrdiff_t>(end),
                                   [](const SegmentSpec& part) { return part.rst || part.syn; });
    if (reset) continue;
    for (std::size_t i = end - begin; i > 1; --i)
      std::swap(parts[begin + i - 1], parts[begin + random.below(i)]);
  }
}

void expect_the_same(const std::vector<SegmentSpec>& parts, const Messages& original) {
  const auto captured = captured_from(frames_of(parts));
  EXPECT_THAT(captured->ledger.open_sums(), IsEmpty());
  const Messages seen = messages_of(*captured);
  EXPECT_EQ(seen.pairs.size(), original.pairs.size());
  EXPECT_TRUE(seen.pairs == original.pairs) << captured->text();
  EXPECT_TRUE(seen.whole == original.whole);
  EXPECT_EQ(seen.partial, original.partial);
}

TEST(CaptureDamage, ShuffledRepeatedAndCutUpPacketsGiveTheSameMessages) {
  const std::vector<SegmentSpec> parts = parts_of(a_shop(500));
  const Messages original = messages_of(*captured_from(frames_of(parts)));
  ASSERT_EQ(original.pairs.size(), 12U);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<SegmentSpec> damaged = seed % 2 == 0 ? cut_up(parts, random) : parts;
    repeat_some(damaged, random);
    shuffle_near(damaged, random);
    expect_the_same(damaged, original);
  }
}

TEST(CaptureDamage, AHeadMayBeCutAnywhereIntoTwoSegments) {
  const std::string request = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::string answer =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
  for (std::size_t cut = 0; cut <= std::max(request.size(), answer.size()); ++cut) {
    Conversation talk;
    talk.handshake();
    talk.client(std::string_view(request).substr(0, cut));
    talk.client(std::string_view(request).substr(std::min(cut, request.size())));
    talk.server(std::string_view(answer).substr(0, cut));
    talk.server(std::string_view(answer).substr(std::min(cut, answer.size())));
    talk.close();
    EXPECT_EQ(captured_from(talk.frames())->text(), "POST /x abc > 200 ok\n") << cut;
  }
}

// The same addresses and ports in several networks are as many connections.
TEST(CaptureDamage, NetworksWithTheSameAddressesAreNotMixed) {
  Conversation one({.segment_bytes = 20});
  Conversation two({.segment_bytes = 20});
  for (Conversation* talk : {&one, &two})
    talk->handshake();
  one.client(request_text(1));
  two.client(request_text(2));
  one.server(answer_text(1, 10));
  two.server(answer_text(2, 10));
  const auto inside = [](const Frame& frame, int kind, unsigned number) {
    using tests::be16;
    using tests::be32;
    Frame out = frame;
    const std::string packet = frame.bytes.substr(14);
    const auto ip = [](unsigned protocol, const std::string& payload) {
      return be16(0x4500) + be16(static_cast<unsigned>(20 + payload.size())) + be32(0) +
             be16(0x4000U | protocol) + be16(0) + be32(1) + be32(2) + payload;
    };
    const std::string vxlan = be32(0x08000000) + be32(number << 8U) + frame.bytes;
    const std::string udp =
        be16(5555) + be16(4789) + be16(static_cast<unsigned>(vxlan.size() + 8)) + be16(0) + vxlan;
    switch (kind) {
      case 0:
        out.bytes = tests::ethernet(packet, 0x0800, {static_cast<std::uint16_t>(number)});
        break;
      case 1:
        out.bytes = tests::ethernet(ip(17, udp));
        break;
      case 2:
        out.bytes = tests::ethernet(ip(47, be16(0x2000) + be16(0x0800) + be32(number) + packet));
        break;
      default:
        out.bytes = tests::ethernet(be16(0x1100) + be16(number) +
                                        be16(static_cast<unsigned>(packet.size() + 2)) +
                                        be16(0x0021) + packet,
                                    0x8864);
    }
    return out;
  };
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE(kind);
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < std::max(one.frames().size(), two.frames().size()); ++i) {
      if (i < one.frames().size()) frames.push_back(inside(one.frames()[i], kind, 7));
      if (i < two.frames().size()) frames.push_back(inside(two.frames()[i], kind, 8));
    }
    const auto captured = captured_from(frames);
    EXPECT_EQ(captured->connections.size(), 2U);
    EXPECT_EQ(messages_of(*captured).pairs.size(), 2U) << captured->text();
    EXPECT_EQ(captured->ledger.duplicate.bytes, 0U);
  }
}

TEST(CaptureDamage, AClockThatGoesBackwardsOrJumpsChangesNoMessage) {
  std::vector<Frame> frames = a_shop(300);
  const Messages original = messages_of(*captured_from(frames));
  Random random(8);
  for (Frame& frame : frames)
    frame.at.ns -= static_cast<std::int64_t>(random.below(500'000'000));
  const auto captured = captured_from(frames);
  EXPECT_TRUE(messages_of(*captured).pairs == original.pairs) << captured->text();
  EXPECT_GT(captured->ledger.stamped_earlier, frames.size() / 4);
  for (Frame& frame : frames) {
    if (random.chance(0.02)) frame.at.ns += std::int64_t{1} << 60U;
  }
  expect_nothing_invented(*captured_from(frames), original);
}

std::size_t memory_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Nowhere final : public ExchangeSink {
 public:
  void on_exchange(RecordedExchange) override {}

  void on_connection(const RecordedConnection&) override {}

  void on_loss(const RecordedLoss&) override {}
};

// Feeds frames until they end and gives the largest memory on the way.
template <class Next>
std::size_t peak_memory(Ledger& ledger, const Next& next) {
  const std::size_t before = memory_in_use();
  std::size_t peak = 0;
  Nowhere sink;
  Capture capture({}, sink);
  Frame frame;
  for (std::uint64_t i = 0; next(frame, i); ++i) {
    capture.add(tests::packet_of(frame));
    if (i % 512 == 0) peak = std::max(peak, memory_in_use() - std::min(before, memory_in_use()));
  }
  peak = std::max(peak, memory_in_use() - std::min(before, memory_in_use()));
  capture.finish();
  ledger = capture.ledger();
  EXPECT_THAT(ledger.open_sums(), IsEmpty());
  ::testing::Test::RecordProperty("peak_megabytes", static_cast<int>(peak / 1'000'000));
  return peak;
}

constexpr std::size_t kMegabyte = 1'000'000;

Frame segment_frame(const SegmentSpec& spec, std::uint64_t number) {
  return {UnixTime{1'700'000'000'000'000'000 + static_cast<std::int64_t>(number) * 1000},
          tests::ipv4_packet(spec), 0, 101};
}

TEST(HostileCapture, HalfOpenConnectionsTakeBoundedMemory) {
  Ledger ledger;
  const std::size_t peak = peak_memory(ledger, [](Frame& frame, std::uint64_t i) {
    SegmentSpec spec{.source_ip = static_cast<std::uint32_t>(0x0b000000 + i / 50'000),
                     .source_port = static_cast<std::uint16_t>(1024 + i % 50'000),
                     .seq = static_cast<std::uint32_t>(i),
                     .syn = true,
                     .has_ack = false};
    frame = segment_frame(spec, i);
    return i < 150'000;
  });
  EXPECT_LT(peak, 200 * kMegabyte);
  EXPECT_EQ(ledger.connections_evicted, 150'000U - ReassemblyLimits{}.connections);
}

TEST(HostileCapture, HeadsWithoutEndOnManyConnectionsTakeBoundedMemory) {
  Ledger ledger;
  const std::string filler = "X-Filler: " + std::string(1000, 'f') + "\r\n";
  const std::size_t peak = peak_memory(ledger, [&](Frame& frame, std::uint64_t i) {
    const std::uint64_t round = i / 20'000;
    SegmentSpec spec{.source_port = static_cast<std::uint16_t>(1024 + i % 20'000), .ack = 1};
    spec.payload = round == 0 ? "GET / HTTP/1.1\r\n" : filler;
    spec.seq = static_cast<std::uint32_t>(round == 0 ? 0 : 16 + (round - 1) * filler.size());
    frame = segment_frame(spec, i);
    return i < 100'000;
  });
  EXPECT_LT(peak, 300 * kMegabyte);
}

TEST(HostileCapture, BodiesWithoutEndOnManyConnectionsTakeBoundedMemory) {
  Ledger ledger;
  const std::string filler(1400, 'f');
  const std::size_t peak = peak_memory(ledger, [&](Frame& frame, std::uint64_t i) {
    const std::uint64_t round = i / 5'000;
    const std::string head = "POST / HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n";
    SegmentSpec spec{.source_port = static_cast<std::uint16_t>(1024 + i % 5'000), .ack = 1};
    spec.payload = round == 0 ? head : filler;
    spec.seq =
        static_cast<std::uint32_t>(round == 0 ? 0 : head.size() + (round - 1) * filler.size());
    frame = segment_frame(spec, i);
    return i < 200'000;
  });
  EXPECT_LT(peak, 250 * kMegabyte);
}

TEST(HostileCapture, SingleBytesBehindAGapTakeBoundedMemory) {
  Ledger ledger;
  const std::size_t peak = peak_memory(ledger, [](Frame& frame, std::uint64_t i) {
    SegmentSpec spec{.source_port = static_cast<std::uint16_t>(1024 + i % 50), .ack = 1};
    spec.seq = static_cast<std::uint32_t>(i < 50 ? 0 : 2 * i);
    spec.payload = i < 50 ? "G" : "x";
    if (i >= 50 && i < 100) {  // the peer is there and misses what is missing
      spec = {.source_port = 80, .destination_port = spec.source_port, .seq = 1, .ack = 1};
      std::swap(spec.source_ip, spec.destination_ip);
    }
    frame = segment_frame(spec, 0);  // no time passes, so that nothing is given up for it
    return i < 400'000;
  });
  EXPECT_LT(peak, 150 * kMegabyte);
}

TEST(HostileCapture, FragmentsWithoutEndTakeBoundedMemory) {
  Ledger ledger;
  const std::size_t peak = peak_memory(ledger, [](Frame& frame, std::uint64_t i) {
    using tests::be16;
    using tests::be32;
    frame.link_type = 101;
    frame.bytes = be16(0x4500) + be16(20 + 8) + be16(static_cast<unsigned>(i & 0xffffU)) +
                  be16(0x3ff0) + be16(0x4006) + be16(0) + be32(1) + be32(2) + "12345678";
    return i < 100'000;
  });
  EXPECT_LT(peak, 50 * kMegabyte);
  EXPECT_EQ(ledger.fragments_unfinished, 100'000U);
}

TEST(HostileCapture, RequestsThatNobodyAnswersTakeBoundedMemory) {
  Ledger ledger;
  const std::size_t peak = peak_memory(ledger, [](Frame& frame, std::uint64_t i) {
    const std::string request = "GET / HTTP/1.1\r\n\r\n";
    const std::uint64_t round = i / 1000;
    SegmentSpec spec{.source_port = static_cast<std::uint16_t>(1024 + i % 1000), .ack = 1};
    spec.seq = static_cast<std::uint32_t>(round * request.size());
    spec.payload = request;
    frame = segment_frame(spec, i);
    return i < 300'000;
  });
  EXPECT_LT(peak, 250 * kMegabyte);
}

// The data folder's captures.
std::vector<Frame> read_frames(const fs::path& path) {
  std::vector<Frame> frames;
  auto source = open_file(path, "");
  EXPECT_TRUE(source);
  if (!source) return frames;
  Packet packet;
  for (;;) {
    const auto next = (*source)->next(packet);
    if (!next || *next == PacketSource::Next::end) return frames;
    if (*next != PacketSource::Next::packet) continue;
    frames.push_back({packet.at, std::string(packet.bytes), packet.wire_bytes, packet.link_type});
  }
}

std::vector<fs::path> small_captures(std::size_t packets_max) {
  std::vector<fs::path> paths;
  if (!fs::exists(kData)) return paths;
  for (const auto& entry : fs::directory_iterator(kData)) {
    const std::string extension = entry.path().extension();
    if (extension != ".pcap" && extension != ".pcapng") continue;
    if (read_frames(entry.path()).size() <= packets_max) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(CaptureDamage, EachPacketLostInTurnFromTheDataFoldersCapturesInventsNothing) {
  const auto paths = small_captures(120);
  if (paths.empty()) GTEST_SKIP() << "no data folder";
  for (const fs::path& path : paths) {
    // HTTP/2's fields lean on those of messages before: http2_assembly_test damages it.
    if (path.filename().string().starts_with("http2-")) continue;
    SCOPED_TRACE(path.filename());
    const std::vector<Frame> whole = read_frames(path);
    const Messages original = messages_of(*captured_from(whole));
    for (std::size_t lost = 0; lost < whole.size(); ++lost) {
      SCOPED_TRACE("packet " + std::to_string(lost + 1));
      expect_nothing_invented(*captured_from(tests::without(whole, lost)), original);
    }
  }
}

TEST(CaptureDamage, ShuffledRepeatedAndCutUpCapturesOfTheDataFolderGiveTheSameMessages) {
  const auto paths = small_captures(250);
  if (paths.empty()) GTEST_SKIP() << "no data folder";
  int played = 0;
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.filename());
    const std::vector<SegmentSpec> parts = parts_of(read_frames(path));
    const auto intact = captured_from(frames_of(parts));
    // One that is damaged already may give more or less once its packets move.
    const Ledger& ledger = intact->ledger;
    const bool sound = ledger.gaps.count + ledger.duplicate.count + ledger.after_close.count == 0;
    const bool begins = std::all_of(
        intact->connections.begin(), intact->connections.end(),
        [](const RecordedConnection& connection) { return connection.opened.has_value(); });
    const Messages original = messages_of(*intact);
    if (!sound || !begins || original.partial > 0 || original.pairs.empty()) continue;
    ++played;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      std::vector<SegmentSpec> damaged = seed % 2 == 0 ? cut_up(parts, random) : parts;
      repeat_some(damaged, random);
      if (seed > 2) shuffle_near(damaged, random);
      expect_the_same(damaged, original);
    }
  }
  EXPECT_GE(played, 50);
}

}  // namespace
}  // namespace gatedrill::replay::capture
