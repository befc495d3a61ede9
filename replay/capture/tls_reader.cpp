#include "replay/capture/tls_reader.hpp"

#include <algorithm>
#include <utility>

namespace gatedrill::replay::capture {
namespace {

constexpr std::uint16_t kTls12 = 0x0303;
constexpr std::uint16_t kTls13 = 0x0304;
// What one connection may hold, above all while it waits for its key.
constexpr std::size_t kKeptBytesMax = std::size_t{4} << 20U;
constexpr char kCloseNotify = 0;

constexpr std::array kSides = {Side::first, Side::second};

}  // namespace

TlsReader::TlsReader(const ConnectionStart& start,
                     HttpContext& context,
                     KeyLog& keys,
                     OpenStream open_inner)
    : start_(start),
      context_(context),
      keys_(keys),
      open_inner_(std::move(open_inner)),
      first_(Side::first, *this),
      second_(Side::second, *this) {}

TlsReader::~TlsReader() {
  keys_.leave(*this);
  context_.held.now -= charged_;
}

TlsReader::Event TlsReader::event(Event::Kind kind, Side from, UnixTime at) const {
  Event event{.kind = kind, .from = from, .at = at};
  if (start_.tcp != nullptr) event.delivery = start_.tcp->delivery;
  return event;
}

void TlsReader::keep(Event event) {
  kept_bytes_ += sizeof(Event) + event.bytes.size();
  kept_.push_back(std::move(event));
}

void TlsReader::on_data(Side from, std::string_view bytes, UnixTime at) {
  switch (phase_) {
    case Phase::plain:
      inner_->on_data(from, bytes, at);
      return;
    case Phase::deciding:
    case Phase::waiting: {
      Event data = event(Event::Kind::data, from, at);
      data.bytes = bytes;
      keep(std::move(data));
      if (phase_ == Phase::deciding) {
        decide();
      } else {
        context_.ledger.tls.add(bytes.size());
        keys_.look_again(at);
        look_for_keys();
      }
      break;
    }
    case Phase::open:
      context_.ledger.tls.add(bytes.size());
      if (start_.tcp != nullptr) delivery_ = start_.tcp->delivery;
      records(from).push(bytes, at);
      break;
    case Phase::closed:
      context_.ledger.tls.add(bytes.size());
      on_unread(from, bytes.size(), closed_by_, at);
      return;
  }
  settle();
}

void TlsReader::on_gap(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) {
  switch (phase_) {
    case Phase::plain:
      inner_->on_gap(from, bytes, reason, at);
      return;
    case Phase::deciding:
    case Phase::waiting: {
      Event gap = event(Event::Kind::gap, from, at);
      gap.gap_bytes = bytes;
      gap.reason = reason;
      keep(std::move(gap));
      break;
    }
    case Phase::open:
      if (early_waits_) decide_early_data(false);
      handshakes_[index(from)] = {};
      records(from).gap(bytes, reason, at);
      break;
    case Phase::closed:
      return;
  }
  settle();
}

void TlsReader::on_end(Side from, UnixTime at) {
  switch (phase_) {
    case Phase::plain:
    case Phase::open:
      inner_->on_end(from, at);
      return;
    case Phase::deciding:
    case Phase::waiting:
      keep(event(Event::Kind::end, from, at));
      return;
    case Phase::closed:
      return;
  }
}

// The first bytes of either side tell.
void TlsReader::decide() {
  std::array<std::string, 2> begins;
  for (const Event& event : kept_) {
    std::string& begin = begins[index(event.from)];
    if (event.kind == Event::Kind::gap) begin.clear();
    if (begin.size() < TlsRecordHeader::kBytes) begin.append(event.bytes);
  }
  TlsStart start = TlsStart::more;
  for (const std::string& begin : begins) {
    if (!begin.empty() && start == TlsStart::more) start = tls_start(begin);
  }
  if (start != TlsStart::more) become(start == TlsStart::yes ? Phase::open : Phase::plain);
}

void TlsReader::become(Phase phase) {
  phase_ = phase;
  ConnectionStart inside = start_;
  if (phase == Phase::open) {
    inside.tls = true;
    if (start_.tcp != nullptr) inside.tcp = &facts_;
    for (const Event& event : kept_) {
      if (!event.bytes.empty()) context_.ledger.tls.add(event.bytes.size());
    }
  }
  inner_ = open_inner_(inside);
  replay_kept();
}

// What is kept comes again, in its order; where the phase changes on the way, as that one takes it.
void TlsReader::replay_kept() {
  kept_bytes_ = 0;
  for (Event& event : std::exchange(kept_, {})) {
    if (phase_ == Phase::waiting) {
      keep(std::move(event));
      continue;
    }
    switch (event.kind) {
      case Event::Kind::data:
        if (phase_ == Phase::plain) {
          inner_->on_data(event.from, event.bytes, event.at);
        } else if (phase_ == Phase::open) {
          delivery_ = event.delivery;
          records(event.from).push(event.bytes, event.at);
        } else {
          on_unread(event.from, event.bytes.size(), closed_by_, event.at);
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

void TlsReader::look_for_keys() {
  if (keys_.version() == keys_seen_) return;
  derive_keys();
  if (phase_ == Phase::open) go_on();
}

// On a silent wire no packet makes it look.
bool TlsReader::on_more_keys() {
  if (phase_ != Phase::waiting) return false;
  look_for_keys();
  settle();
  return phase_ == Phase::waiting;
}

// The key has come: first what was held behind the ServerHello, then what came after it.
void TlsReader::go_on() {
  records(other(client_)).go_on(hello_at_);
  records(client_).go_on(hello_at_);
  replay_kept();
}

void TlsReader::close_unread(LossReason reason) {
  if (early_waits_) decide_early_data(false);
  phase_ = Phase::closed;
  closed_by_ = reason;
  for (const Side side : kSides)
    records(side).pause();
  drop_held();
  replay_kept();
}

void TlsReader::on_hopeless() {
  close_unread(LossReason::handshake_missing);
}

void TlsReader::on_record(std::size_t before_end, std::size_t record_bytes) {
  if (start_.tcp == nullptr) return;
  facts_ = *start_.tcp;
  const std::int64_t begin = delivery_.end - static_cast<std::int64_t>(before_end);
  facts_.delivery = {.begin = begin,
                     .end = begin + static_cast<std::int64_t>(record_bytes),
                     .after_fin = delivery_.after_fin};
}

void TlsReader::on_clear(Side from, TlsContent type, std::string_view fragment, UnixTime at) {
  context_.ledger.tls_protocol.add(TlsRecordHeader::kBytes + fragment.size());
  if (type == TlsContent::handshake) {
    hello_at_ = at;
    read_handshake(from, fragment);
  } else if (type == TlsContent::change_cipher_spec && hello_ && hello_->version == kTls12) {
    records(from).change_cipher();
  }
}

bool TlsReader::takes_sealed(Side from,
                             const TlsRecordHeader& header,
                             std::string_view fragment,
                             UnixTime at) {
  const std::size_t whole = TlsRecordHeader::kBytes + fragment.size();
  if (from == client_ && early_waits_) {
    early_.push_back({header, std::string(fragment), at, facts_.delivery});
    early_bytes_ += sizeof(EarlyRecord) + fragment.size();
    return true;
  }
  if (records(from).has_keys()) return false;
  close_unread(LossReason::handshake_missing);
  on_unread(from, whole, LossReason::handshake_missing, at);
  return true;
}

void TlsReader::on_opened(Side from,
                          const TlsRecordKey::Opened& opened,
                          std::size_t record_bytes,
                          UnixTime at) {
  Ledger& ledger = context_.ledger;
  (opened.type == TlsContent::application_data ? ledger.tls_opened : ledger.tls_protocol)
      .add(record_bytes);
  switch (opened.type) {
    case TlsContent::application_data:
      if (from != client_ && early_waits_) decide_early_data(false);
      if (opened.content.empty()) return;
      // What this side says may depend on what is missing of the other.
      records(other(from)).tell_sought();
      ledger.decrypted.add(opened.content.size());
      handed_on_ = true;
      inner_->on_data(from, opened.content, at);
      return;
    case TlsContent::handshake:
      read_handshake(from, opened.content);
      return;
    case TlsContent::change_cipher_spec:
      records(from).change_cipher();
      return;
    case TlsContent::alert:
      if (opened.content.size() == 2 && opened.content[1] == kCloseNotify) inner_->on_end(from, at);
      return;
  }
}

void TlsReader::on_lost(Side from, const TlsLoss& loss) {
  context_.ledger.tls_lost.add(loss.bytes.value_or(0), loss.records);
  inner_->on_gap(from, loss.bytes.value_or(kUnknownBytes), loss.reason, loss.at);
}

void TlsReader::read_handshake(Side from, std::string_view bytes) {
  TlsHandshakeReader& reader = handshakes_[index(from)];
  reader.push(bytes);
  while (const auto message = reader.next()) {
    switch (message->type) {
      case TlsHandshakeType::client_hello:
        if (const auto hello = parse_client_hello(message->body)) {
          client_ = from;
          client_random_ = hello->random;
          early_waits_ = hello->early_data;
        }
        break;
      case TlsHandshakeType::server_hello:
        if (const auto hello = parse_server_hello(message->body)) on_server_hello(*hello);
        break;
      case TlsHandshakeType::encrypted_extensions:
        if (early_waits_) decide_early_data(accepts_early_data(message->body));
        break;
    }
    if (phase_ != Phase::open) return;
  }
}

void TlsReader::on_server_hello(const TlsServerHello& hello) {
  if (early_waits_ && (hello.retry || hello.version != kTls13)) decide_early_data(false);
  if (hello.retry) return;
  hello_ = hello;
  if (hello.version == kTls13) {
    for (const Side side : kSides)
      records(side).ignore_change_cipher();
  }
  derive_keys();
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
    keys_.wait(*this);
    for (const Side side : kSides)
      records(side).pause();
    return;
  }
  phase_ = Phase::open;
  for (const Side side : kSides) {
    const bool of_client = side == client_;
    std::vector<TlsRecordKey> keys;
    if (tls13) {
      const auto& handshake = of_client ? secrets->client_handshake : secrets->server_handshake;
      const auto& traffic = of_client ? secrets->client_traffic : secrets->server_traffic;
      if (!handshake.empty()) keys.push_back(TlsRecordKey::tls13(*suite, handshake));
      keys.push_back(TlsRecordKey::tls13(*suite, traffic));
    } else {
      const TlsRecordKey::Tls12 tls12{.master = secrets->master,
                                      .client_random = client_random_,
                                      .server_random = hello_->random,
                                      .encrypt_then_mac = hello_->encrypt_then_mac};
      keys.push_back(TlsRecordKey::tls12(*suite, tls12, of_client));
    }
    records(side).expect(std::move(keys));
  }
}

// Refused, the early data belongs to no message; what follows it in the same direction does.
void TlsReader::decide_early_data(bool accepted) {
  early_waits_ = false;
  early_bytes_ = 0;
  const TlsSecrets* secrets = keys_.find(client_random_);
  if (accepted && hello_ && secrets != nullptr && !secrets->client_early.empty()) {
    if (const auto suite = TlsSuite::find(hello_->suite)) {
      records(client_).expect_first(TlsRecordKey::tls13(*suite, secrets->client_early));
    }
  }
  const TcpFacts::Delivery delivery = facts_.delivery;
  for (const EarlyRecord& record : std::exchange(early_, {})) {
    facts_.delivery = record.delivery;
    const std::size_t whole = TlsRecordHeader::kBytes + record.fragment.size();
    if (const auto opened = records(client_).open(record.header, record.fragment)) {
      on_opened(client_, *opened, whole, record.at);
    } else {
      on_unread(client_, whole, LossReason::early_data, record.at);
    }
  }
  facts_.delivery = delivery;
}

void TlsReader::on_closed(const ConnectionEnd& end, UnixTime at) {
  if (phase_ == Phase::deciding) become(Phase::plain);
  if (phase_ == Phase::waiting) {
    keys_.look_again();
    look_for_keys();
  }
  if (phase_ == Phase::waiting) close_unread(LossReason::no_key);
  if (phase_ == Phase::open) {
    if (early_waits_) decide_early_data(false);
    for (const Side side : kSides)
      records(side).close(reason_of(end), at);
  }
  settle();
  tell_unread();
  if (phase_ == Phase::closed && !handed_on_) {
    context_.sink.on_connection(recorded_connection(start_, end, client_));
    return;
  }
  // Also one that was given up on the way has messages.
  if (start_.tcp != nullptr) facts_ = *start_.tcp;
  inner_->on_closed(end, at);
}

void TlsReader::on_unread(Side from, std::uint64_t bytes, LossReason reason, UnixTime at) {
  context_.ledger.tls_unread.add(bytes);
  std::vector<Unread>& list = unread_[index(from)];
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
  for (const Side side : kSides) {
    for (const Unread& one : std::exchange(unread_[index(side)], {})) {
      context_.ledger.lose(one.reason, one.bytes);
      context_.sink.on_loss({.at = one.at,
                             .connection = start_.connection,
                             .direction = side == client_ ? "request" : "response",
                             .reason = std::string(to_string(one.reason)),
                             .bytes = one.bytes});
    }
  }
}

// What is held counts into what a capture may hold; beyond that, the connection is given up.
void TlsReader::settle() {
  const auto recount = [&] {
    std::size_t bytes = kept_bytes_ + early_bytes_;
    for (const Side side : kSides)
      bytes += records(side).held_bytes() + handshakes_[index(side)].held_bytes();
    context_.held.now += bytes - charged_;
    charged_ = bytes;
  };
  recount();
  const bool room =
      charged_ == 0 || (context_.held.now <= context_.held.max && charged_ <= kKeptBytesMax);
  if (!room && (phase_ == Phase::open || phase_ == Phase::waiting)) {
    close_unread(phase_ == Phase::waiting ? LossReason::no_key : LossReason::memory_limit);
  }
  if (phase_ != Phase::closed || charged_ == 0) return;
  // Also what came behind the record that closed it.
  drop_held();
  recount();
}

void TlsReader::drop_held() {
  for (const Side side : kSides) {
    const std::string held = records(side).take_held();
    if (!held.empty()) on_unread(side, held.size(), closed_by_, hello_at_);
  }
  handshakes_ = {};
}

}  // namespace gatedrill::replay::capture
