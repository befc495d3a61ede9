#include "gateway/net/connection.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gateway/net/listener.hpp"
#include "tests/support/loopback_peer.hpp"

namespace gatedrill::gateway {
namespace {

namespace asio = boost::asio;
using testing::LoopbackListener;
using testing::PeerSocket;

TcpEndpoint loopback(std::uint16_t port) {
  return {asio::ip::address_v4::loopback(), port};
}

// Keeps what a connection says, and does what the test wants besides.
struct Owner final : ConnectionOwner {
  void on_connection_event(Connection& connection) override {
    ++told;
    if (consumes) {
      received.append(connection.input());
      connection.consume(connection.input().size());
      if (!connection.ended()) connection.start_read();
    }
    if (also) also(connection);
  }

  int told = 0;
  bool consumes = false;
  std::string received;
  std::function<void(Connection&)> also;
};

// A connection of ours and the peer at its other end; both are driven by the test's thread.
struct Pair {
  explicit Pair(Reactor& reactor, LoopbackListener& listener)
      : connection(std::make_unique<Connection>(reactor, 1)) {
    connection->owned_by(&owner);
    connection->connect(loopback(listener.port()));
    peer = listener.accept();
  }

  Owner owner;
  std::unique_ptr<Connection> connection;
  PeerSocket peer;
};

class ConnectionTest : public ::testing::Test {
 protected:
  // Everything that is ready now.
  void settle() {
    context_.restart();
    while (context_.poll() > 0) {
    }
  }

  void settle_until(const std::function<bool()>& done) {
    context_.restart();
    while (!done())
      context_.run_one();
  }

  // Connected, nothing told yet.
  std::unique_ptr<Pair> connect() {
    auto pair = std::make_unique<Pair>(reactor_, listener_);
    settle_until([&] { return !pair->connection->connecting(); });
    EXPECT_FALSE(pair->connection->connect_error());
    pair->owner.told = 0;
    return pair;
  }

