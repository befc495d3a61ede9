#include "replay/redact/wide_text.hpp"

#include <array>
#include <cstdint>

#include "replay/redact/encodings.hpp"

namespace gatedrill::replay {
namespace {

constexpr std::array<WideForm, 4> kForms = {{{4, false}, {4, true}, {2, false}, {2, true}}};
constexpr std::uint32_t kByteOrderMark = 0xfeff;

std::uint32_t unit_at(std::string_view text, std::size_t at, WideForm form) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < form.unit; ++i) {
    const std::size_t place = form.big_endian ? i : form.unit - 1 - i;
    value = value << 8U | static_cast<unsigned char>(text[at + place]);
  }
  return value;
}

void append_unit(std::string& out, std::uint32_t value, WideForm form) {
  for (std::size_t i = 0; i < form.unit; ++i) {
    const std::size_t place = form.big_endian ? form.unit - 1 - i : i;
    out.push_back(static_cast<char>(value >> (8 * place) & 0xffU));
  }
}

bool is_plain(std::uint32_t code) {
  return (code >= 0x20 && code < 0x7f) || code == '\t' || code == '\r' || code == '\n';
}

// One character of UTF-8 from `at` on, which moves behind it.
std::uint32_t code_at(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t first = byte(at);
  const std::size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  std::uint32_t code = more == 0 ? first : first & (0x3fU >> more);
  bool whole = at + more < text.size();
  for (std::size_t i = 1; whole && i <= more; ++i) {
    whole = (byte(at + i) & 0xc0U) == 0x80;
    code = code << 6U | (byte(at + i) & 0x3fU);
  }
  at += whole ? more + 1 : 1;
  return whole ? code : first;
}

}  // namespace

std::optional<WideForm> wide_form_of(std::string_view text) {
  for (const WideForm form : kForms) {
    if (text.size() < form.unit) continue;
    const std::uint32_t first = unit_at(text, 0, form);
    if (first == kByteOrderMark) return form;
    if (text.size() < 2 * form.unit) continue;
    if (is_plain(first) && is_plain(unit_at(text, form.unit, form))) return form;
  }
  return std::nullopt;
}

std::string narrowed(std::string_view text, WideForm form) {
  std::string out;
  out.reserve(text.size() / form.unit);
  for (std::size_t at = 0; at + form.unit <= text.size(); at += form.unit) {
    std::uint32_t code = unit_at(text, at, form);
    const bool high = form.unit == 2 && code >= 0xd800 && code < 0xdc00;
    if (high && at + 2 * form.unit <= text.size()) {
      const std::uint32_t low = unit_at(text, at + form.unit, form);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10U) + (low - 0xdc00);
        at += form.unit;
      }
    }
    append_utf8(out, code);
  }
  return out;
}

std::string widened(std::string_view text, WideForm form) {
  std::string out;
  out.reserve(text.size() * form.unit);
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t code = code_at(text, at);
    if (form.unit == 2 && code >= 0x10000) {
      append_unit(out, 0xd800 + ((code - 0x10000) >> 10U), form);
      append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ffU), form);
    } else {
      append_unit(out, code, form);
    }
  }
  return out;
}

}  // namespace gatedrill::replay
