#include "replay/capture/http2_frames.hpp"

#include <algorithm>

namespace gatedrill::replay::capture {
namespace {

// Of a field block, and of a frame that is held until it is whole.
constexpr std::size_t kBlockBytesMax = 256 * 1024;
// Where the beginning of a frame is only guessed.
constexpr std::size_t kGuessedLengthMax = 1024 * 1024;
constexpr std::uint32_t kGuessedStreamMax = 1U << 24U;
constexpr std::size_t kSettingsBytesMax = 1024;

constexpr std::uint8_t kEndStream = 0x1;
constexpr std::uint8_t kEndHeaders = 0x4;
constexpr std::uint8_t kPadded = 0x8;
constexpr std::uint8_t kPriority = 0x20;
constexpr std::size_t kPriorityBytes = 5;
constexpr std::uint8_t kIgnored = 0xff;

std::uint32_t number(std::string_view bytes, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value = value << 8U | static_cast<unsigned char>(bytes[i]);
  return value;
}

Http2FrameHeader header_of(std::string_view bytes) {
  return {.length = number(bytes, 3),
          .type = static_cast<std::uint8_t>(bytes[3]),
          .flags = static_cast<std::uint8_t>(bytes[4]),
          .stream = number(bytes.substr(5), 4) & 0x7fffffffU};
}

bool has(const Http2FrameHeader& header, std::uint8_t flag) {
  return (header.flags & flag) != 0;
}

// Whether nine bytes that may be anything look like the head of a frame.
bool is_plausible(std::string_view bytes) {
  const Http2FrameHeader header = header_of(bytes);
  const auto only = [&](std::uint8_t flags) { return (header.flags & ~flags) == 0; };
  const bool reserved = (static_cast<unsigned char>(bytes[5]) & 0x80U) != 0;
  if (reserved || header.length > kGuessedLengthMax || header.stream > kGuessedStreamMax) {
    return false;
  }
  const bool of_stream = header.stream != 0;
  switch (header.type) {
    case Http2FrameHeader::data:
      return of_stream && only(kEndStream | kPadded);
    case Http2FrameHeader::headers:
      return of_stream && only(kEndStream | kEndHeaders | kPadded | kPriority);
    case Http2FrameHeader::priority:
      return of_stream && header.length == kPriorityBytes && only(0);
    case Http2FrameHeader::rst_stream:
      return of_stream && header.length == 4 && only(0);
    case Http2FrameHeader::settings:
      return !of_stream && header.length % 6 == 0 && only(kEndStream) &&
             header.length <= kSettingsBytesMax;
    case Http2FrameHeader::push_promise:
      return of_stream && header.length >= 4 && only(kEndHeaders | kPadded);
    case Http2FrameHeader::ping:
      return !of_stream && header.length == 8 && only(kEndStream);
    case Http2FrameHeader::goaway:
      return !of_stream && header.length >= 8 && only(0);
    case Http2FrameHeader::window_update:
      return header.length == 4 && only(0);
    case Http2FrameHeader::continuation:
      return of_stream && only(kEndHeaders);
    default:
      return false;
  }
}

// Whether all frames that a segment holds, if it begins with one, look like some.
bool begins_with_frames(std::string_view segment) {
  if (segment.size() < Http2FrameHeader::kBytes) return false;
  while (segment.size() >= Http2FrameHeader::kBytes) {
    if (!is_plausible(segment)) return false;
    const std::size_t whole = Http2FrameHeader::kBytes + header_of(segment).length;
    segment.remove_prefix(std::min(whole, segment.size()));
  }
  return true;
}

// Without padding and what else comes before a field block. Nothing if the lengths do not fit.
std::optional<std::string_view> block_of(const Http2FrameHeader& header, std::string_view payload) {
  std::size_t padding = 0;
  if (has(header, kPadded)) {
    if (payload.empty()) return std::nullopt;
    padding = static_cast<unsigned char>(payload[0]);
    payload.remove_prefix(1);
  }
  const std::size_t before = header.type == Http2FrameHeader::push_promise ? 4
                             : has(header, kPriority) && header.type == Http2FrameHeader::headers
                                 ? kPriorityBytes
                                 : 0;
  if (payload.size() < before + padding) return std::nullopt;
  return payload.substr(before, payload.size() - before - padding);
}

}  // namespace

Http2FrameReader::Http2FrameReader(
    MessageKind kind, bool from_start, Http2Listener& listener, HeldBytes& budget, Ledger& ledger)
    : kind_(kind),
      state_(!from_start                    ? State::lost
             : kind == MessageKind::request ? State::preface
                                            : State::frame),
      listener_(listener),
      budget_(budget),
      ledger_(ledger) {
  if (!from_start) inflater_.forget();
}

Http2FrameReader::~Http2FrameReader() {
  block_.clear();
  hold({});
}

void Http2FrameReader::push(std::string_view bytes, UnixTime at) {
  at_segment_begin_ = held_.empty();
  std::string all;
  if (!held_.empty()) {
    all = std::exchange(held_, {});
    all.append(bytes);
    bytes = all;
  } else {
    held_at_ = at;
  }
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t consumed = read(bytes.substr(done), at);
    if (consumed == 0) break;
    done += consumed;
    at_segment_begin_ = false;
    held_at_ = at;
  }
  if (all.empty()) {
    hold(std::string(bytes.substr(done)));
  } else {
    all.erase(0, done);
    hold(std::move(all));
  }
  if (budget_.now <= budget_.max || held_.size() + block_.size() == 0) return;
  lose_place(LossReason::memory_limit, at);
}