  asio::io_context context_{1};
  Reactor reactor_{context_};
  LoopbackListener listener_;
};

TEST_F(ConnectionTest, TellsItsOwnerWhatHasArrived) {
  const auto pair = connect();
  pair->connection->start_read();
  settle();
  EXPECT_EQ(pair->owner.told, 0);
  pair->peer.send("hello");
  settle();
  EXPECT_EQ(pair->owner.told, 1);
  EXPECT_EQ(pair->connection->input(), "hello");
}

TEST_F(ConnectionTest, SaysNothingUntilAReadIsPending) {
  const auto pair = connect();
  pair->peer.send("early");
  settle();
  EXPECT_EQ(pair->owner.told, 0);
  pair->connection->start_read();
  EXPECT_EQ(pair->owner.told, 0);  // never from inside the call
  settle();
  EXPECT_EQ(pair->owner.told, 1);
  EXPECT_EQ(pair->connection->input(), "early");
}

TEST_F(ConnectionTest, AppendsToWhatWaitsToBeConsumed) {
  const auto pair = connect();
  pair->connection->start_read();
  pair->peer.send("one ");
  settle();
  pair->connection->consume(2);
  pair->connection->start_read();
  pair->peer.send("two");
  settle();
  EXPECT_EQ(pair->connection->input(), "e two");
}

TEST_F(ConnectionTest, ReadsTheEndThatCameTogetherWithTheLastBytes) {
  const auto pair = connect();
  pair->connection->start_read();
  pair->peer.send("last");
  pair->peer.close();
  settle();
  EXPECT_EQ(pair->connection->input(), "last");
  EXPECT_FALSE(pair->connection->ended());
  pair->connection->start_read();
  settle();
  EXPECT_EQ(pair->owner.told, 2);
  EXPECT_EQ(pair->connection->read_error(), asio::error::eof);
  EXPECT_EQ(pair->connection->input(), "last");
}

TEST_F(ConnectionTest, TellsAResetFromAnEnd) {
  const auto pair = connect();
  pair->connection->start_read();
  pair->peer.reset();
  settle();
  EXPECT_EQ(pair->connection->read_error(), asio::error::connection_reset);
}

TEST_F(ConnectionTest, PassesOnMoreThanAnyBufferHolds) {
  const auto pair = connect();
  pair->owner.consumes = true;
  pair->connection->start_read();
  std::string sent;
  for (int i = 0; i < 40'000; ++i)
    sent.append("line ").append(std::to_string(i)).append("\n");
  std::thread sender([&] {
    pair->peer.send(sent);
    pair->peer.close();
  });
  settle_until([&] { return pair->connection->ended(); });
  sender.join();
  EXPECT_EQ(pair->owner.received, sent);
}

TEST_F(ConnectionTest, StopsReadingAtTheLimitAndGoesOnOnceThereIsRoom) {
  constexpr std::size_t kLimit = 100'000;
  const auto pair = connect();
  std::string sent(300'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i)
    sent[i] = static_cast<char>('a' + i % 26);
  std::thread sender([&] { pair->peer.send(sent); });
  std::string received;
  while (received.size() < sent.size()) {
    const std::size_t wanted = std::min(kLimit, sent.size() - received.size());
    settle_until([&] {
      pair->connection->start_read(kLimit);
      return pair->connection->input().size() >= wanted;
    });
    const std::size_t size = pair->connection->input().size();
    if (size >= kLimit) {
      pair->connection->start_read(kLimit);
      settle();
      EXPECT_EQ(pair->connection->input().size(), size);
      EXPECT_LE(size, 2 * kLimit);
    }
    received.append(pair->connection->input());
    pair->connection->consume(pair->connection->input().size());
  }
  sender.join();
  EXPECT_EQ(received, sent);
}

TEST_F(ConnectionTest, WritesWhatTheKernelTakesAndTheRestWhenItTakesMore) {
  const auto pair = connect();
  const std::string sent(8U * 1024 * 1024, 'w');
  std::size_t written = 0;
  pair->owner.also = [&](Connection& connection) {
    written += connection.write(std::string_view(sent).substr(written));
    if (written < sent.size()) connection.await_writable();
  };
  pair->owner.also(*pair->connection);
  EXPECT_LT(written, sent.size());
  std::size_t received = 0;
  std::thread reader([&] {
    while (received < sent.size())
      received += pair->peer.read_available();
  });
  settle_until([&] { return written == sent.size(); });
  reader.join();
  EXPECT_EQ(received, sent.size());
  EXPECT_FALSE(pair->connection->write_error());
}

TEST_F(ConnectionTest, IsToldAtOnceThatItCanWriteWhenItCan) {
  const auto pair = connect();
  pair->connection->await_writable();
  EXPECT_EQ(pair->owner.told, 0);
  settle();
  EXPECT_EQ(pair->owner.told, 1);
}

TEST_F(ConnectionTest, SaysWhyItWasNotMade) {
  std::uint16_t closed_port = 0;
  {
    const LoopbackListener gone;
    closed_port = gone.port();
  }
  Owner owner;
  Connection connection(reactor_, 1);
  connection.owned_by(&owner);
  connection.connect(loopback(closed_port));
  settle_until([&] { return !connection.connecting(); });
  EXPECT_EQ(connection.connect_error(), asio::error::connection_refused);
}

TEST_F(ConnectionTest, FailsToWriteOnceThePeerIsGone) {
  const auto pair = connect();
  pair->peer.reset();
  settle();
  EXPECT_EQ(pair->connection->write("into the void"), 0U);
  EXPECT_TRUE(pair->connection->write_error());
}

TEST_F(ConnectionTest, MayBeDestroyedByItsOwnerWhileItTells) {
  const auto pair = connect();
  pair->owner.also = [&](Connection&) { pair->connection.reset(); };
  pair->connection->start_read();
  pair->peer.send("x");
  settle();
  EXPECT_EQ(pair->owner.told, 1);
  EXPECT_EQ(pair->peer.read_to_end(), "");
}

// The reading end of a pipe.
struct WatchedPipe final : Watched {
  explicit WatchedPipe(Reactor& its_reactor) : reactor(its_reactor) {
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    key = reactor.add(ends[0], *this);
  }

  ~WatchedPipe() { close(); }

  void on_ready(std::uint32_t /*events*/) override {
    ++told;
    if (then) then();
  }

  void write() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }

  void close() {
    reactor.remove(std::exchange(key, 0));
    for (int& end : ends)
      if (end >= 0) ::close(std::exchange(end, -1));
  }

  Reactor& reactor;
  std::array<int, 2> ends{-1, -1};
  Reactor::Key key = 0;
  int told = 0;
  std::function<void()> then;
};

TEST(ReactorTest, TellsNobodyWhatWasMeantForAnotherBefore) {
  asio::io_context context{1};
  Reactor reactor(context);
  WatchedPipe first(reactor);
  WatchedPipe second(reactor);
  // Both are ready in one batch. Whoever is told first closes the other, and a third one takes over
  // its descriptor and its place.
  std::unique_ptr<WatchedPipe> third;
  const auto replace = [&](WatchedPipe& other) {
    other.close();
    third = std::make_unique<WatchedPipe>(reactor);
  };
  first.then = [&] { replace(second); };
  second.then = [&] { replace(first); };
  first.write();
  second.write();
  while (context.poll() > 0) {
  }
  EXPECT_EQ(first.told + second.told, 1);
  EXPECT_EQ(third->told, 0);
  third->write();
  while (context.poll() > 0) {
  }
  EXPECT_EQ(third->told, 1);
}

TEST(ReactorTest, TellsWhoDeferredItselfOnceAndLater) {
  asio::io_context context{1};
  Reactor reactor(context);
  WatchedPipe pipe(reactor);
  WatchedPipe removed(reactor);
  reactor.defer(pipe.key);
  reactor.defer(removed.key);
  EXPECT_EQ(pipe.told, 0);
  removed.close();
  while (context.poll() > 0) {
  }
  EXPECT_EQ(pipe.told, 1);
  EXPECT_EQ(removed.told, 0);
}

TEST(ReactorTest, MayEndWhileItsContextStillWaitsForIt) {
  asio::io_context context{1};
  const LoopbackListener listener;
  {
    Reactor reactor(context);
    Connection connection(reactor, 1);
    connection.connect(loopback(listener.port()));
    connection.await_writable();
  }
  context.run();  // ends, as nothing is waited for
}

class ListenerTest : public ConnectionTest {
 protected:
  void open(Listener& listener) {
    const auto opened = listener.open(loopback(0));
    ASSERT_TRUE(opened);
  }

  Listener::OnAccept counting() {
    return [this](int descriptor, const TcpEndpoint& peer) {
      EXPECT_EQ(peer.address(), asio::ip::address_v4::loopback());
      EXPECT_NE(::fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
      accepted_.push_back(std::make_unique<Connection>(reactor_, 0, descriptor));
    };
  }

  std::vector<std::unique_ptr<Connection>> clients(const Listener& listener, int count) {
    std::vector<std::unique_ptr<Connection>> all;
    for (int i = 0; i < count; ++i) {
      all.push_back(std::make_unique<Connection>(reactor_, 1));
      all.back()->connect(listener.local());
    }
    return all;
  }

  Places places_{1000, [] {}};
  std::vector<std::unique_ptr<Connection>> accepted_;
};

TEST_F(ListenerTest, AcceptsEverybodyWhoWaits) {
  Listener listener(reactor_, places_, counting());
  open(listener);
  listener.start();
  const auto connected = clients(listener, 150);
  settle();
  EXPECT_EQ(accepted_.size(), 150U);
}

TEST_F(ListenerTest, AcceptsNobodyForWhomThereIsNoPlace) {
  Listener* started = nullptr;
  Places places(3, [&] { started->start(); });
  Listener listener(reactor_, places, counting());
  started = &listener;
  open(listener);
  listener.start();
  const auto connected = clients(listener, 5);
  settle();
  EXPECT_EQ(accepted_.size(), 3U);
  places.leave();
  settle();
  EXPECT_EQ(accepted_.size(), 4U);
  places.leave();
  places.leave();
  settle();
  EXPECT_EQ(accepted_.size(), 5U);
  EXPECT_EQ(places.taken(), 2U);
}

TEST_F(ListenerTest, AcceptsNobodyOnceClosed) {
  Listener listener(reactor_, places_, counting());
  open(listener);
  listener.start();
  const auto connected = clients(listener, 2);
  listener.close();
  settle();
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(ListenerTest, SharesItsAddressOnlyWithThoseWhoShareIt) {
  Listener first(reactor_, places_, counting());
  ASSERT_TRUE(first.open(loopback(0), true));
  Listener second(reactor_, places_, counting());
  EXPECT_TRUE(second.open(first.local(), true));
  Listener third(reactor_, places_, counting());
  const auto refused = third.open(first.local());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("stop what uses the port"), std::string::npos);
}

TEST(PlacesTest, AreNeverMoreAndWhoWaitsIsToldOfEveryChance) {
  constexpr std::size_t kMax = 3;
  std::atomic<int> told{0};
  std::atomic<std::size_t> inside{0};
  std::atomic<bool> too_many{false};
  Places places(kMax, [&] { ++told; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5'000;) {
        if (!places.enter()) continue;
        if (++inside > kMax) too_many = true;
        --inside;
        places.leave();
        ++round;
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_FALSE(too_many);
  EXPECT_EQ(places.taken(), 0U);
  for (std::size_t i = 0; i < kMax; ++i)
    EXPECT_TRUE(places.enter());
  told = 0;
  EXPECT_FALSE(places.enter());
  EXPECT_EQ(told, 0);
  places.leave();
  places.leave();
  EXPECT_EQ(told, 1);
}

TEST(ReadBuffersTest, LendTheSameMemoryAgain) {
  ReadBuffers buffers;
  std::size_t capacity = 1;
  auto buffer = buffers.take(capacity);
  EXPECT_EQ(capacity, ReadBuffers::kSmall);
  std::size_t large = ReadBuffers::kSmall + 1;
  auto larger = buffers.take(large);
  EXPECT_EQ(large, ReadBuffers::kLarge);
  std::size_t huge = 10 * ReadBuffers::kLarge;
  auto hugest = buffers.take(huge);
  EXPECT_EQ(huge, 10 * ReadBuffers::kLarge);
  const char* const memory = buffer.get();
  buffers.give(std::move(buffer), capacity);
  buffers.give(std::move(larger), large);
  buffers.give(std::move(hugest), huge);
#ifndef __SANITIZE_ADDRESS__
  EXPECT_EQ(buffers.take(capacity).get(), memory);
#else
  static_cast<void>(memory);
#endif
}

}  // namespace
}  // namespace gatedrill::gateway
