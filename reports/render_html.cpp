#include <array>
#include <string>
#include <utility>

#include "reports/embedded.hpp"
#include "reports/escape.hpp"
#include "reports/render.hpp"
#include "reports/report_document.hpp"

namespace gatedrill::reports {
namespace {

// JSON inside a script element: no '<' may reach the HTML parser.
std::string without_tags(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char character : json) {
    if (character == '<') {
      out += "\\u003c";
    } else {
      out += character;
    }
  }
  return out;
}

std::string title_of(std::span<const RunReport> reports) {
  if (reports.size() != 1) return std::to_string(reports.size()) + " runs";
  const RunReport& report = reports.front();
  return report.title() + ": " +
         (report.judgement.valid ? headline(report.judgement) : "not valid evidence");
}

std::string text_of(std::span<const RunReport> reports) {
  std::string text;
  for (const RunReport& report : reports)
    text += render_text(report, TextStyle{}) + "\n";
  return text;
}

}  // namespace

std::string render_html(std::span<const RunReport> reports) {
  const std::string document =
      document_of(reports).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::array<std::pair<std::string_view, std::string>, 5> parts{{
      {"@title@", escaped(title_of(reports))},
      {"@styles@", std::string(embedded::uplot_css) + std::string(embedded::page_css)},
      {"@text@", escaped(text_of(reports))},
      {"@document@", without_tags(document)},
      {"@scripts@", "/*! uPlot\n" + std::string(embedded::uplot_license) + "*/\n" +
                        std::string(embedded::uplot_js) + "\n" + std::string(embedded::charts_js) +
                        "\n" + std::string(embedded::page_js)},
  }};
  // The marks stand in the page in this order, so that what was put in is never searched.
  std::string page;
  std::string_view rest = embedded::page_html;
  for (const auto& [mark, content] : parts) {
    const std::size_t at = rest.find(mark);
    page += rest.substr(0, at);
    page += content;
    rest = rest.substr(at + mark.size());
  }
  return page.append(rest);
}

}  // namespace gatedrill::reports
