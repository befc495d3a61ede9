#include "replay/capture/tls_reader.hpp"

#include <algorithm>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

constexpr std::uint16_t kTls12 = 0x0303;
constexpr std::uint16_t kTls13 = 0x0304;
// RFC 5246 section 6.2.3 allows the longest records.
constexpr std::size_t kFragmentBytesMax = (std::size_t{1} << 14U) + 2048;
// The shortest records that anybody sends: an empty one of TLS 1.3.
constexpr std::uint64_t kRecordBytesMin = 22;
constexpr std::uint64_t kSlackMax = 1000;
constexpr std::uint64_t kSeekBytesMax = std::uint64_t{1} << 20U;
// What may be decrypted in vain before a connection's records are given up.
constexpr std::uint64_t kTrialBytesMax = std::uint64_t{64} << 20U;
constexpr int kFailuresMax = 32;
constexpr std::size_t kWaitingBytesMax = std::size_t{4} << 20U;
constexpr std::uint8_t kCloseNotify = 0;

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

enum class Verdict : std::uint8_t { yes, no, more };

Verdict is_tls(std::string_view bytes) {
  constexpr std::string_view kLeast("\x14\x03\x00\x00\x01", TlsRecordHeader::kBytes);
  if (bytes.size() >= TlsRecordHeader::kBytes) {
    return is_plausible(header_of(bytes)) ? Verdict::yes : Verdict::no;
  }
  std::string whole(kLeast);
  std::copy(bytes.begin(), bytes.end(), whole.begin());
  return is_plausible(header_of(whole)) ? Verdict::more : Verdict::no;
}

}  // namespace

TlsReader::TlsReader(const ConnectionStart& start,
                     HttpContext& context,
                     const KeyLog& keys,
                     OpenStream open_inner)
    : start_(start), context_(context), keys_(keys), open_inner_(std::move(open_inner)) {}

TlsReader::~TlsReader() {
  context_.held.now -= charged_;
}

TlsReader::Event TlsReader::event(Event::Kind kind, Side from, UnixTime at) const {
  Event event{.kind = kind, .from = from, .at = at};
  if (start_.tcp != nullptr) event.delivery = start_.tcp->delivery;
  return event;
}

void TlsReader::on_data(Side from, std::string_view bytes, UnixTime at) {
  switch (phase_) {
    case Phase::plain:
      inner_->on_data(from, bytes, at);
      return;
    case Phase::deciding:
      events_.push_back(event(Event::Kind::data, from, at));
      events_.back().bytes = bytes;
      decide();
      break;
    case Phase::open:
      context_.ledger.tls.add(bytes.size());
      if (start_.tcp != nullptr) delivery_ = start_.tcp->delivery;
      take(from, bytes, at);
      break;
    case Phase::waiting: {
      context_.ledger.tls.add(bytes.size());
      Event data = event(Event::Kind::data, from, at);
      data.bytes = bytes;
      wait(std::move(data));
      break;
    }
    case Phase::closed:
      context_.ledger.tls.add(bytes.size());
      unread(from, bytes.size(), closed_by_, at);
      return;
  }
  charge();
}

// The first bytes of either side tell.
void TlsReader::decide() {
  std::array<std::string, 2> begins;
  for (const Event& event : events_) {
    std::string& begin = begins[static_cast<std::size_t>(event.from)];
    if (event.kind == Event::Kind::gap) begin.clear();
    if (begin.size() < TlsRecordHeader::kBytes) begin.append(event.bytes);
  }
  Verdict verdict = Verdict::more;
  for (const std::string& begin : begins) {
    if (!begin.empty() && verdict == Verdict::more) verdict = is_tls(begin);
  }
  if (verdict == Verdict::more) return;
  become(verdict == Verdict::yes ? Phase::open : Phase::plain);
}

