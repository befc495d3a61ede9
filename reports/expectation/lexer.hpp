// An expectation as words, quoted texts and signs, each with its column (from 1). Private to
// reports/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/core/result.hpp"

namespace gatedrill::reports {

struct Token {
  enum class Kind { word, quoted, sign, end };
  Kind kind = Kind::end;
  std::string text;  // of a quoted text: what is inside
  std::size_t column = 1;

  [[nodiscard]] bool is(std::string_view sign) const { return kind == Kind::sign && text == sign; }

  [[nodiscard]] bool is_word(std::string_view word) const {
    return kind == Kind::word && text == word;
  }
};

// The last token is the end. `first_column` is the column of the text's first character.
Result<std::vector<Token>> tokens_of(std::string_view text, std::size_t first_column = 1);

}  // namespace gatedrill::reports
