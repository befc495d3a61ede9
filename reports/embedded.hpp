// Text files of this folder and of the page's library, compiled in by embed.cmake.
#pragma once

#include <string_view>

namespace gatedrill::reports::embedded {

extern const std::string_view schema_sql;
extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;
extern const std::string_view charts_js;
extern const std::string_view uplot_js;
extern const std::string_view uplot_css;
extern const std::string_view uplot_license;

}  // namespace gatedrill::reports::embedded
