// HTTP Archive 1.2 (.har), as browsers, proxies and this program write it.
//
// What HAR has no member for stands under names that begin with an underscore, so that exchanges
// come back from a HAR of ours as they were, but for what only TCP knows: of an entry, a request
// and an answer `_gatedrill`, of a body `_base64` where it is no text and `_wire_base64` where its
// content coding cannot be done again alike, of a field `_latin1` where it was not UTF-8.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "replay/formats/format.hpp"

namespace gatedrill::replay::formats {

[[nodiscard]] bool looks_like_har(std::string_view beginning);
Result<void> read_har(std::span<Input> inputs, ImportSink& sink);
Result<void> write_har(const Recording& recording, Output& output, ExportNotes& notes);

[[nodiscard]] Format har_format();

// Private to the format: entries as exchanges.
class HarEntryReader {
 public:
  explicit HarEntryReader(ImportSink& sink) : sink_(sink) {}

  void read(const nlohmann::json& entry, const std::string& place);

 private:
  struct Url;
  struct Place;

  void read_request(const nlohmann::json& request, const Url& url, Place& at);
  void read_request_body(const nlohmann::json& post_data, bool exact, Place& at);
  void read_response(const nlohmann::json& entry, Place& at);
  static void read_times(const nlohmann::json& entry, RecordedExchange& exchange);
  void read_content(const nlohmann::json& response, Place& at);
  void lose(const Place& at,
            std::string_view direction,
            std::string_view reason,
            std::uint64_t bytes,
            std::string_view detail = {});
  std::int64_t connection_of(const nlohmann::json& entry, const Url& url);

  ImportSink& sink_;
  UnixTime last_at_{};
  std::map<std::string, std::int64_t> known_;
  std::int64_t connections_ = 0;
};

}  // namespace gatedrill::replay::formats