void TlsReader::become(Phase phase) {
  phase_ = phase;
  ConnectionStart inside = start_;
  if (phase == Phase::open) {
    if (start_.tcp != nullptr) inside.tcp = &facts_;
    for (const Event& event : events_) {
      if (!event.bytes.empty()) context_.ledger.tls.add(event.bytes.size());
    }
  }
  inner_ = open_inner_(inside);
  replay(std::exchange(events_, {}));
}

void TlsReader::replay(std::vector<Event> events) {
  for (Event& event : events) {
    if (phase_ == Phase::waiting) {
      events_.push_back(std::move(event));
      continue;
    }
    switch (event.kind) {
      case Event::Kind::data:
        if (phase_ == Phase::plain) {
          inner_->on_data(event.from, event.bytes, event.at);
        } else if (phase_ == Phase::open) {
          delivery_ = event.delivery;
          take(event.from, event.bytes, event.at);
        } else {
          unread(event.from, event.bytes.size(), closed_by_, event.at);
        }
        break;
      case Event::Kind::gap:
        on_gap(event.from, event.gap_bytes, event.reason, event.at);
        break;
      case Event::Kind::end:
        on_end(event.from, event.at);
        break;
    }
  }
}

void TlsReader::wait(Event event) {
  events_.push_back(std::move(event));
  if (keys_.version() == keys_seen_) return;
  derive_keys();
  if (phase_ != Phase::open) return;
  replay(std::exchange(events_, {}));
}

void TlsReader::close_unread(LossReason reason) {
  phase_ = Phase::closed;
  closed_by_ = reason;
  for (const Side side : {Side::first, Side::second}) {
    const std::string held = std::exchange(direction(side).held, {});
    if (!held.empty()) unread(side, held.size(), reason, UnixTime{});
  }
  replay(std::exchange(events_, {}));
}

void TlsReader::take(Side from, std::string_view bytes, UnixTime at) {
  Direction& d = direction(from);
  std::string all;
  if (!d.held.empty()) {
    all = std::exchange(d.held, {});
    all.append(bytes);
    bytes = all;
  }
  bytes.remove_prefix(read_records(from, bytes, at));
  if (bytes.empty()) return;
  switch (phase_) {
    case Phase::waiting:
      events_.push_back({.from = from, .bytes = std::string(bytes), .at = at});
      events_.back().delivery = delivery_;
      return;
    case Phase::closed:
      unread(from, bytes.size(), closed_by_, at);
      return;
    case Phase::deciding:
    case Phase::plain:
    case Phase::open:
      d.held = bytes;
      return;
  }
}

std::size_t TlsReader::read_records(Side from, std::string_view bytes, UnixTime at) {
  std::size_t done = 0;
  while (done < bytes.size() && phase_ == Phase::open) {
    const std::size_t consumed = read_record(from, bytes.substr(done), at);
    if (consumed == 0) break;
    done += consumed;
  }
  return done;
}

std::size_t TlsReader::read_record(Side from, std::string_view bytes, UnixTime at) {
  Direction& d = direction(from);
  if (d.dead) {
    unread(from, bytes.size(), d.lost_by, at);
    return bytes.size();
  }
  if (d.skip > 0) {
    const std::size_t skipped = std::min<std::uint64_t>(d.skip, bytes.size());
    d.skip -= skipped;
    unread(from, skipped, d.lost_by, at);
    return skipped;
  }
  if (d.seeking) return seek_record(from, bytes, at);
  if (bytes.size() < TlsRecordHeader::kBytes) return 0;
  const TlsRecordHeader header = header_of(bytes);
  if (!is_plausible(header)) {
    begin_seeking(d, 0, LossReason::broken_record, at);
    return phase_ == Phase::open ? seek_record(from, bytes, at) : 0;
  }
  const std::size_t whole = TlsRecordHeader::kBytes + header.length;
  if (bytes.size() < whole) return 0;
  const std::string_view fragment = bytes.substr(TlsRecordHeader::kBytes, header.length);
  const auto type = static_cast<TlsContent>(header.type);
  // TLS 1.3 sends its ChangeCipherSpec in clear, and it means nothing.
  const bool middlebox =
      type == TlsContent::change_cipher_spec && hello_ && hello_->version == kTls13;
  place_record(bytes.size(), whole);
  if (type == TlsContent::application_data || (d.key && !middlebox)) {
    sealed_record(from, header, fragment, at);
  } else {
    context_.ledger.tls_protocol.add(whole);
    if (!middlebox) clear_record(from, type, fragment, at);
  }
  return whole;
}

