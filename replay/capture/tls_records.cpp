#include "replay/capture/tls_records.hpp"

#include <algorithm>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

constexpr std::uint16_t kRecordVersion = 0x0303;
// RFC 5246 section 6.2.3 allows the longest records.
constexpr std::size_t kFragmentBytesMax = (std::size_t{1} << 14U) + 2048;
// The shortest records that anybody sends: an empty one of TLS 1.3.
constexpr std::uint64_t kRecordBytesMin = 22;
constexpr std::uint64_t kSlackMax = 1000;
constexpr std::uint64_t kSeekBytesMax = std::uint64_t{1} << 20U;
// What may be decrypted in vain before the records of a direction are given up.
constexpr std::uint64_t kTrialBytesMax = std::uint64_t{64} << 20U;
constexpr int kFailuresMax = 32;

TlsRecordHeader header_of(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  return {.type = byte(0),
          .version = static_cast<std::uint16_t>(byte(1) << 8U | byte(2)),
          .length = std::size_t{byte(3)} << 8U | byte(4)};
}

bool is_plausible(const TlsRecordHeader& header) {
  return header.type >= 20 && header.type <= 23 && header.version >> 8U == 3 &&
         (header.version & 0xffU) <= 4 && header.length > 0 && header.length <= kFragmentBytesMax;
}

}  // namespace

TlsStart tls_start(std::string_view bytes) {
  if (bytes.size() >= TlsRecordHeader::kBytes) {
    return is_plausible(header_of(bytes)) ? TlsStart::yes : TlsStart::no;
  }
  std::string least("\x14\x03\x00\x00\x01", TlsRecordHeader::kBytes);
  std::copy(bytes.begin(), bytes.end(), least.begin());
  return is_plausible(header_of(least)) ? TlsStart::more : TlsStart::no;
}

void TlsRecordStream::push(std::string_view bytes, UnixTime at) {
  if (held_.empty()) {
    held_.append(bytes.substr(read_all(bytes, at)));
    return;
  }
  std::string all = std::exchange(held_, {});
  all.append(bytes);
  all.erase(0, read_all(all, at));
  held_ = std::move(all);
}

void TlsRecordStream::go_on(UnixTime at) {
  paused_ = false;
  push({}, at);
}

std::string TlsRecordStream::take_held() {
  return std::exchange(held_, {});
}

std::size_t TlsRecordStream::read_all(std::string_view bytes, UnixTime at) {
  std::size_t done = 0;
  while (done < bytes.size() && !paused_) {
    const std::size_t consumed = read(bytes.substr(done), at);
    if (consumed == 0) break;
    done += consumed;
  }
  return done;
}

std::size_t TlsRecordStream::read(std::string_view bytes, UnixTime at) {
  if (dead_) {
    listener_.on_unread(side_, bytes.size(), lost_by_, at);
    return bytes.size();
  }
  if (skip_ > 0) {
    const std::size_t skipped = std::min<std::uint64_t>(skip_, bytes.size());
    skip_ -= skipped;
    listener_.on_unread(side_, skipped, lost_by_, at);
    return skipped;
  }
  if (seeking_) return seek(bytes, at);
  if (bytes.size() < TlsRecordHeader::kBytes) return 0;
  const TlsRecordHeader header = header_of(bytes);
  if (!is_plausible(header)) {
    begin_seeking(0, LossReason::broken_record, at);
    return paused_ ? 0 : seek(bytes, at);
  }
  const std::size_t whole = TlsRecordHeader::kBytes + header.length;
  if (bytes.size() < whole) return 0;
  const std::string_view fragment = bytes.substr(TlsRecordHeader::kBytes, header.length);
  const auto type = static_cast<TlsContent>(header.type);
  const bool meaningless = type == TlsContent::change_cipher_spec && ignore_change_cipher_;
  listener_.on_record(bytes.size(), whole);
  if (type == TlsContent::application_data || (key_ && !meaningless)) {
    read_sealed(header, fragment, at);
  } else {
    listener_.on_clear(side_, type, fragment, at);
  }
  return whole;
}

void TlsRecordStream::read_sealed(const TlsRecordHeader& header,
                                  std::string_view fragment,
                                  UnixTime at) {
  if (listener_.takes_sealed(side_, header, fragment, at)) return;
  const std::size_t whole = TlsRecordHeader::kBytes + fragment.size();
  if (const auto opened = open(header, fragment)) {
    listener_.on_opened(side_, *opened, whole, at);
    return;
  }
  ++failures_;
  if (key_) {
    ++slack_;
    lost_by_ = LossReason::broken_record;
    lost_at_ = at;
    listener_.on_unread(side_, whole, lost_by_, at);
    tell_lost(content_of(fragment.size()), 1);
  } else {
    // In TLS 1.3, the rest of a handshake whose secrets are not in the log.
    const LossReason reason = awaits_handshake() ? LossReason::broken_record : LossReason::no_key;
    listener_.on_unread(side_, whole, reason, at);
  }
  if (failures_ < kFailuresMax) return;
  dead_ = true;
  lost_by_ = LossReason::broken_record;
}