void Http2FrameReader::hold(std::string bytes) {
  held_ = std::move(bytes);
  const std::size_t charge = held_.size() + block_.size();
  budget_.now += charge - charged_;
  charged_ = charge;
}

std::size_t Http2FrameReader::read(std::string_view bytes, UnixTime at) {
  switch (state_) {
    case State::preface:
      return read_preface(bytes, at);
    case State::frame:
      return read_frame(bytes, at);
    case State::payload:
      return read_payload(bytes, at);
    case State::lost:
      if (at_segment_begin_ && begins_with_frames(bytes)) {
        state_ = State::frame;
        return read_frame(bytes, at);
      }
      return skip(bytes, lost_by_, at);
  }
  return 0;
}

std::size_t Http2FrameReader::read_preface(std::string_view bytes, UnixTime at) {
  switch (http2_client_start(bytes)) {
    case Start::no:
      lose_place(LossReason::malformed_framing, at);
      return skip(bytes, LossReason::malformed_framing, at);
    case Start::more:
      return 0;
    case Start::yes:
      break;
  }
  ledger_.http2.add(kHttp2Preface.size());
  state_ = State::frame;
  return kHttp2Preface.size();
}

std::size_t Http2FrameReader::read_frame(std::string_view bytes, UnixTime at) {
  if (bytes.size() < Http2FrameHeader::kBytes) return 0;
  const Http2FrameHeader header = header_of(bytes);
  const bool continues = header.type == Http2FrameHeader::continuation;
  if (in_block_ != continues || (continues && header.stream != block_frame_.stream)) {
    // Nothing else may stand between the frames of a field block (RFC 9113 section 6.10).
    lose_place(LossReason::malformed_framing, at);
    return skip(bytes, LossReason::malformed_framing, at);
  }
  frame_ = header;
  const bool of_message =
      header.type == Http2FrameHeader::data || header.type == Http2FrameHeader::headers;
  const std::size_t whole = Http2FrameHeader::kBytes + header.length;
  const bool useful = continues || header.type == Http2FrameHeader::headers ||
                      header.type == Http2FrameHeader::push_promise ||
                      header.type == Http2FrameHeader::rst_stream ||
                      header.type == Http2FrameHeader::goaway;
  if (useful && header.length <= kBlockBytesMax) {
    if (bytes.size() < whole) return 0;
    ledger_.http2.add(whole);
    if (of_message) listener_.on_frame(kind_, header.stream);
    whole_frame(header, bytes.substr(Http2FrameHeader::kBytes, header.length), at);
    return whole;
  }
  std::size_t head = Http2FrameHeader::kBytes;
  content_left_ = header.length;
  padding_left_ = 0;
  if (header.type == Http2FrameHeader::data && has(header, kPadded) && header.length > 0) {
    if (bytes.size() == head) return 0;
    padding_left_ =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[head]), header.length - 1);
    content_left_ = header.length - 1 - padding_left_;
    ++head;
  }
  if (of_message) listener_.on_frame(kind_, header.stream);
  if (useful) {
    inflater_.forget();
    in_block_ = false;
    listener_.on_stream_cut(kind_, header.stream, LossReason::head_too_large);
  }
  if (header.type != Http2FrameHeader::data) frame_.type = kIgnored;
  ledger_.http2.add(head);
  state_ = State::payload;
  if (content_left_ + padding_left_ == 0) end_payload(at);
  return head;
}