// What is inside is told with the record's place in the stream.
void TlsReader::place_record(std::size_t bytes_before_end, std::size_t record_bytes) {
  if (start_.tcp == nullptr) return;
  facts_ = *start_.tcp;
  const std::int64_t begin = delivery_.end - static_cast<std::int64_t>(bytes_before_end);
  facts_.delivery = {.begin = begin,
                     .end = begin + static_cast<std::int64_t>(record_bytes),
                     .after_fin = delivery_.after_fin};
}

// Looks for bytes that open as a record.
std::size_t TlsReader::seek_record(Side from, std::string_view bytes, UnixTime at) {
  Direction& d = direction(from);
  std::size_t skipped = 0;
  for (; skipped + TlsRecordHeader::kBytes <= bytes.size(); ++skipped) {
    const TlsRecordHeader header = header_of(bytes.substr(skipped));
    if (!is_plausible(header) || header.version != kTls12) continue;
    const std::size_t whole = TlsRecordHeader::kBytes + header.length;
    if (bytes.size() - skipped < whole) break;
    const std::uint64_t expected = d.number;
    const bool had_coming = !d.coming.empty();
    const auto opened =
        open(d, header, bytes.substr(skipped + TlsRecordHeader::kBytes, header.length));
    if (!opened) continue;
    const bool same_key = d.number > expected && had_coming == !d.coming.empty();
    const std::uint64_t records = d.number - expected - 1;
    const std::uint64_t lost = d.lost_bytes + skipped;
    if (skipped > 0) unread(from, skipped, d.lost_by, at);
    // Where nothing but the data of the application was lost, it can be told how much.
    const auto overhead = d.key->overhead();
    const std::uint64_t around = records * (TlsRecordHeader::kBytes + overhead.value_or(0));
    std::optional<std::uint64_t> content;
    if (overhead && same_key && records > 0 && lost >= around) content = lost - around;
    d.seeking = false;
    place_record(bytes.size() - skipped, whole);
    tell_sought(from, content);
    use(from, *opened, whole, at);
    return skipped + whole;
  }
  if (skipped == 0) return 0;
  d.lost_bytes += skipped;
  unread(from, skipped, d.lost_by, at);
  if (d.lost_bytes > kSeekBytesMax || trial_bytes_ > kTrialBytesMax) {
    d.dead = true;
    tell_sought(from, std::nullopt);
  }
  return skipped;
}

void TlsReader::begin_seeking(Direction& d, std::uint64_t missing, LossReason reason, UnixTime at) {
  if (!d.key && d.coming.empty()) {
    close_unread(LossReason::handshake_missing);
    return;
  }
  if (!d.seeking) {
    d.lost_bytes = 0;
    d.told = false;
  }
  d.seeking = true;
  d.lost_bytes += missing;
  d.lost_at = at;
  d.lost_by = reason;
  d.slack = std::min(d.slack + missing / kRecordBytesMin + 2, kSlackMax);
}

void TlsReader::clear_record(Side from, TlsContent type, std::string_view fragment, UnixTime at) {
  switch (type) {
    case TlsContent::handshake:
      read_handshake(from, fragment, at);
      return;
    case TlsContent::change_cipher_spec:
      change_cipher(direction(from));
      return;
    case TlsContent::alert:
    case TlsContent::application_data:
      return;
  }
}

void TlsReader::read_handshake(Side from, std::string_view bytes, UnixTime) {
  TlsHandshakeReader& reader = direction(from).handshake;
  reader.push(bytes);
  while (const auto message = reader.next()) {
    if (message->type == TlsHandshakeType::client_hello) {
      const auto hello = parse_client_hello(message->body);
      if (!hello) continue;
      client_ = from;
      client_random_ = hello->random;
    } else if (message->type == TlsHandshakeType::server_hello) {
      const auto hello = parse_server_hello(message->body);
      if (!hello || hello->retry) continue;
      hello_ = hello;
      derive_keys();
      if (phase_ != Phase::open) return;
    }
  }
}

