// Redaction of any bytes: it comes to an end, and bytes that stand where a secret stands are gone.
#include <optional>
#include <string>

#include "replay/redact/content.hpp"
#include "replay/redact/encodings.hpp"
#include "replay/redact/wide_text.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/require.hpp"

namespace gatedrill::fuzz {
namespace {

using replay::ContentRedactor;

ContentRedactor redactor(bool rules) {
  replay::RedactionRules more;
  if (rules) more = {.json = {"$.a[*].b", "$..c"}, .allowed = {"sid", "$.token"}};
  return {replay::SecretNames::create(more).value(), replay::Pseudonyms("a key for all inputs")};
}

std::optional<std::string> redacted(ContentRedactor& content,
                                    std::uint64_t how,
                                    std::string_view bytes) {
  switch (how) {
    case 0:
      return content.json(bytes);
    case 1:
      return content.parameters(bytes);
    case 2:
      return content.url(bytes);
    case 3:
      return content.markup(bytes);
    case 4:
      return content.text(bytes);
    case 5:
      return content.loose(bytes);
    case 6:
      return content.body(replay::widened(bytes, {}), "");
    default:
      return content.multipart(bytes, "a");
  }
}

void check_planted(ContentRedactor& content, std::string_view secret) {
  constexpr std::size_t kLongEnough = 6;  // not to stand in the rest by chance
  constexpr std::string_view kAround =    // what stands around it below
      R"({"x":1,"password":""} /a?x=1&password= //@host/ <a><pin><b></b></pin></a> pin=)";
  if (kAround.find(secret) != std::string_view::npos) return;
  const bool is_pseudonym =
      content.pseudonym(replay::percent_decoded(secret)).find(secret) != std::string::npos;
  if (secret.size() < kLongEnough || is_pseudonym) return;
  const auto gone = [&](const std::optional<std::string>& out, std::string_view form) {
    return out && out->find(form) == std::string::npos;
  };
  const std::string json = replay::json_escaped(secret);
  require(gone(content.json(R"({"x":1,"password":")" + json + R"("})"), json), "gone from JSON");
  const std::string form = replay::percent_encoded(secret);
  require(gone(content.parameters("x=1&password=" + form), form), "gone from a form");
  require(gone(content.url("/a?x=1&password=" + form), form), "gone from a URL");
  require(gone(content.url("//" + form + "@host/"), form), "gone from an authority");
  require(gone(content.markup("<a><pin><b>" + form + "</b></pin></a>"), form), "gone from XML");
  require(gone(content.loose("a\npin=" + form + "\n"), form), "gone from a text");
}

}  // namespace
}  // namespace gatedrill::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gatedrill;
  fuzz::Choices choices({reinterpret_cast<const char*>(data), size});
  const bool rules = choices.chance(0.5);
  const std::uint64_t how = choices.below(8);
  const std::string_view bytes = choices.rest();
  auto content = fuzz::redactor(rules);
  static_cast<void>(fuzz::redacted(content, how, bytes));
  content.body(bytes, "");  // whatever it looks like
  auto plain = fuzz::redactor(false);
  fuzz::check_planted(plain, bytes);
  return 0;
}
