#include "scenarios/spec/traffic.hpp"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "replay/capture/record.hpp"
#include "replay/recording.hpp"

namespace gatedrill::scenarios {
namespace {

// A folder for the recording that a capture becomes, gone with this object.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code error;
    const auto parent = std::filesystem::temp_directory_path(error);
    std::string path = (error ? "/tmp" : parent.string()) + "/gatedrill-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) {
      return outside_error("cannot make a temporary folder like " + path + "; set TMPDIR");
    }
    return TemporaryFolder(path);
  }

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

  TemporaryFolder& operator=(TemporaryFolder&&) = delete;

  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

bool is_sqlite(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::ifstream file(path, std::ios::binary);
  std::string start(kMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start == kMagic;
}

Result<std::vector<replay::RecordedExchange>> read_recording(const std::string& path) {
  const auto recording = replay::Recording::open(path);
  if (!recording) return recording.error();
  return recording->read_all();
}

// Through a recording of its own, so that a capture is the same traffic whether it is recorded
// first or not (what is secret is replaced in both).
Result<std::vector<replay::RecordedExchange>> read_capture(const std::string& path) {
  auto folder = TemporaryFolder::make();
  if (!folder) return folder.error();
  const std::string recorded = folder->path() + "/traffic.db";
  auto source = replay::capture::open_file(path, {});
  if (!source) return source.error();
  auto files = replay::capture::RecordingFiles::create(recorded, {}, {}, {});
  if (!files) return files.error();
  replay::capture::RecordOptions options;
  const SteadyClock clock;
  const std::atomic<bool> stop{false};
  const auto report =
      replay::capture::record(**source, std::move(*files), options, clock, stop, {});
  if (!report) return report.error();
  if (report->exchanges == 0) {
    return evidence_error(path + ": there is no HTTP/1 request in this capture that could be " +
                          "replayed; see what it holds with gatedrill capture -r");
  }
  return read_recording(recorded);
}

}  // namespace

Result<Traffic> load_traffic(const TrafficSpec& spec, Duration duration) {
  auto exchanges =
      is_sqlite(spec.recording) ? read_recording(spec.recording) : read_capture(spec.recording);
  if (!exchanges) return exchanges.error();
  loadgen::CopyTiming timing;
  timing.duration = duration;
  if (spec.rate) timing.rate_per_second = spec.rate->per_second();
  Traffic traffic;
  traffic.exchanges = std::move(*exchanges);
  auto plan = replay::ReplayPlan::make(traffic.exchanges, timing);
  if (!plan) return plan.error();
  traffic.plan = std::move(*plan);
  return traffic;
}

AnswerBooks make_answer_books(const Scenario& scenario, const Traffic& traffic) {
  std::shared_ptr<AnswerBook> recorded;
  AnswerBooks books;
  for (const Variant& variant : scenario.variants) {
    for (const auto& [name, spec] : variant.world.origins) {
      if (books.contains(name)) continue;
      if (!spec.answers.from_recording) {
        books[name] = std::make_shared<AnswerBook>(
            AnswerBook::fixed(spec.answers.status, spec.answers.body_bytes));
        continue;
      }
      if (!recorded) {
        recorded = std::make_shared<AnswerBook>();
        for (const replay::RecordedExchange& exchange : traffic.exchanges)
          recorded->add(exchange);
      }
      books[name] = recorded;
    }
  }
  return books;
}

}  // namespace gatedrill::scenarios
