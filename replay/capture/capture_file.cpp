#include "replay/capture/capture_file.hpp"

#include <array>
#include <cstdio>
#include <memory>

namespace gatedrill::replay::capture {
namespace {

// As they are when the file has this machine's byte order (draft-ietf-opsawg-pcap and -pcapng).
constexpr std::uint32_t kMicroseconds = 0xa1b2c3d4;
constexpr std::uint32_t kNanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

template <std::size_t N>
bool read_at(std::FILE* file, std::uint64_t offset, std::array<std::uint32_t, N>& words) {
  return fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0 &&
         std::fread(words.data(), sizeof words, 1, file) == 1;
}

std::uint32_t ordered(std::uint32_t word, bool swapped) {
  return swapped ? __builtin_bswap32(word) : word;
}

std::uint64_t whole_packets(std::FILE* file, std::uint64_t size, bool swapped) {
  constexpr std::uint64_t kFileHeader = 24;
  constexpr std::uint64_t kPacketHeader = 16;
  std::uint64_t at = kFileHeader;
  std::array<std::uint32_t, 4> header{};  // seconds, fraction, captured, sent
  while (read_at(file, at, header)) {
    const std::uint64_t next = at + kPacketHeader + ordered(header[2], swapped);
    if (next > size) break;
    at = next;
  }
  return at;
}

std::uint64_t whole_blocks(std::FILE* file, std::uint64_t size) {
  constexpr std::uint32_t kBlockBytesMin = 12;
  std::uint64_t at = 0;
  bool swapped = false;
  std::array<std::uint32_t, 3> header{};  // type, length, in a section header the byte order
  while (read_at(file, at, header)) {
    if (header[0] == kSectionHeader) swapped = header[2] != kByteOrder;
    const std::uint32_t length = ordered(header[1], swapped);
    if (length < kBlockBytesMin || at + length > size) break;
    at += length;
  }
  return at;
}

}  // namespace

std::uint64_t whole_bytes(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  std::array<std::uint32_t, 1> magic{};
  if (!file || !read_at(file.get(), 0, magic)) return 0;
  if (fseeko(file.get(), 0, SEEK_END) != 0) return 0;
  const auto size = static_cast<std::uint64_t>(ftello(file.get()));
  if (magic[0] == kSectionHeader) return whole_blocks(file.get(), size);
  for (const bool swapped : {false, true}) {
    const std::uint32_t word = ordered(magic[0], swapped);
    if (word == kMicroseconds || word == kNanoseconds) {
      return whole_packets(file.get(), size, swapped);
    }
  }
  return 0;
}

}  // namespace gatedrill::replay::capture
