// Makes pcapng files by hand, for tests, in either byte order.
//
//   PcapngBuilder file;
//   file.section();
//   file.interface(1);
//   file.packet(0, 1'700'000'000'000'000, frame);
//   open_bytes(file.bytes(), "");
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gatedrill::tests {

class PcapngBuilder {
 public:
  // Of what follows; the next section says it.
  void use_big_endian(bool big) { big_ = big; }

  void section(unsigned version = 1);
  // `options` as option() makes them.
  void interface(unsigned link_type,
                 std::uint32_t snapshot_bytes = 0,
                 const std::string& options = {});
  // `sent` of 0 is all of the frame.
  void packet(std::uint32_t interface,
              std::uint64_t ticks,
              std::string_view frame,
              std::size_t sent = 0);
  void old_packet(unsigned interface, std::uint64_t ticks, std::string_view frame);
  void simple_packet(std::string_view frame, std::size_t sent = 0);
  void statistics(std::uint32_t interface,
                  std::uint64_t interface_drops,
                  std::uint64_t system_drops);
  void secrets(std::uint32_t type, std::string_view text);
  void block(std::uint32_t type, std::string_view body);

  void raw(std::string_view bytes) { bytes_.append(bytes); }

  [[nodiscard]] std::string option(unsigned code, std::string_view value) const;
  [[nodiscard]] std::string u16(unsigned value) const;
  [[nodiscard]] std::string u32(std::uint32_t value) const;
  [[nodiscard]] std::string u64(std::uint64_t value) const;

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::string ordered(std::string bytes) const;

  bool big_ = false;
  std::string bytes_;
};

}  // namespace gatedrill::tests
