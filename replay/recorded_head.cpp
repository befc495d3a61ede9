#include "replay/recorded_head.hpp"

namespace gatedrill::replay {

std::string version_text(int version) {
  return version == 10 ? "HTTP/1.0" : "HTTP/1.1";
}

// A value over several lines (obs-fold, RFC 9112 5.2) as one.
std::string unfolded(std::string_view value) {
  std::string out;
  value = http::trim(value);  // a first line may be empty
  out.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\n') {
      out.push_back(value[i]);
      continue;
    }
    while (!out.empty() && (out.back() == '\r' || out.back() == ' ' || out.back() == '\t')) {
      out.pop_back();
    }
    while (i + 1 < value.size() && (value[i + 1] == ' ' || value[i + 1] == '\t'))
      ++i;
    out.push_back(' ');
  }
  return out;
}

std::vector<RecordedField> recorded(const std::vector<http::Field>& fields) {
  std::vector<RecordedField> out;
  out.reserve(fields.size());
  for (const http::Field& field : fields) {
    out.push_back({std::string(field.name), unfolded(field.value)});
  }
  return out;
}

std::string defect_names(http::h1::Defects defects, http::FramingDefect framing) {
  std::string names;
  const auto add = [&](std::string_view name) {
    if (!names.empty()) names.push_back(',');
    names.append(name);
  };
  for (std::uint32_t bits = defects.bits(); bits != 0; bits &= bits - 1) {
    http::h1::Defects one;
    one.add(static_cast<http::h1::Defect>(bits & (~bits + 1)));
    add(http::h1::first_defect(one));
  }
  if (framing != http::FramingDefect::none) add(http::to_string(framing));
  return names;
}

}  // namespace gatedrill::replay
