// The same raw bytes to gatedrill, nginx and HAProxy, each before a recording origin: what the
// client gets and what the origin sees, held against the table of differences. One test for each
// proxy, so that ctest runs them side by side; another one for the reasons in the table.
//
// GD_GOLDEN=write writes the outcomes into the table anew and keeps its reasons. GD_INPUT=some
// words plays only the inputs with these in their name, and prints what becomes of them.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "chaos/proxy/held_port.hpp"
#include "tests/differential/input.hpp"
#include "tests/differential/outcome.hpp"
#include "tests/differential/proxy.hpp"
#include "tests/differential/recording_origin.hpp"
#include "tests/differential/table.hpp"
#include "tests/support/loopback_peer.hpp"

namespace gatedrill::differential {
namespace {

const std::string kTable = std::string(GD_SOURCE_DIR) + "/tests/golden/differential.txt";
constexpr std::size_t kLanes = 6;  // proxies of a kind side by side, each with its own origin

bool writes_table() {
  const char* mode = std::getenv("GD_GOLDEN");
  return mode != nullptr && std::string(mode) == "write";
}

std::string input_asked_for() {
  const char* words = std::getenv("GD_INPUT");
  return words == nullptr ? "" : words;
}

// Of what the origin saw. How much of one that goes wrong on its way is passed on is chance.
std::vector<std::string> whole_requests(std::string origin) {
  std::vector<std::string> requests;
  origin += " + ";
  for (std::size_t at = origin.find(" + "); at != std::string::npos; at = origin.find(" + ")) {
    const std::string request = origin.substr(0, at);
    if (!request.ends_with("(incomplete)") && request != "nothing") requests.push_back(request);
    origin.erase(0, at + 3);
  }
  return requests;
}

// Its queue is full, so that the kernel answers no SYN.
class Blackhole {
 public:
  Blackhole() : listener_(0), waiting_(testing::connect_to(listener_.port())) {}

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

 private:
  testing::LoopbackListener listener_;
  testing::PeerSocket waiting_;
};

class Differential : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::setenv("LC_ALL", "C", 1); }

  void SetUp() override {
    folder_ = ::testing::TempDir() + "differential-" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
  }

  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Every input's outcome, in the inputs' order.
  std::vector<Outcome> play_all(Program program,
                                const std::vector<Input>& inputs,
                                Sending sending = Sending::whole) {
    const chaos::HeldPort refused = chaos::HeldPort::take("127.0.0.1", 0).value();
    const Blackhole blackhole;
    std::vector<Outcome> outcomes(inputs.size());
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> lanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes.emplace_back([&, lane] {
        RecordingOrigin origin;
        const Backends backends{
            .origin = origin.port(), .refused = refused.port(), .blackhole = blackhole.port()};
        const Proxy proxy(program, backends, folder_ + "/" + std::to_string(lane));
        for (std::size_t index = next++; index < inputs.size(); index = next++)
          outcomes[index] = play(inputs[index], proxy.port(), origin, sending);
      });
    }
    for (std::thread& lane : lanes)
      lane.join();
    return outcomes;
  }

  void print(Program program, const std::string& words) {
    std::vector<Input> inputs;
    for (const Input& input : all_inputs()) {
      if (input.name.find(words) != std::string::npos) inputs.push_back(input);
    }
    const std::vector<Outcome> outcomes = play_all(program, inputs);
    for (std::size_t index = 0; index < inputs.size(); ++index) {
      std::cout << row_text({.section = inputs[index].section,
                             .name = inputs[index].name,
                             .sent = sent_text(inputs[index]),
                             .outcomes = {{program, outcomes[index]}}});
    }
  }

  static void write_column(Program program, const std::vector<Outcome>& outcomes) {
    Table old = read_table(kTable);
    Table table;
    table.versions = old.versions;
    table.versions[program] = version_of(program);
    table.versions.erase(Program::gatedrill);
    for (std::size_t index = 0; index < outcomes.size(); ++index) {
      const Input& input = all_inputs()[index];
      Row row = old.find(input.name) != nullptr ? *old.find(input.name) : Row{};
      row.section = input.section;
      row.name = input.name;
      row.sent = sent_text(input);
      row.outcomes[program] = outcomes[index];
      table.rows.push_back(std::move(row));
    }
    write_table(table, kTable);
  }

  void expect_column(Program program) {
    const std::string version = version_of(program);
    Table table = read_table(kTable);
    if (program != Program::gatedrill) {
      if (version.empty()) {
        GTEST_SKIP() << to_string(program) << " is not installed (packages/install test)";
      }
      if (!writes_table() && version != table.versions[program]) {
        GTEST_SKIP() << to_string(program) << " is of version " << version
                     << " and the table of version " << table.versions[program];
      }
    }
    if (!input_asked_for().empty()) return print(program, input_asked_for());
    const std::vector<Outcome> outcomes = play_all(program, all_inputs());
    if (writes_table()) return write_column(program, outcomes);
    for (std::size_t index = 0; index < outcomes.size(); ++index) {
      const Input& input = all_inputs()[index];
      const Row* row = table.find(input.name);
      if (row == nullptr) continue;  // the test of the table says so
      const Outcome& expected = row->outcomes.at(program);
      if (outcomes[index] == expected) continue;
      Row now = *row;
      now.outcomes[program] = outcomes[index];
      ADD_FAILURE() << "The table says of " << to_string(program) << "\n  " << expected.client
                    << "\n  " << expected.origin << "\nbut the row now is\n"
                    << row_text(now);
    }
  }

  std::string folder_;
};

