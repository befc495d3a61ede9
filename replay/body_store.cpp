#include "replay/body_store.hpp"

#include <bitset>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>

namespace gatedrill::replay {
namespace {

constexpr std::size_t kBlockBytes = 64U * 1024U;
// What is remembered to find equal bodies again; past it, equal ones may be stored twice.
constexpr std::size_t kKnownBodiesMax = 500'000;

std::int64_t number(std::size_t size) {
  return static_cast<std::int64_t>(size);
}

}  // namespace

bool looks_packable(std::string_view body) {
  // Of 256 values, 512 random bytes miss some 35; text, base64 and machine code miss many more.
  constexpr std::size_t kSample = 512;
  constexpr std::size_t kRandomValuesMin = 192;
  constexpr std::size_t kSmallBody = 4096;  // not worth a look
  if (body.size() < kSmallBody) return true;
  std::bitset<256> seen;
  const std::size_t step = body.size() / kSample;
  for (std::size_t i = 0; i < kSample; ++i)
    seen.set(static_cast<unsigned char>(body[i * step]));
  return seen.count() < kRandomValuesMin;
}

BodyStore::BodyStore(Statement body, Statement block)
    : insert_body_(std::move(body)), insert_block_(std::move(block)) {
  pending_.reserve(kBlockBytes);
}

Result<BodyStore> BodyStore::create(const Database& database) {
  auto body = database.prepare("INSERT INTO t_bodies VALUES (?1, ?2, ?3, ?4)");
  if (!body) return body.error();
  auto block = database.prepare("INSERT INTO t_blocks VALUES (?1, ?2, ?3, ?4)");
  if (!block) return block.error();
  return BodyStore(std::move(*body), std::move(*block));
}

Result<std::int64_t> BodyStore::store(std::string_view body, std::string_view sha1) {
  assert(!body.empty() && sha1.size() >= sizeof(std::uint64_t) * 2);
  Key key{0, 0, std::hash<std::string_view>{}(body)};
  std::memcpy(key.data(), sha1.data(), sizeof(std::uint64_t) * 2);
  if (known_.size() >= kKnownBodiesMax) known_.clear();
  const auto [known, fresh] = known_.try_emplace(key, next_body_);
  if (!fresh) {
    ++counts_.repeated;
    counts_.repeated_bytes += body.size();
    return known->second;
  }
  ++counts_.bodies;
  counts_.bytes += body.size();
  const bool packable = looks_packable(body);
  if (!packable || body.size() >= kBlockBytes) {
    const std::int64_t block = next_block_++;
    if (auto done = write_block(block, body, packable); !done) return done.error();
    if (auto done = write_body(body.size(), block, 0); !done) return done.error();
  } else {
    if (pending_.size() + body.size() > kBlockBytes) {
      if (auto done = flush(); !done) return done.error();
    }
    if (pending_.empty()) filling_ = next_block_++;
    if (auto done = write_body(body.size(), filling_, pending_.size()); !done) return done.error();
    pending_.append(body);
  }
  return next_body_++;
}

Result<void> BodyStore::flush() {
  if (pending_.empty()) return {};
  auto done = write_block(filling_, pending_, true);
  pending_.clear();
  return done;
}

Result<void> BodyStore::write_body(std::size_t bytes, std::int64_t block, std::size_t place) {
  insert_body_.bind(1, next_body_);
  insert_body_.bind(2, number(bytes));
  insert_body_.bind(3, block);
  insert_body_.bind(4, number(place));
  return insert_body_.run();
}

Result<void> BodyStore::write_block(std::int64_t block, std::string_view content, bool pack) {
  const auto frame = pack ? packer_.pack_if_smaller(content) : std::nullopt;
  const std::string_view stored = frame.value_or(content);
  counts_.stored_bytes += stored.size();
  insert_block_.bind(1, block);
  insert_block_.bind(2, number(content.size()));
  insert_block_.bind_text(3, frame ? "zstd" : "none");
  insert_block_.bind_blob(4, stored);
  return insert_block_.run();
}

Result<BodyReader> BodyReader::create(const Database& database) {
  auto body = database.prepare("SELECT bytes, block, place FROM t_bodies WHERE body = ?1");
  if (!body) return body.error();
  auto block = database.prepare("SELECT bytes, packing, content FROM t_blocks WHERE block = ?1");
  if (!block) return block.error();
  return BodyReader(std::move(*body), std::move(*block));
}

Result<std::optional<std::string>> BodyReader::read(std::int64_t body) {
  using Bytes = std::optional<std::string>;
  select_body_.bind(1, body);
  auto found = select_body_.step();
  if (!found) return found.error();
  if (!*found) return Bytes{};
  const std::int64_t bytes = select_body_.integer(0);
  const std::int64_t row = select_body_.integer(1);
  const std::int64_t place = select_body_.integer(2);
  select_body_.reset();
  auto block = read_block(row);
  if (!block) return block.error();
  if (*block == nullptr || bytes < 0 || place < 0) return Bytes{};
  const std::string& content = (*block)->content;
  if (place > number(content.size()) || bytes > number(content.size()) - place) return Bytes{};
  return Bytes(content.substr(static_cast<std::size_t>(place), static_cast<std::size_t>(bytes)));
}

// Null if there is no such block or it is damaged.
Result<const BodyReader::Block*> BodyReader::read_block(std::int64_t block) {
  for (const Block& one : recent_) {
    if (one.block == block && !one.content.empty()) return &one;
  }
  select_block_.bind(1, block);
  auto found = select_block_.step();
  if (!found) return found.error();
  if (!*found) return nullptr;
  Block& out = recent_[next_];
  next_ = (next_ + 1) % recent_.size();
  out.block = block;
  out.content.clear();
  const std::int64_t bytes = select_block_.integer(0);
  const std::string_view content = select_block_.bytes(2);
  if (select_block_.bytes(1) == "none") {
    out.content = content;
  } else {
    out.content = unpack_zstd(content).value_or("");
  }
  if (number(out.content.size()) != bytes) out.content.clear();
  select_block_.reset();
  return out.content.empty() ? nullptr : &out;
}

}  // namespace gatedrill::replay