void TlsReader::change_cipher(Direction& d) {
  if (d.coming.empty()) return;
  d.key = std::move(d.coming.front());
  d.coming.pop_front();
  d.number = 0;
}

void TlsReader::derive_keys() {
  keys_seen_ = keys_.version();
  const auto suite = TlsSuite::find(hello_->suite);
  const bool tls13 = hello_->version == kTls13;
  if (client_random_.empty()) return close_unread(LossReason::handshake_missing);
  if (!suite || (!tls13 && hello_->version != kTls12)) {
    return close_unread(LossReason::unsupported_cipher);
  }
  const TlsSecrets* secrets = keys_.find(client_random_);
  const bool found = secrets != nullptr &&
                     (tls13 ? !secrets->client_traffic.empty() && !secrets->server_traffic.empty()
                            : !secrets->master.empty());
  if (!found) {
    if (!keys_.may_grow()) return close_unread(LossReason::no_key);
    phase_ = Phase::waiting;
    return;
  }
  phase_ = Phase::open;
  for (const Side side : {Side::first, Side::second}) {
    Direction& d = direction(side);
    const bool of_client = side == client_;
    d.coming.clear();
    if (!tls13) {
      const TlsRecordKey::Tls12 tls12{.master = secrets->master,
                                      .client_random = client_random_,
                                      .server_random = hello_->random,
                                      .encrypt_then_mac = hello_->encrypt_then_mac};
      d.coming.push_back(TlsRecordKey::tls12(*suite, tls12, of_client));
      continue;
    }
    const std::string& handshake =
        of_client ? secrets->client_handshake : secrets->server_handshake;
    if (!handshake.empty()) d.coming.push_back(TlsRecordKey::tls13(*suite, handshake));
    d.coming.push_back(
        TlsRecordKey::tls13(*suite, of_client ? secrets->client_traffic : secrets->server_traffic));
  }
}

void TlsReader::sealed_record(Side from,
                              const TlsRecordHeader& header,
                              std::string_view fragment,
                              UnixTime at) {
  Direction& d = direction(from);
  const std::size_t whole = TlsRecordHeader::kBytes + fragment.size();
  if (!d.key && d.coming.empty()) {
    // Before the server has spoken, a client can only send early data.
    if (from == client_ && !client_random_.empty() && !hello_) {
      unread(from, whole, LossReason::early_data, at);
    } else {
      close_unread(LossReason::handshake_missing);
      unread(from, whole, LossReason::handshake_missing, at);
    }
    return;
  }
  const auto opened = open(d, header, fragment);
  if (opened) {
    use(from, *opened, whole, at);
    return;
  }
  ++d.failures;
  const bool handshake_key = d.coming.size() > 1;
  if (d.key) {
    unread(from, whole, LossReason::broken_record, at);
    ++d.slack;
    tell_lost_record(from, fragment.size(), LossReason::broken_record, at);
  } else {
    // In TLS 1.3, the rest of a handshake whose secrets are not in the log.
    unread(from, whole, handshake_key ? LossReason::broken_record : LossReason::no_key, at);
  }
  if (d.failures < kFailuresMax) return;
  d.dead = true;
  d.lost_by = LossReason::broken_record;
}

