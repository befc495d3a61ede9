// What a format's reader makes of bytes, gathered in lists, and what a writer makes of exchanges,
// for tests.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "replay/formats/format.hpp"
#include "replay/recording.hpp"
#include "replay/recording_writer.hpp"

namespace gatedrill::tests {

class Imported final : public replay::formats::ImportSink {
 public:
  void on_exchange(replay::RecordedExchange exchange) override {
    exchanges.push_back(std::move(exchange));
  }

  void on_connection(const replay::RecordedConnection& connection) override {
    connections.push_back(connection);
  }

  void on_loss(const replay::formats::ImportLoss& loss) override { losses.push_back(loss); }

  void count(std::string_view what, std::uint64_t, std::string_view) override {
    ++counts[std::string(what)];
  }

  void on_ledger_line(const replay::LedgerLine& line) override { ledger.push_back(line); }

  void on_recorded_loss(const replay::RecordedLoss& loss) override {
    recorded_losses.push_back(loss);
  }

  [[nodiscard]] bool stopped() const override { return false; }

  // "shop.gor: byte 12: a reason", one a line.
  [[nodiscard]] std::string lost() const {
    std::string text;
    for (const replay::formats::ImportLoss& loss : losses)
      text += loss.place + ": " + loss.reason + "\n";
    return text;
  }

  std::vector<replay::RecordedExchange> exchanges;
  std::vector<replay::RecordedConnection> connections;
  std::vector<replay::formats::ImportLoss> losses;
  std::map<std::string, int> counts;
  std::vector<replay::LedgerLine> ledger;
  std::vector<replay::RecordedLoss> recorded_losses;
  std::string error;  // why reading failed; empty if it did not
};

inline void import_bytes(Imported& imported,
                         const replay::formats::Format& format,
                         const std::vector<std::string>& files,
                         const std::string& name = "in") {
  std::vector<replay::formats::Input> inputs;
  for (const std::string& bytes : files)
    inputs.push_back(replay::formats::Input::from_bytes(bytes, name));
  if (auto done = format.read(inputs, imported); !done) imported.error = done.error().message;
}

// A folder of its own for a test, removed with it.
class Folder {
 public:
  Folder() {
    std::string pattern = ::testing::TempDir() + "formats-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct Exported {
  std::string text;
  std::vector<std::string> notes;
};

// The exchanges in a recording of their own, with their secrets, as the format writes them.
inline void export_exchanges(Exported& exported,
                             const replay::formats::Format& format,
                             const std::vector<replay::RecordedExchange>& exchanges,
                             const std::vector<replay::RecordedConnection>& connections = {}) {
  const Folder folder;
  auto writer = replay::RecordingWriter::create(folder / "t.db", {.keep_secrets = true});
  ASSERT_TRUE(writer) << writer.error().message;
  for (const replay::RecordedExchange& exchange : exchanges)
    ASSERT_TRUE(writer->add(exchange));
  for (const replay::RecordedConnection& connection : connections)
    ASSERT_TRUE(writer->add(connection));
  ASSERT_TRUE(writer->finish({}));
  auto recording = replay::Recording::open(folder / "t.db");
  ASSERT_TRUE(recording) << recording.error().message;
  auto output = replay::formats::Output::to_memory();
  replay::formats::ExportNotes notes;
  auto done = format.write(*recording, output, notes);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(output.finish());
  exported.text = output.text();
  exported.notes = notes.lines();
}

}  // namespace gatedrill::tests
