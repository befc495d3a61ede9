// The file formats that recordings come from and go to. A format is one folder entry (gor, har,
// ...) that offers a `Format`; `formats.cpp` lists them, and the commands know nothing else of any.
//
//   files ──Input──► Format::read ──► ImportSink ──► RecordingWriter ──► traffic.db
//   traffic.db ──► Recording ──► Format::write ──► Output ──► file
//                                     └─► ExportNotes: what the format cannot carry
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"
#include "replay/formats/input.hpp"
#include "replay/formats/output.hpp"
#include "replay/recording.hpp"

namespace gatedrill::replay::formats {

// Something that stands in a file and cannot be in the recording, or not whole.
struct ImportLoss {
  std::string place{};      // "shop.gor: byte 512", "access.log:8"
  std::string reason{};     // "the answer's body is not in the file"; few different ones
  std::string detail{};     // what was there instead, for people
  std::string direction{};  // "request", "response", or empty
  UnixTime at{};            // of the exchange, if that is known
  std::int64_t connection = 0;
  std::uint64_t bytes = 0;
};

// Takes what a reader finds.
class ImportSink {
 public:
  ImportSink() = default;
  ImportSink(const ImportSink&) = delete;
  ImportSink& operator=(const ImportSink&) = delete;
  virtual ~ImportSink() = default;

  virtual void on_exchange(RecordedExchange exchange) = 0;
  virtual void on_connection(const RecordedConnection& connection) = 0;
  virtual void on_loss(const ImportLoss& loss) = 0;
  // One more of something that the account names: "entries without an answer".
  virtual void count(std::string_view what, std::uint64_t bytes, std::string_view note) = 0;
  // A line that another recording's account or list of losses had.
  virtual void on_ledger_line(const LedgerLine& line) = 0;
  virtual void on_recorded_loss(const RecordedLoss& loss) = 0;

  // Behind the last of a file that is a recording itself: its account, if it brought one, is the
  // one of what stands in it.
  virtual void on_end_of_recording() {}

  // Nothing more is wanted: writing failed, or the user asked to stop.
  [[nodiscard]] virtual bool stopped() const = 0;
};

// What an export left out or had to change, and of which exchanges.
class ExportNotes {
 public:
  void add(std::string_view what, std::int64_t exchange);

  // One line each, such as "2 exchanges without a request left out: 4, 9".
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  struct Note {
    std::string what;
    std::uint64_t count = 0;
    std::vector<std::int64_t> first;  // some of the exchanges
  };

  std::vector<Note> notes_;
};

struct Format {
  std::string_view name;   // as users type it
  std::string_view title;  // "GoReplay recording (.gor)"
  // Other words for it, so that they are understood or suggested: "goreplay".
  std::vector<std::string_view> aliases{};
  // Whether a file that begins so (its first 4 KiB, gzip undone) is probably of this format. Null
  // where `read` is.
  bool (*looks_like)(std::string_view beginning) = nullptr;

  // Reads files, in this order, as one recording. Fails (usage, with the place and what was
  // expected there) where a file is not of this format. Null: the format is only written.
  Result<void> (*read)(std::span<Input> inputs, ImportSink& sink) = nullptr;

  // What reads it, where it is not `read`.
  std::string_view read_by{};

  // Writes the whole recording. Null: the format is only read.
  Result<void> (*write)(const Recording& recording, Output& output, ExportNotes& notes) = nullptr;
};

}  // namespace gatedrill::replay::formats
