// TLS connections between OpenSSL's client and server, read from their bytes and a key log.
#include "replay/capture/tls_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/core/random.hpp"
#include "tests/support/captured.hpp"
#include "tests/support/tls_talk.hpp"

namespace gatedrill::replay::capture {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using tests::Captured;
using tests::Conversation;
using tests::Frame;
using tests::get;
using tests::ok;
using tests::TlsTalk;

// Frames with the secrets that belong to them.
struct Sealed {
  std::vector<Frame> frames;
  std::string key_log;
};

void read(Captured& into, const Sealed& sealed) {
  Capture capture({}, into);
  capture.key_log().add(sealed.key_log);
  for (const Frame& frame : sealed.frames)
    capture.add(tests::packet_of(frame));
  capture.finish();
  into.ledger = capture.ledger();
  EXPECT_THAT(into.ledger.open_sums(), IsEmpty());
}

std::string text_of(const Sealed& sealed) {
  Captured all;
  read(all, sealed);
  return all.text();
}

std::uint64_t lost(const Captured& captured, LossReason reason) {
  return captured.ledger.losses[static_cast<std::size_t>(reason)].bytes;
}

Sealed four_exchanges(const TlsTalk::Options& options = {}, std::size_t segment_bytes = 1460) {
  Conversation talk({.segment_bytes = segment_bytes});
  talk.handshake();
  TlsTalk tls(talk, options);
  for (const std::string name : {"/a", "/b", "/c", "/d"}) {
    tls.client(get(name));
    tls.server(ok("body of " + name));
  }
  tls.close_notify(false);
  talk.close();
  return {talk.frames(), tls.key_log()};
}

constexpr const char* kFourText =
    "GET /a > 200 body of /a\nGET /b > 200 body of /b\nGET /c > 200 body of /c\n"
    "GET /d > 200 body of /d\n";

TEST(TlsReader, EverySuiteOfBothVersionsIsRead) {
  struct Case {
    int version;
    const char* suite;
    bool encrypt_then_mac = true;
  };

  const std::vector<Case> cases = {
      {TLS1_3_VERSION, "TLS_AES_128_GCM_SHA256"},
      {TLS1_3_VERSION, "TLS_AES_256_GCM_SHA384"},
      {TLS1_3_VERSION, "TLS_CHACHA20_POLY1305_SHA256"},
      {TLS1_3_VERSION, "TLS_AES_128_CCM_SHA256"},
      {TLS1_3_VERSION, "TLS_AES_128_CCM_8_SHA256"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-CHACHA20-POLY1305"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-CCM"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-CCM8"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA256"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA384"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-SHA", false},
      {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-SHA384", false},
      {TLS1_2_VERSION, "ECDHE-ECDSA-ARIA128-GCM-SHA256"},
      {TLS1_2_VERSION, "ECDHE-ECDSA-CAMELLIA128-SHA256"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(std::string(one.suite) + (one.encrypt_then_mac ? "" : ", MAC then encrypt"));
    Captured all;
    read(all, four_exchanges({.version = one.version,
                              .suite = one.suite,
                              .encrypt_then_mac = one.encrypt_then_mac}));
    EXPECT_EQ(all.text(), kFourText);
    EXPECT_THAT(all.losses, IsEmpty());
    EXPECT_EQ(all.ledger.tls_unread.bytes, 0U);
    ASSERT_EQ(all.connections.size(), 1U);
    EXPECT_EQ(all.connections[0].closed_by, "client");
  }
}

TEST(TlsReader, EverySizeOfSegmentGivesTheSame) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (std::size_t size = 1; size < 40; ++size)
      EXPECT_EQ(text_of(four_exchanges({.version = version}, size)), kFourText) << size;
  }
}

TEST(TlsReader, LongBodiesInManyRecordsAreWhole) {
  const std::string body(200'000, 'x');
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client(get("/"));
  tls.server(ok(body));
  EXPECT_EQ(text_of({talk.frames(), tls.key_log()}), "GET / > 200 " + body + "\n");
}

TEST(TlsReader, TheKeysOfEitherSideMayChangeOnTheWay) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client(get("/a"));
  tls.update_keys(true, false);
  tls.server(ok("A"));
  tls.client(get("/b"));
  tls.update_keys(false, true);
  tls.server(ok("B"));
  tls.client(get("/c"));
  tls.server(ok("C"));
  EXPECT_EQ(text_of({talk.frames(), tls.key_log()}),
            "GET /a > 200 A\nGET /b > 200 B\nGET /c > 200 C\n");
}

TEST(TlsReader, AServerMayAskForAnotherHello) {
  EXPECT_EQ(text_of(four_exchanges({.retry = true})), kFourText);
}

TEST(TlsReader, AResumedSessionIsRead) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Conversation first;
    first.handshake();
    TlsTalk full(first, {.version = version});
    full.client(get("/"));
    Conversation second;
    second.handshake();
    TlsTalk tls(second, {.version = version, .resumed = full.session()});
    ASSERT_TRUE(tls.resumed());
    tls.client(get("/again"));
    tls.server(ok("A"));
    EXPECT_EQ(text_of({second.frames(), tls.key_log()}), "GET /again > 200 A\n");
  }
}

