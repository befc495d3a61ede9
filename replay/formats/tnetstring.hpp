// Tnetstrings (tagged netstrings), as mitmproxy stores its flows: "5:hello;", "2:42#",
// "8:1:a;1:b;]".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace gatedrill::replay::formats {

// A value, as views into the bytes that it was parsed from.
struct Tnet {
  char tag =
      '~';  // ',' bytes, ';' text, '#' integer, '^' real, '!' boolean, '~' null, ']' list, '}' map
  std::string_view bytes{};   // of all but lists and maps
  std::vector<Tnet> items{};  // of a list; of a map names and values in turn

  // The value of that name in a map; a null value where there is none.
  [[nodiscard]] const Tnet& at(std::string_view name) const;
  // Of texts and bytes; empty for anything else.
  [[nodiscard]] std::string_view text() const;

  [[nodiscard]] bool is_null() const { return tag == '~'; }

  [[nodiscard]] bool is_text() const { return tag == ',' || tag == ';'; }

  [[nodiscard]] std::optional<std::int64_t> integer() const;
};

// How long the value at the beginning of `bytes` is, with its prefix and tag. `more`: that cannot
// be said yet; `wrong`: there is none.
struct TnetSize {
  enum class State : std::uint8_t { known, more, wrong };
  State state = State::more;
  std::size_t size = 0;
};

[[nodiscard]] TnetSize tnet_size(std::string_view bytes);

// The whole of `bytes` as one value; nothing if it is none, or nested deeper than 32.
[[nodiscard]] std::optional<Tnet> parse_tnet(std::string_view bytes);

}  // namespace gatedrill::replay::formats
