#include "reports/expectation/lexer.hpp"

namespace gatedrill::reports {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kSigns = "(),=!<>";
constexpr std::string_view kQuotes = "'\"";

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view text, std::size_t first_column) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (true) {
    at = std::min(text.find_first_not_of(kSpaces, at), text.size());
    Token token{Token::Kind::end, "", first_column + at};
    if (at == text.size()) {
      tokens.push_back(token);
      return tokens;
    }
    std::size_t end = at + 1;
    if (kQuotes.find(text[at]) != std::string_view::npos) {
      end = text.find(text[at], at + 1);
      if (end == std::string_view::npos) {
        return usage_error("column " + std::to_string(token.column) +
                           ": the quotation mark is never closed");
      }
      token.kind = Token::Kind::quoted;
      token.text = text.substr(at + 1, end - at - 1);
      ++end;
    } else if (kSigns.find(text[at]) != std::string_view::npos) {
      const bool two = end < text.size() && text[end] == '=' &&
                       std::string_view("=!<>").find(text[at]) != std::string_view::npos;
      if (two) ++end;
      token.kind = Token::Kind::sign;
      token.text = text.substr(at, end - at);
    } else {
      end = text.size();
      for (const std::string_view stop : {kSpaces, kSigns, kQuotes}) {
        end = std::min(end, text.find_first_of(stop, at));
      }
      token.kind = Token::Kind::word;
      token.text = text.substr(at, end - at);
    }
    tokens.push_back(token);
    at = end;
  }
}

}  // namespace gatedrill::reports