TEST_F(Differential, GatedrillDoesWhatTheTableSays) {
  expect_column(Program::gatedrill);
}

TEST_F(Differential, GatedrillDoesTheSameByteByByte) {
  if (writes_table()) GTEST_SKIP() << "the table is being written";
  Table table = read_table(kTable);
  const std::vector<Outcome> outcomes =
      play_all(Program::gatedrill, all_inputs(), Sending::byte_by_byte);
  for (std::size_t index = 0; index < outcomes.size(); ++index) {
    const Row* row = table.find(all_inputs()[index].name);
    if (row == nullptr) continue;  // the test of the table says so
    const Outcome& whole = row->outcomes.at(Program::gatedrill);
    EXPECT_EQ(outcomes[index].client, whole.client) << row->name;
    EXPECT_EQ(whole_requests(outcomes[index].origin), whole_requests(whole.origin)) << row->name;
  }
}

TEST_F(Differential, NginxDoesWhatTheTableSays) {
  expect_column(Program::nginx);
}

TEST_F(Differential, HaproxyDoesWhatTheTableSays) {
  expect_column(Program::haproxy);
}

TEST(DifferentialTable, HasARowForEachInputAndNoOther) {
  if (writes_table()) GTEST_SKIP() << "the table is being written";
  Table table = read_table(kTable);
  std::set<std::string> names;
  for (const Input& input : all_inputs()) {
    EXPECT_TRUE(names.insert(input.name).second) << "two inputs are called " << input.name;
    const Row* row = table.find(input.name);
    ASSERT_NE(row, nullptr) << input.name << " is missing; GD_GOLDEN=write adds it";
    EXPECT_EQ(row->sent, sent_text(input)) << input.name;
    EXPECT_EQ(row->outcomes.size(), kPrograms.size()) << input.name;
  }
  EXPECT_EQ(table.rows.size(), names.size());
}

TEST(DifferentialTable, SaysWhyForEachDifferenceAndOnlyThere) {
  for (const Row& row : read_table(kTable).rows) {
    bool any = false;
    for (const Program program : {Program::nginx, Program::haproxy}) {
      const bool differs = row.differs_from(program);
      any = any || differs;
      const std::string reason = row.reason_for(program);
      const std::string own(to_string(program));
      if (differs) {
        EXPECT_FALSE(reason.empty()) << "no reason why we differ from " << own << ":\n"
                                     << row_text(row);
      } else {
        EXPECT_FALSE(row.reasons.contains(own)) << "we do not differ from " << own << ":\n"
                                                << row_text(row);
      }
    }
    EXPECT_TRUE(any || row.reasons.empty()) << "there is no difference:\n" << row_text(row);
    for (const auto& [key, reason] : row.reasons) {
      EXPECT_TRUE(key == "nginx" || key == "haproxy" || key == "both") << row_text(row);
      const std::string kind = reason.substr(0, reason.find(": "));
      EXPECT_NE(std::find(kReasonKinds.begin(), kReasonKinds.end(), kind), kReasonKinds.end())
          << "a reason begins with its kind: " << reason;
    }
  }
}

}  // namespace
}  // namespace gatedrill::differential