std::size_t Http2FrameReader::read_payload(std::string_view bytes, UnixTime at) {
  const std::string_view content = bytes.substr(0, content_left_);
  const std::size_t padding = std::min(bytes.size() - content.size(), padding_left_);
  content_left_ -= content.size();
  padding_left_ -= padding;
  ledger_.http2.bytes += content.size() + padding;
  if (frame_.type == Http2FrameHeader::data && !content.empty()) {
    listener_.on_body(kind_, frame_.stream, content);
  }
  if (content_left_ + padding_left_ == 0) end_payload(at);
  return content.size() + padding;
}

void Http2FrameReader::end_payload(UnixTime at) {
  state_ = State::frame;
  if (frame_.type == Http2FrameHeader::data && has(frame_, kEndStream)) {
    listener_.on_stream_end(kind_, frame_.stream, at);
  }
}

void Http2FrameReader::whole_frame(const Http2FrameHeader& header,
                                   std::string_view payload,
                                   UnixTime at) {
  switch (header.type) {
    case Http2FrameHeader::rst_stream:
      listener_.on_stream_reset(kind_, header.stream, at);
      return;
    case Http2FrameHeader::goaway:
      if (payload.size() >= 4) listener_.on_goaway(kind_, number(payload, 4) & 0x7fffffffU, at);
      return;
    case Http2FrameHeader::continuation:
      block_.append(payload);
      break;
    default: {
      const auto fragment = block_of(header, payload);
      if (!fragment) {
        inflater_.forget();
        listener_.on_stream_cut(kind_, header.stream, LossReason::malformed_framing);
        return;
      }
      const bool promise = header.type == Http2FrameHeader::push_promise;
      const std::size_t at_promised = has(header, kPadded) ? 1 : 0;
      promised_ = promise ? number(payload.substr(at_promised), 4) & 0x7fffffffU : 0;
      in_block_ = true;
      block_frame_ = header;
      block_at_ = held_at_;
      block_ = *fragment;
      break;
    }
  }
  if (block_.size() > kBlockBytesMax) {
    inflater_.forget();
    in_block_ = false;
    block_.clear();
    listener_.on_stream_cut(kind_, block_frame_.stream, LossReason::head_too_large);
  } else if (has(header, kEndHeaders)) {
    end_block(at);
  }
}

void Http2FrameReader::end_block(UnixTime at) {
  in_block_ = false;
  const std::string block = std::exchange(block_, {});
  auto fields = inflater_.inflate(block);
  const std::uint32_t stream = block_frame_.stream;
  if (promised_ != 0) {
    listener_.on_push(promised_);
    return;
  }
  if (fields) {
    listener_.on_fields(kind_, stream, std::move(*fields), block_at_);
  } else {
    listener_.on_stream_cut(kind_, stream, LossReason::malformed_framing);
  }
  if (has(block_frame_, kEndStream)) listener_.on_stream_end(kind_, stream, at);
}