std::optional<TlsRecordKey::Opened> TlsReader::open(Direction& d,
                                                    const TlsRecordHeader& header,
                                                    std::string_view fragment) {
  const auto number_under = [&](TlsRecordKey& key,
                                std::uint64_t first) -> std::optional<std::uint64_t> {
    for (std::uint64_t number = first; number <= first + d.slack; ++number) {
      if (trial_bytes_ > kTrialBytesMax) break;
      if (key.open(header, fragment, number)) return number;
      trial_bytes_ += fragment.size();
    }
    return std::nullopt;
  };
  const auto found = [&](std::uint64_t number) {
    d.number = number + 1;
    d.slack = 0;
    d.failures = 0;
    trial_bytes_ = 0;
    return d.key->open(header, fragment, number);
  };
  if (d.key) {
    if (d.slack == 0) {
      if (const auto opened = d.key->open(header, fragment, d.number)) {
        ++d.number;
        d.failures = 0;
        return opened;
      }
      trial_bytes_ += fragment.size();
    } else if (const auto number = number_under(*d.key, d.number)) {
      return found(*number);
    }
  }
  for (std::size_t i = 0; i < d.coming.size(); ++i) {
    const auto number = number_under(d.coming[i], 0);
    if (!number) continue;
    d.key = std::move(d.coming[i]);
    d.coming.erase(d.coming.begin(), d.coming.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return found(*number);
  }
  if (!d.key || !d.coming.empty()) return std::nullopt;
  auto next = d.key->next();
  if (!next) return std::nullopt;
  const auto number = number_under(*next, 0);
  if (!number) return std::nullopt;
  d.key = std::move(*next);
  return found(*number);
}

void TlsReader::use(Side from,
                    const TlsRecordKey::Opened& opened,
                    std::size_t record_bytes,
                    UnixTime at) {
  Ledger& ledger = context_.ledger;
  (opened.type == TlsContent::application_data ? ledger.tls_opened : ledger.tls_protocol)
      .add(record_bytes);
  switch (opened.type) {
    case TlsContent::application_data:
      if (opened.content.empty()) return;
      // What the other side sends now may depend on what is missing.
      if (direction(other(from)).seeking) tell_sought(other(from), std::nullopt);
      ledger.decrypted.add(opened.content.size());
      inner_->on_data(from, opened.content, at);
      return;
    case TlsContent::handshake:
      read_handshake(from, opened.content, at);
      return;
    case TlsContent::change_cipher_spec:
      change_cipher(direction(from));
      return;
    case TlsContent::alert:
      if (opened.content.size() == 2 && opened.content[1] == kCloseNotify) inner_->on_end(from, at);
      return;
  }
}

void TlsReader::on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) {
  Direction& d = direction(from);
  switch (phase_) {
    case Phase::plain:
      inner_->on_gap(from, bytes, reason, at);
      return;
    case Phase::closed:
      return;
    case Phase::deciding:
    case Phase::waiting: {
      Event gap = event(Event::Kind::gap, from, at);
      gap.gap_bytes = bytes;
      gap.reason = reason;
      if (phase_ == Phase::waiting) return wait(std::move(gap));
      events_.push_back(std::move(gap));
      return;
    }
    case Phase::open:
      break;
  }
  if (d.dead) return;
  d.handshake = {};
  if (d.skip >= bytes) {
    d.skip -= bytes;
    return;
  }
  const std::uint64_t beyond = bytes - std::exchange(d.skip, 0);
  const std::string held = std::exchange(d.held, {});
  if (!held.empty()) unread(from, held.size(), reason, at);
  if (!d.seeking && held.size() >= TlsRecordHeader::kBytes) {
    const TlsRecordHeader header = header_of(held);
    const std::size_t missing = TlsRecordHeader::kBytes + header.length - held.size();
    if (beyond <= missing) {
      // One record is lost, and where the next one begins is known.
      if (!d.key && d.coming.empty()) return close_unread(LossReason::handshake_missing);
      d.skip = missing - beyond;
      d.lost_by = reason;
      ++d.slack;
      tell_lost_record(from, header.length, reason, at);
      return;
    }
  }
  begin_seeking(d, beyond + held.size(), reason, at);
}

void TlsReader::tell_lost_record(Side from,
                                 std::size_t fragment_bytes,
                                 LossReason reason,
                                 UnixTime at) {
  const Direction& d = direction(from);
  const auto overhead = d.key && d.coming.empty() ? d.key->overhead() : std::nullopt;
  const bool known = overhead && fragment_bytes >= *overhead;
  tell_gap(from, known ? std::optional(fragment_bytes - *overhead) : std::nullopt, reason, at);
}

