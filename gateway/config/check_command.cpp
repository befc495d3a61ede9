#include "gateway/config/check_command.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>

namespace gatedrill::gateway {
namespace {

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> assignments;
  std::string format = "text";
  bool explain = false;
};

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      quoted += code.data();
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// {"problems": [{"file": "a.yaml", "line": 1, "column": 2, "path": "listen", "text": "..."}]}
void print_json(const std::vector<Problem>& problems) {
  std::cout << "{\"problems\": [";
  const char* separator = "\n  ";
  for (const Problem& problem : problems) {
    std::cout << separator << "{\"file\": " << json_text(name_of(problem.place.source))
              << ", \"line\": " << problem.place.line << ", \"column\": " << problem.place.column
              << ", \"path\": " << json_text(problem.path)
              << ", \"text\": " << json_text(problem.text) << "}";
    separator = ",\n  ";
  }
  std::cout << (problems.empty() ? "]}\n" : "\n]}\n");
}

void print_text(const std::string& file, const Checked& checked, bool explain) {
  if (!checked.problems.empty()) {
    std::cout << to_string(checked.problems) << "\n";
    return;
  }
  std::cout << file << ": " << checked.summary << "\n";
  if (explain && !checked.explanation.empty()) std::cout << checked.explanation;
}

int run_check(const Options& options, const std::vector<FileKind>& kinds) {
  int status = 0;
  std::vector<Problem> problems;
  for (const std::string& file : options.files) {
    const Result<Checked> checked = check_file(file, kinds, options.assignments);
    if (!checked) {
      std::cerr << "gatedrill check: " << checked.error().message << "\n";
      status = std::max(status, gatedrill::exit_status(checked.error().code));
      continue;
    }
    if (!checked->problems.empty()) status = std::max(status, exit_status(ErrorCode::usage));
    if (options.format == "text") print_text(file, *checked, options.explain);
    problems.insert(problems.end(), checked->problems.begin(), checked->problems.end());
  }
  if (options.format == "json") print_json(problems);
  return status;
}

}  // namespace

void add_check_command(CLI::App& app, std::vector<FileKind> kinds, int& exit_status) {
  CLI::App* command = app.add_subcommand("check", "Validate configurations and scenarios");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Files to check")->required();
  command->add_option("--set", options->assignments, "Override a setting: key.path=value")
      ->expected(1)
      ->take_all();
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--explain", options->explain,
                    "Print the limits that hold for each route, and which of them wins");
  command->footer("Example: gatedrill check gateway.yaml --explain");
  command->callback([options, kinds = std::move(kinds), &exit_status] {
    exit_status = run_check(*options, kinds);
  });
}

}  // namespace gatedrill::gateway
