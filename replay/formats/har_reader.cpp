// Splits a HAR into its entries, one in memory at a time, however large the file is.
#include <istream>
#include <vector>

#include "replay/formats/har.hpp"

namespace gatedrill::replay::formats {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kEntryDepthMax = 100;

// Follows the events of the parser. What is not an element of log.entries passes by.
class EntrySplitter final : public nlohmann::json_sax<Json> {
 public:
  EntrySplitter(Input& input, InputBuffer& buffer, HarEntryReader& reader, ImportSink& sink)
      : input_(input), buffer_(buffer), reader_(reader), sink_(sink) {}

  bool null() override { return value(Json(nullptr)); }

  bool boolean(bool b) override { return value(Json(b)); }

  bool number_integer(number_integer_t n) override { return value(Json(n)); }

  bool number_unsigned(number_unsigned_t n) override { return value(Json(n)); }

  bool number_float(number_float_t n, const string_t&) override { return value(Json(n)); }

  bool string(string_t& text) override {
    return building_.empty() ? value(Json(nullptr)) : value(Json(std::move(text)));
  }

  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }

  bool start_array(std::size_t) override { return open(Json::array()); }

  bool end_object() override { return close(); }

  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!building_.empty()) {
      key_ = std::move(name);
      return true;
    }
    if (depth_ == 1) in_log_ = name == "log";
    if (depth_ == 2) in_entries_ = in_log_ && name == "entries";
    return true;
  }

  bool parse_error(std::size_t position,
                   const std::string& token,
                   const Json::exception&) override {
    if (buffer_.failure()) {
      error = *buffer_.failure();
      return false;
    }
    const bool ended = position > buffer_.position() || token.empty() || token.back() == '\0';
    error = usage_error(place_of(input_, position > 0 ? position - 1 : 0) +
                        ": this is no JSON any more" +
                        (ended ? ": the file ends here, inside of it; save it again" : ""));
    return false;
  }

  std::optional<Error> error;
  bool found_entries = false;

 private:
  bool open(Json container) {
    if (building_.empty()) {
      if (depth_ == 0 && !container.is_object()) return wrong("expected an object with a \"log\"");
      ++depth_;
      constexpr std::size_t kEntries = 3;  // {"log": {"entries": [
      if (depth_ == kEntries && in_entries_) {
        if (!container.is_array()) return wrong("\"entries\" has to be an array");
        found_entries = true;
      }
      if (depth_ != kEntries + 1 || !in_entries_) return true;
      --depth_;  // it is built, not walked
      place_ = place_of(input_, buffer_.position() - 1);
      entry_ = std::move(container);
      building_.push_back(&entry_);
      return true;
    }
    if (building_.size() >= kEntryDepthMax) return wrong("JSON nested more than 100 deep");
    building_.push_back(add(std::move(container)));
    return true;
  }

  Json* add(Json item) {
    Json& parent = *building_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(item));
      return &parent.back();
    }
    return &(parent[key_] = std::move(item));
  }

  bool value(Json item) {
    if (!building_.empty()) {
      add(std::move(item));
    } else if (depth_ == 0) {
      return wrong("expected an object with a \"log\"");
    } else if (in_entries_ && depth_ == 3) {
      sink_.on_loss(
          {.place = place_of(input_, buffer_.position()), .reason = "an entry that is no object"});
    }
    return true;
  }

  bool close() {
    if (building_.empty()) {
      --depth_;
      if (depth_ == 2) in_entries_ = false;
      if (depth_ == 1) in_log_ = false;
      return true;
    }
    building_.pop_back();
    if (!building_.empty()) return true;
    if (entry_.is_object()) {
      reader_.read(entry_, place_);
    } else {
      sink_.on_loss({.place = place_, .reason = "an entry that is no object"});
    }
    entry_ = Json();
    return !sink_.stopped();
  }

  bool wrong(const std::string& what) {
    const std::uint64_t position = depth_ == 0 ? 0 : buffer_.position() - 1;
    error = usage_error(place_of(input_, position) + ": " + what);
    return false;
  }

  Input& input_;
  InputBuffer& buffer_;
  HarEntryReader& reader_;
  ImportSink& sink_;
  std::size_t depth_ = 0;
  bool in_log_ = false;
  bool in_entries_ = false;
  std::string key_;
  Json entry_;
  std::string place_;
  std::vector<Json*> building_;  // from the entry to what is open in it
};

}  // namespace

bool looks_like_har(std::string_view beginning) {
  if (beginning.starts_with("\xEF\xBB\xBF")) beginning.remove_prefix(3);
  const std::size_t brace = beginning.find_first_not_of(" \t\r\n");
  if (brace == std::string_view::npos || beginning[brace] != '{') return false;
  const std::size_t log = beginning.find("\"log\"", brace);
  return log != std::string_view::npos && beginning.find_first_not_of(" \t\r\n", brace + 1) == log;
}

Result<void> read_har(std::span<Input> inputs, ImportSink& sink) {
  HarEntryReader reader(sink);
  for (Input& input : inputs) {
    InputBuffer buffer(input);
    std::istream stream(&buffer);
    EntrySplitter splitter(input, buffer, reader, sink);
    const bool whole = Json::sax_parse(stream, &splitter);
    if (splitter.error) return *splitter.error;
    if (buffer.failure()) return *buffer.failure();
    if (!whole) return {};  // stopped
    if (!splitter.found_entries) {
      return usage_error(input.name() + ": is JSON, but has no log.entries, which make a HAR");
    }
  }
  return {};
}

Format har_format() {
  return {.name = "har",
          .title = "HTTP Archive 1.2 (.har) of browsers and proxies",
          .aliases = {"http-archive"},
          .looks_like = looks_like_har,
          .read = read_har,
          .write = write_har};
}

}  // namespace gatedrill::replay::formats