// Of the gap behind which records are looked for, once.
void TlsReader::tell_sought(Side from, std::optional<std::uint64_t> bytes) {
  Direction& d = direction(from);
  if (!std::exchange(d.told, true)) tell_gap(from, bytes, d.lost_by, d.lost_at);
}

void TlsReader::tell_gap(Side from,
                         std::optional<std::uint64_t> bytes,
                         LossReason reason,
                         UnixTime at) {
  inner_->on_gap(from, bytes.value_or(kUnknownBytes), reason, at);
}

void TlsReader::on_end(Side from, UnixTime at) {
  switch (phase_) {
    case Phase::plain:
    case Phase::open:
      inner_->on_end(from, at);
      return;
    case Phase::deciding:
    case Phase::waiting:
      events_.push_back(event(Event::Kind::end, from, at));
      return;
    case Phase::closed:
      return;
  }
}

void TlsReader::on_closed(const ConnectionEnd& end, UnixTime at) {
  if (phase_ == Phase::deciding) become(Phase::plain);
  if (phase_ == Phase::waiting && keys_.version() != keys_seen_) {
    derive_keys();
    if (phase_ == Phase::open) replay(std::exchange(events_, {}));
  }
  if (phase_ == Phase::waiting) close_unread(LossReason::no_key);
  if (phase_ == Phase::open) {
    for (const Side side : {Side::first, Side::second}) {
      Direction& d = direction(side);
      const std::string held = std::exchange(d.held, {});
      if (!held.empty()) unread(side, held.size(), d.seeking ? d.lost_by : reason_of(end.how), at);
      if (d.seeking) tell_sought(side, std::nullopt);
    }
  }
  if (start_.tcp != nullptr) facts_ = *start_.tcp;
  if (phase_ == Phase::closed) {
    context_.sink.on_connection(recorded_connection(start_, end, client_));
  } else {
    inner_->on_closed(end, at);
  }
  tell_unread();
  charge();
}

void TlsReader::unread(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) {
  context_.ledger.tls_unread.add(bytes);
  std::vector<Unread>& list = direction(from).unread;
  const auto same = std::find_if(list.begin(), list.end(),
                                 [&](const Unread& one) { return one.reason == reason; });
  if (same == list.end()) {
    list.push_back({reason, bytes, at});
  } else {
    same->bytes += bytes;
  }
}

// One loss for each direction and reason, however many records it was.
void TlsReader::tell_unread() {
  for (const Side side : {Side::first, Side::second}) {
    for (const Unread& one : direction(side).unread) {
      context_.ledger.lose(one.reason, one.bytes);
      context_.sink.on_loss({.at = one.at,
                             .connection = start_.connection,
                             .direction = side == client_ ? "request" : "response",
                             .reason = std::string(to_string(one.reason)),
                             .bytes = one.bytes});
    }
    direction(side).unread.clear();
  }
}

// What is held counts into what a capture may hold; beyond that, the connection is given up.
void TlsReader::charge() {
  const auto held = [&] {
    std::size_t bytes = 0;
    for (const Event& event : events_)
      bytes += sizeof(Event) + event.bytes.size();
    for (const Direction& d : directions_)
      bytes += d.held.size() + d.handshake.held_bytes();
    return bytes;
  };
  const auto set = [&](std::size_t bytes) {
    context_.held.now += bytes - charged_;
    charged_ = bytes;
  };
  set(held());
  const bool room = context_.held.now <= context_.held.max && charged_ <= kWaitingBytesMax;
  if (room || (phase_ != Phase::open && phase_ != Phase::waiting)) return;
  const bool waiting = phase_ == Phase::waiting;
  close_unread(waiting ? LossReason::no_key : LossReason::memory_limit);
  for (Direction& d : directions_)
    d.handshake = {};
  set(held());
}

}  // namespace gatedrill::replay::capture