// Looks for bytes that open as a record.
std::size_t TlsRecordStream::seek(std::string_view bytes, UnixTime at) {
  std::size_t skipped = 0;
  for (; skipped + TlsRecordHeader::kBytes <= bytes.size(); ++skipped) {
    const TlsRecordHeader header = header_of(bytes.substr(skipped));
    if (!is_plausible(header) || header.version != kRecordVersion) continue;
    const std::size_t whole = TlsRecordHeader::kBytes + header.length;
    if (bytes.size() - skipped < whole) break;
    const std::uint64_t expected = number_;
    const std::size_t coming = coming_.size();
    const auto opened =
        open(header, bytes.substr(skipped + TlsRecordHeader::kBytes, header.length));
    if (!opened) continue;
    if (skipped > 0) listener_.on_unread(side_, skipped, lost_by_, at);
    // Where nothing but the data of the application was lost, it can be told how much.
    const bool same_key = number_ > expected && coming == coming_.size();
    const std::uint64_t records = number_ - expected - 1;
    const std::uint64_t lost = lost_bytes_ + skipped;
    const auto overhead = key_->overhead();
    const std::uint64_t around = records * (TlsRecordHeader::kBytes + overhead.value_or(0));
    const bool known = overhead && same_key && records > 0 && lost >= around;
    seeking_ = false;
    listener_.on_record(bytes.size() - skipped, whole);
    if (!told_)
      tell_lost(known ? std::optional(lost - around) : std::nullopt, same_key ? records : 0);
    listener_.on_opened(side_, *opened, whole, at);
    return skipped + whole;
  }
  if (skipped == 0) return 0;
  lost_bytes_ += skipped;
  listener_.on_unread(side_, skipped, lost_by_, at);
  if (lost_bytes_ > kSeekBytesMax || trial_bytes_ > kTrialBytesMax) {
    dead_ = true;
    tell_sought();
  }
  return skipped;
}

void TlsRecordStream::begin_seeking(std::uint64_t missing, LossReason reason, UnixTime at) {
  if (!has_keys()) {
    listener_.on_hopeless();
    return;
  }
  if (!seeking_) lost_bytes_ = 0;
  seeking_ = true;
  told_ = false;
  lost_bytes_ += missing;
  lost_at_ = at;
  lost_by_ = reason;
  slack_ = std::min(slack_ + missing / kRecordBytesMin + 2, kSlackMax);
}

void TlsRecordStream::gap(std::uint64_t bytes, LossReason reason, UnixTime at) {
  if (dead_) return;
  if (skip_ >= bytes) {
    skip_ -= bytes;
    return;
  }
  const std::uint64_t beyond = bytes - std::exchange(skip_, 0);
  const std::string held = take_held();
  if (!held.empty()) listener_.on_unread(side_, held.size(), reason, at);
  if (!seeking_ && held.size() >= TlsRecordHeader::kBytes) {
    const TlsRecordHeader header = header_of(held);
    const std::size_t missing = TlsRecordHeader::kBytes + header.length - held.size();
    if (beyond <= missing) {
      // One record is lost, and where the next one begins is known.
      if (!has_keys()) return listener_.on_hopeless();
      skip_ = missing - beyond;
      lost_by_ = reason;
      lost_at_ = at;
      ++slack_;
      tell_lost(content_of(header.length), 1);
      return;
    }
  }
  begin_seeking(beyond + held.size(), reason, at);
}

void TlsRecordStream::close(LossReason reason, UnixTime at) {
  const std::string held = take_held();
  if (!held.empty()) listener_.on_unread(side_, held.size(), seeking_ ? lost_by_ : reason, at);
  tell_sought();
}

// How much content a record of that size has, if that can be told.
std::optional<std::uint64_t> TlsRecordStream::content_of(std::size_t fragment_bytes) const {
  const auto overhead = key_ && coming_.empty() ? key_->overhead() : std::nullopt;
  if (!overhead || fragment_bytes < *overhead) return std::nullopt;
  return fragment_bytes - *overhead;
}

void TlsRecordStream::tell_sought() {
  if (seeking_ && !told_) tell_lost(std::nullopt, 0);
}

void TlsRecordStream::tell_lost(std::optional<std::uint64_t> bytes, std::uint64_t records) {
  told_ = true;
  const TlsLoss loss{.bytes = bytes, .records = records, .reason = lost_by_, .at = lost_at_};
  listener_.on_lost(side_, loss);
}

void TlsRecordStream::change_cipher() {
  if (coming_.empty()) return;
  key_ = std::move(coming_.front());
  coming_.erase(coming_.begin());
  number_ = 0;
}

std::optional<std::uint64_t> TlsRecordStream::number_under(TlsRecordKey& key,
                                                           std::uint64_t first,
                                                           const TlsRecordHeader& header,
                                                           std::string_view fragment) {
  for (std::uint64_t number = first; number <= first + slack_; ++number) {
    if (trial_bytes_ > kTrialBytesMax) break;
    if (key.open(header, fragment, number)) return number;
    trial_bytes_ += fragment.size();
  }
  return std::nullopt;
}

std::optional<TlsRecordKey::Opened> TlsRecordStream::open(const TlsRecordHeader& header,
                                                          std::string_view fragment) {
  // Almost always, it is the next record under the same key.
  if (key_ && slack_ == 0) {
    if (const auto opened = key_->open(header, fragment, number_)) {
      ++number_;
      failures_ = 0;
      return opened;
    }
  }
  const auto found = [&](std::uint64_t number) {
    number_ = number + 1;
    slack_ = 0;
    failures_ = 0;
    trial_bytes_ = 0;
    return key_->open(header, fragment, number);
  };
  if (key_ && slack_ > 0) {
    if (const auto number = number_under(*key_, number_, header, fragment)) return found(*number);
  }
  for (auto key = coming_.begin(); key != coming_.end(); ++key) {
    const auto number = number_under(*key, 0, header, fragment);
    if (!number) continue;
    key_ = std::move(*key);
    coming_.erase(coming_.begin(), key + 1);
    return found(*number);
  }
  if (!key_ || !coming_.empty()) return std::nullopt;
  auto updated = key_->next();
  if (!updated) return std::nullopt;
  const auto number = number_under(*updated, 0, header, fragment);
  if (!number) return std::nullopt;
  key_ = std::move(*updated);
  return found(*number);
}

}  // namespace gatedrill::replay::capture
