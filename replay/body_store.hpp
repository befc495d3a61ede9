// The bodies of a recording, each different one once. Private to replay.
//
//   body ─► known? ─► its row again
//             └─► joins the block that is being filled ─► 64 KiB are full ─► packed, written
//
// Answers of one API resemble each other, so a block of many packs better, and faster, than each
// alone. What is random already (images, archives, encrypted) is not tried: it stands alone and
// plain. So does a body as large as a block, packed if that helps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gateway/core/result.hpp"
#include "replay/database.hpp"
#include "replay/zstd_frame.hpp"

namespace gatedrill::replay {

// Whether packing a body is worth trying: few of the byte values that there are occur in a sample.
[[nodiscard]] bool looks_packable(std::string_view body);

// Writes. Not thread-safe.
class BodyStore {
 public:
  // `database` outlives this object.
  static Result<BodyStore> create(const Database& database);

  struct Counts {
    std::uint64_t bodies = 0;
    std::uint64_t bytes = 0;
    std::uint64_t stored_bytes = 0;
    std::uint64_t repeated = 0;
    std::uint64_t repeated_bytes = 0;
  };

  // The row of a body that is not empty; `sha1` is that of exactly these bytes. It can be read
  // after `flush`.
  Result<std::int64_t> store(std::string_view body, std::string_view sha1);
  // Writes the block that is being filled. Before every commit.
  Result<void> flush();

  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  // SHA-1 alone can be made to collide; together with an unrelated hash it cannot.
  using Key = std::array<std::uint64_t, 3>;

  struct KeyHash {
    std::size_t operator()(const Key& key) const { return key[0]; }
  };

  BodyStore(Statement body, Statement block);
  Result<void> write_body(std::size_t bytes, std::int64_t block, std::size_t place);
  Result<void> write_block(std::int64_t block, std::string_view content, bool pack);

  Statement insert_body_;
  Statement insert_block_;
  ZstdPacker packer_;
  std::unordered_map<Key, std::int64_t, KeyHash> known_;
  std::int64_t next_body_ = 1;
  std::int64_t next_block_ = 1;
  std::int64_t filling_ = 0;  // the block that `pending_` will be
  std::string pending_;
  Counts counts_;
};

// Reads. Not thread-safe.
class BodyReader {
 public:
  // `database` outlives this object.
  static Result<BodyReader> create(const Database& database);

  // Nothing if there is no such body or it is damaged.
  Result<std::optional<std::string>> read(std::int64_t body);

 private:
  struct Block {
    std::int64_t block = 0;
    std::string content;
  };

  BodyReader(Statement body, Statement block)
      : select_body_(std::move(body)), select_block_(std::move(block)) {}

  Result<const Block*> read_block(std::int64_t block);

  Statement select_body_;
  Statement select_block_;
  std::array<Block, 4> recent_;  // bodies are mostly read in the order in which they were stored
  std::size_t next_ = 0;
};

}  // namespace gatedrill::replay