void Http2FrameReader::gap(std::uint64_t bytes, LossReason reason, UnixTime at) {
  const std::size_t left = content_left_ + padding_left_;
  if (state_ == State::payload && held_.empty() && bytes <= left) {
    const std::size_t content = std::min<std::size_t>(bytes, content_left_);
    content_left_ -= content;
    padding_left_ -= bytes - content;
    const bool data = frame_.type == Http2FrameHeader::data;
    if (data && content > 0) listener_.on_stream_cut(kind_, frame_.stream, reason);
    if (content_left_ + padding_left_ == 0) end_payload(at);
    return;
  }
  if (state_ == State::frame && held_.size() >= Http2FrameHeader::kBytes) {
    const Http2FrameHeader header = header_of(held_);
    const std::size_t missing = Http2FrameHeader::kBytes + header.length - held_.size();
    if (bytes <= missing) {
      skip(held_, reason, at);
      hold({});
      frame_ = header;
      frame_.type = kIgnored;
      content_left_ = missing - bytes;
      padding_left_ = 0;
      state_ = content_left_ > 0 ? State::payload : State::frame;
      // What is held is a part of a head, or says how a stream or the connection ends.
      const bool ends =
          header.type == Http2FrameHeader::rst_stream || header.type == Http2FrameHeader::goaway;
      if (!ends) {
        inflater_.forget();
        in_block_ = false;
      }
      listener_.on_stream_cut(kind_, header.stream, reason);
      return;
    }
  }
  lose_place(reason, at);
}

void Http2FrameReader::lose_place(LossReason reason, UnixTime at) {
  if (!held_.empty()) skip(held_, reason, at);
  state_ = State::lost;
  lost_by_ = reason;
  in_block_ = false;
  block_.clear();
  hold({});
  inflater_.forget();
  listener_.on_place_lost(kind_, reason);
}

void Http2FrameReader::close(LossReason reason, UnixTime at) {
  if (held_.empty()) return;
  skip(held_, reason, at);
  hold({});
}

std::size_t Http2FrameReader::skip(std::string_view bytes, LossReason reason, UnixTime at) {
  ledger_.skipped.add(bytes.size());
  listener_.on_skipped(kind_, reason, bytes.size(), at);
  return bytes.size();
}

Start http2_client_start(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, kHttp2Preface.size());
  if (!kHttp2Preface.starts_with(begin)) return Start::no;
  return begin.size() == kHttp2Preface.size() ? Start::yes : Start::more;
}

// A server begins with SETTINGS (RFC 9113 section 3.4).
Start http2_server_start(std::string_view bytes) {
  constexpr std::string_view kSettings("\0\0\0\x04\0\0\0\0\0", Http2FrameHeader::kBytes);
  std::string begin(bytes.substr(0, Http2FrameHeader::kBytes));
  const bool whole = begin.size() == Http2FrameHeader::kBytes;
  begin.append(kSettings.substr(begin.size()));
  const bool settings = is_plausible(begin) && begin[3] == '\x04' && begin[4] == '\0';
  if (!settings) return Start::no;
  return whole ? Start::yes : Start::more;
}

std::optional<MessageKind> http2_kind_of(std::string_view segment) {
  if (!begins_with_frames(segment)) return std::nullopt;
  while (segment.size() >= Http2FrameHeader::kBytes) {
    const Http2FrameHeader header = header_of(segment);
    const std::string_view payload = segment.substr(Http2FrameHeader::kBytes, header.length);
    const bool head = header.type == Http2FrameHeader::headers && has(header, kEndHeaders);
    const auto block = head ? block_of(header, payload) : std::nullopt;
    if (block && payload.size() == header.length) {
      Http2Inflater inflater;
      inflater.forget();
      const auto fields = inflater.inflate(*block);
      if (fields && !fields->value(":status").empty()) return MessageKind::response;
      if (fields && !fields->value(":method").empty()) return MessageKind::request;
      return std::nullopt;
    }
    segment.remove_prefix(std::min(Http2FrameHeader::kBytes + header.length, segment.size()));
  }
  return std::nullopt;
}

}  // namespace gatedrill::replay::capture
