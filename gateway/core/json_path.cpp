#include "gateway/core/json_path.hpp"

#include <algorithm>
#include <utility>

#include "gateway/core/ascii.hpp"

namespace gatedrill {
namespace {

Error bad_path(std::string_view text, std::size_t at) {
  return usage_error("JSON path '" + std::string(text) + "': not understood at character " +
                     std::to_string(at + 1) +
                     "; write it as $.user.cards[*].number, with ['a name'] where it needs quotes");
}

}  // namespace

Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  if (!text.starts_with('$')) return bad_path(text, 0);
  std::size_t i = 1;
  while (i < text.size()) {
    Step step;
    if (text[i] == '.') {
      ++i;
      step.deep = i < text.size() && text[i] == '.';
      if (step.deep) ++i;
      const std::size_t end = std::min(text.find_first_of(".[", i), text.size());
      step.name = text.substr(i, end - i);
      if (step.name.empty()) return bad_path(text, i);
      if (step.name == "*") step.kind = Step::Kind::any;
      i = end;
    } else if (text[i] == '[') {
      const std::size_t quote = i + 1;
      const char c = quote < text.size() ? text[quote] : '\0';
      std::size_t end = std::string_view::npos;
      if (c == '\'' || c == '"') {
        end = text.find(std::string{c, ']'}, quote + 1);
        if (end == std::string_view::npos) return bad_path(text, i);
        step.name = text.substr(quote + 1, end - quote - 1);
        ++end;
      } else {
        end = text.find(']', quote);
        const std::string_view inner =
            end == std::string_view::npos ? std::string_view() : text.substr(quote, end - quote);
        const bool number = !inner.empty() && inner.size() < 10 &&
                            std::all_of(inner.begin(), inner.end(), is_digit);
        if (inner != "*" && !number) return bad_path(text, i);
        step.kind = number ? Step::Kind::element : Step::Kind::any;
        if (number) step.index = static_cast<std::uint32_t>(std::stoul(std::string(inner)));
      }
      i = end + 1;
    } else {
      return bad_path(text, i);
    }
    path.steps_.push_back(std::move(step));
  }
  if (path.steps_.empty()) return bad_path(text, 0);
  return path;
}

bool JsonPath::matches(std::span<const JsonStep> place) const {
  return matches(steps_, place);
}

bool JsonPath::matches(std::span<const Step> steps, std::span<const JsonStep> place) {
  if (steps.empty()) return place.empty();
  if (place.empty()) return false;
  const Step& step = steps.front();
  const JsonStep& at = place.front();
  bool here = false;
  switch (step.kind) {
    case Step::Kind::any:
      here = true;
      break;
    case Step::Kind::element:
      here = at.element && at.index == step.index;
      break;
    case Step::Kind::member:
      here = !at.element && at.name == step.name;
      break;
  }
  if (here && matches(steps.subspan(1), place.subspan(1))) return true;
  return step.deep && matches(steps, place.subspan(1));
}

}  // namespace gatedrill