TEST(TlsReader, EarlyDataCountsIfTheServerTakesIt) {
  for (const bool taken : {true, false}) {
    Conversation first;
    first.handshake();
    TlsTalk full(first);
    full.client(get("/"));
    Conversation second;
    second.handshake();
    TlsTalk tls(second,
                {.resumed = full.session(), .early_data = get("/early"), .take_early_data = taken});
    ASSERT_EQ(tls.early_data_taken(), taken);
    if (!taken) tls.client(get("/early"));
    tls.server(ok("E"));
    tls.client(get("/next"));
    tls.server(ok("N"));
    Captured all;
    read(all, {second.frames(), tls.key_log()});
    EXPECT_EQ(all.text(), "GET /early > 200 E\nGET /next > 200 N\n");
    EXPECT_EQ(lost(all, LossReason::early_data) > 0, !taken);
  }
}

TEST(TlsReader, WithoutItsKeyAConnectionIsCountedAndNamed) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Sealed sealed = four_exchanges({.version = version});
    sealed.key_log = four_exchanges({.version = version}).key_log;  // of another connection
    Captured all;
    read(all, sealed);
    EXPECT_THAT(all.exchanges, IsEmpty());
    EXPECT_GT(lost(all, LossReason::no_key), 0U);
    EXPECT_EQ(all.ledger.decrypted.bytes, 0U);
    ASSERT_EQ(all.losses.size(), 2U);
    EXPECT_EQ(all.losses[0].reason, "no_key");
    EXPECT_EQ(all.losses[0].direction, "request");
    EXPECT_EQ(all.losses[1].direction, "response");
    ASSERT_EQ(all.connections.size(), 1U);
    EXPECT_EQ(all.connections[0].connection, all.losses[0].connection);
  }
  EXPECT_THAT(std::string(note_of(LossReason::no_key)),
              HasSubstr("no key for this connection in the key log"));
}

TEST(TlsReader, ASecretThatIsWrongOpensNothingAndInventsNothing) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Sealed sealed = four_exchanges({.version = version});
    for (std::size_t at = 0; at < sealed.key_log.size(); ++at) {
      // The last digit of each secret.
      char& c = sealed.key_log[at];
      if (at + 1 < sealed.key_log.size() && sealed.key_log[at + 1] == '\n') {
        c = c == '0' ? '1' : '0';
      }
    }
    Captured all;
    read(all, sealed);
    EXPECT_THAT(all.exchanges, IsEmpty());
    EXPECT_GT(lost(all, LossReason::broken_record), 0U);
    EXPECT_EQ(all.ledger.decrypted.bytes, 0U);
  }
}

TEST(TlsReader, KeysMayComeLongAfterTheHandshake) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const Sealed sealed = four_exchanges({.version = version});
    Captured at_once;
    read(at_once, sealed);
    for (std::size_t late = 0; late <= sealed.frames.size(); ++late) {
      Captured all;
      Capture capture({}, all);
      capture.key_log().expect_more(true);
      for (std::size_t i = 0; i < sealed.frames.size(); ++i) {
        const Frame& frame = sealed.frames[i];
        if (i == late) capture.key_log().add(sealed.key_log);
        capture.add(tests::packet_of(frame));
      }
      if (late == sealed.frames.size()) capture.key_log().add(sealed.key_log);
      capture.finish();
      EXPECT_THAT(capture.ledger().open_sums(), IsEmpty());
      // Behind the close, it is too late.
      if (late + 3 < sealed.frames.size()) {
        EXPECT_EQ(all.exchanges, at_once.exchanges) << late;
      }
    }
  }
}

