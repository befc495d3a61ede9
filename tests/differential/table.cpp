#include "tests/differential/table.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/differential/message.hpp"

namespace gatedrill::differential {
namespace {

constexpr std::size_t kColumn = 11;
const std::string kIndent = "  ";

std::string line(const std::string& key, const std::string& value) {
  std::string text = kIndent + key;
  text.resize(std::max(kIndent.size() + kColumn, text.size() + 1), ' ');
  return text + value + "\n";
}

std::optional<Program> program_named(std::string_view name) {
  for (const Program program : kPrograms) {
    if (to_string(program) == name) return program;
  }
  return std::nullopt;
}

std::string kind_of(const std::string& reason) {
  return reason.substr(0, reason.find(':'));
}

// How often which kind of difference: what most readers want.
std::string counts(const Table& table) {
  std::string text;
  for (const Program program : {Program::nginx, Program::haproxy}) {
    if (!table.versions.contains(program)) continue;
    std::map<std::string, int> kinds;
    int same = 0;
    for (const Row& row : table.rows) {
      if (row.differs_from(program)) {
        ++kinds[kind_of(row.reason_for(program))];
      } else {
        ++same;
      }
    }
    text += "# beside " + std::string(to_string(program)) + " " + table.versions.at(program) +
            ": the same " + std::to_string(same);
    for (const char* kind : kReasonKinds)
      text += std::string(", ") + kind + " " + std::to_string(kinds[kind]);
    text += "\n";
  }
  return text;
}

}  // namespace

bool Row::differs_from(Program program) const {
  const auto ours = outcomes.find(Program::gatedrill);
  const auto theirs = outcomes.find(program);
  if (ours == outcomes.end() || theirs == outcomes.end()) return false;
  return !(without_causes(ours->second) == without_causes(theirs->second));
}

std::string Row::reason_for(Program program) const {
  for (const std::string& key : {std::string(to_string(program)), std::string("both")}) {
    if (const auto found = reasons.find(key); found != reasons.end()) return found->second;
  }
  return {};
}

Row* Table::find(const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

std::string sent_text(const Input& input) {
  std::string text;
  for (const std::string& piece : input.pieces)
    text += (text.empty() ? "" : " ... ") + quoted(piece, 400);
  return text;
}

std::string row_text(const Row& row) {
  std::string text = "[" + row.section + "] " + row.name + "\n" + line("sent", row.sent);
  for (const auto& [program, outcome] : row.outcomes) {
    text += line(std::string(to_string(program)), outcome.client);
    text += line("", outcome.origin);
  }
  for (const auto& [key, reason] : row.reasons)
    text += line(key + ":", reason);
  return text;
}

Table read_table(const std::string& path) {
  Table table;
  std::ifstream file(path);
  std::optional<Program> last;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string key;
    words >> key;
    if (key.empty()) continue;
    if (key == "version") {
      std::string program;
      words >> program >> text;
      if (const auto known = program_named(program)) table.versions[*known] = text;
    } else if (text.starts_with("[")) {
      Row& row = table.rows.emplace_back();
      row.section = text.substr(1, text.find("] ") - 1);
      row.name = text.substr(text.find("] ") + 2);
    } else if (text.starts_with(kIndent) && !table.rows.empty()) {
      Row& row = table.rows.back();
      const std::string value = text.substr(std::min(text.size(), kIndent.size() + kColumn));
      if (text.starts_with(kIndent + "  ")) {
        if (last) row.outcomes[*last].origin = value;
      } else if (key == "sent") {
        row.sent = value;
      } else if (key.ends_with(':')) {
        row.reasons[key.substr(0, key.size() - 1)] = value;
      } else if ((last = program_named(key))) {
        row.outcomes[*last].client = value;
      }
    }
  }
  return table;
}

void write_table(const Table& table, const std::string& path) {
  std::ofstream file(path);
  file << "# The same bytes through gatedrill, nginx and HAProxy, in each of them before a "
          "recording origin:\n"
          "# what the client got, and below it what the origin saw. tests/differential/README.md "
          "says how\n"
          "# to read this table and how it is written anew.\n#\n"
       << counts(table) << "\n";
  for (const auto& [program, version] : table.versions)
    file << "version " << to_string(program) << " " << version << "\n";
  for (const Row& row : table.rows)
    file << "\n" << row_text(row);
}

}  // namespace gatedrill::differential