TEST(TlsReader, AConnectionThatEndsBeforeItsKeyIsReadAsksForItOnceMore) {
  const Sealed sealed = four_exchanges();
  Captured all;
  Capture capture({}, all);
  int looks = 0;
  capture.key_log().follow([&] {
    if (++looks > 1) capture.key_log().add(sealed.key_log);
  });
  // All of it within less time than the log is looked at again, but for the close.
  for (Frame frame : sealed.frames) {
    frame.at = sealed.frames.front().at;
    capture.add(tests::packet_of(frame));
  }
  capture.finish();
  EXPECT_EQ(all.text(), kFourText);
  EXPECT_EQ(looks, 2);
}

TEST(TlsReader, AKeyThatComesInASilenceIsUsedInIt) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client(get("/a"));
  tls.server(ok("body"));
  Captured all;
  Capture capture({}, all);
  std::string written;
  capture.key_log().follow([&] { capture.key_log().add(std::exchange(written, {})); });
  for (const Frame& frame : talk.frames())
    capture.add(tests::packet_of(frame));
  UnixTime now = talk.frames().back().at;
  capture.pass(now);
  EXPECT_EQ(all.text(), "");
  written = tls.key_log();
  now.ns += 1'000'000'000;
  capture.pass(now);
  EXPECT_EQ(all.text(), "GET /a > 200 body\n");
}

TEST(TlsReader, WhatWaitsForAKeyIsBounded) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  for (int i = 0; i < 60; ++i) {
    tls.client(get("/"));
    tls.server(ok(std::string(100'000, 'x')));
  }
  Captured all;
  Capture capture({}, all);
  capture.key_log().expect_more(true);
  for (const Frame& frame : talk.frames())
    capture.add(tests::packet_of(frame));
  capture.key_log().add(tls.key_log());
  capture.finish();
  all.ledger = capture.ledger();
  EXPECT_THAT(all.ledger.open_sums(), IsEmpty());
  EXPECT_THAT(all.exchanges, IsEmpty());
  EXPECT_GT(lost(all, LossReason::no_key), std::uint64_t{6'000'000});
}

TEST(TlsReader, ACaptureThatBeginsBehindTheHandshakeIsCountedAsSuch) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Conversation talk;
    talk.handshake();
    TlsTalk tls(talk, {.version = version});
    const std::size_t begin = talk.frames().size();
    tls.client(get("/a"));
    tls.server(ok("A"));
    Sealed sealed{talk.frames(), tls.key_log()};
    sealed.frames.erase(sealed.frames.begin(),
                        sealed.frames.begin() + static_cast<std::ptrdiff_t>(begin));
    Captured all;
    read(all, sealed);
    EXPECT_THAT(all.exchanges, IsEmpty());
    EXPECT_GT(lost(all, LossReason::handshake_missing), 0U);
  }
}

TEST(TlsReader, OlderVersionsAreCountedAsUnsupported) {
  Captured all;
  read(all, four_exchanges({.version = TLS1_1_VERSION}));
  EXPECT_THAT(all.exchanges, IsEmpty());
  EXPECT_GT(lost(all, LossReason::unsupported_cipher), 0U);
}

TEST(TlsReader, CloseNotifyEndsABodyThatLastsUntilClose) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client(get("/"));
  tls.server("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it");
  tls.close_notify(false);
  talk.server_reset();
  EXPECT_EQ(text_of({talk.frames(), tls.key_log()}), "GET / > 200 all of it\n");
}

TEST(TlsReader, OtherProtocolsInsideTlsAreCountedAsWhatTheyAre) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client("EHLO me\r\n");
  tls.server("250 hello\r\n");
  Captured all;
  read(all, {talk.frames(), tls.key_log()});
  EXPECT_EQ(all.ledger.other_protocols.bytes, 9U + 11U);
  EXPECT_EQ(all.ledger.decrypted.bytes, 9U + 11U);
}

// With any one packet lost behind the handshake: nothing invented, nothing shifted, and what the
// packet does not touch is whole.
TEST(TlsReader, ALostPacketCostsOnlyWhatWasInIt) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::size_t size : {std::size_t{1460}, std::size_t{60}, std::size_t{17}}) {
      Conversation talk({.segment_bytes = size});
      talk.handshake();
      TlsTalk tls(talk, {.version = version});
      tls.client(get("/first"));
      tls.server(ok("first"));
      const std::size_t begin = talk.frames().size();
      for (const std::string name : {"/a", "/b", "/c", "/d"}) {
        tls.client(get(name));
        tls.server(ok("body of " + name));
      }
      for (std::size_t missing = begin; missing < talk.frames().size(); ++missing) {
        SCOPED_TRACE("version " + std::to_string(version) + ", segments of " +
                     std::to_string(size) + ", frame " + std::to_string(missing));
        Sealed sealed{talk.frames(), tls.key_log()};
        sealed.frames.erase(sealed.frames.begin() + static_cast<std::ptrdiff_t>(missing));
        Captured all;
        read(all, sealed);
        int whole = 0;
        for (const RecordedExchange& exchange : all.exchanges) {
          if (!exchange.request || !exchange.response) continue;
          if (!exchange.request->complete || !exchange.response->complete) continue;
          Captured one;
          one.exchanges.push_back(exchange);
          EXPECT_THAT("GET /first > 200 first\n" + std::string(kFourText), HasSubstr(one.text()));
          ++whole;
        }
        EXPECT_GE(whole, 4) << all.text();
      }
    }
  }
}

TEST(TlsReader, AGapInsideABodyOfKnownLengthLosesNothingElse) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Conversation talk;
    talk.handshake();
    TlsTalk tls(talk, {.version = version});
    tls.client(get("/a"));
    tls.client(get("/b"));
    const std::size_t begin = talk.frames().size();
    tls.server("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    tls.server(std::string(100'000, 'x') + ok("B"));
    Sealed sealed{talk.frames(), tls.key_log()};
    // Twenty segments: more than a record, so that the next one has to be looked for.
    const auto gap = sealed.frames.begin() + static_cast<std::ptrdiff_t>(begin) + 40;
    sealed.frames.erase(gap, gap + 40);
    Captured all;
    read(all, sealed);
    EXPECT_THAT(all.text(), testing::StartsWith("GET /a > 200 xxx"));
    EXPECT_THAT(all.text(), testing::EndsWith("...\nGET /b > 200 B\n"));
    EXPECT_EQ(all.ledger.tls_lost.count, 3U);
    EXPECT_EQ(all.ledger.tls_lost.bytes, 3U * 16'384U);
  }
}

TEST(TlsReader, ADamagedRecordCostsOnlyItself) {
  Conversation talk;
  talk.handshake();
  TlsTalk tls(talk);
  tls.client(get("/a"));
  tls.server(ok("A"));
  tls.client(get("/b"));
  const std::size_t damaged = talk.frames().size();
  tls.server(ok("B"));
  tls.client(get("/c"));
  tls.server(ok("C"));
  Sealed sealed{talk.frames(), tls.key_log()};
  sealed.frames[damaged].bytes.back() ^= 1;
  Captured all;
  read(all, sealed);
  EXPECT_THAT(all.text(), HasSubstr("GET /a > 200 A\n"));
  EXPECT_THAT(all.text(), HasSubstr("GET /c > 200 C\n"));
  EXPECT_GT(lost(all, LossReason::broken_record), 0U);
}

// Whatever is done to the bytes, the account closes (read checks it) and no message is made up.
TEST(TlsReader, RandomDamageNeverBreaksTheAccount) {
  Random random(11);
  const Sealed original = four_exchanges({}, 50);
  for (int round = 0; round < 200; ++round) {
    Sealed sealed = original;
    const std::uint64_t damages = 1 + random.below(5);
    for (std::uint64_t i = 0; i < damages; ++i) {
      const std::size_t at = random.below(sealed.frames.size());
      std::string& bytes = sealed.frames[at].bytes;
      switch (random.below(3)) {
        case 0:
          bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
          break;
        case 1:
          sealed.frames.erase(sealed.frames.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          std::swap(sealed.frames[at], sealed.frames[random.below(sealed.frames.size())]);
          break;
      }
    }
    Captured all;
    read(all, sealed);
    for (const RecordedExchange& exchange : all.exchanges) {
      if (!exchange.request || !exchange.response) continue;
      if (!exchange.request->complete || !exchange.response->complete) continue;
      Captured one;
      one.exchanges.push_back(exchange);
      EXPECT_THAT(std::string(kFourText), HasSubstr(one.text()));
    }
  }
}

}  // namespace
}  // namespace gatedrill::replay::capture
