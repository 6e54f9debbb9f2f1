// SPDX-License-Identifier: Apache-2.0
//
// draw_machines check|write DIR: holds the drawn part of DIR/<machine>.md, from
// the line "<!-- drawn -->" to "<!-- end -->", against the tables, or writes
// it. draw_machines promela MACHINE... [drop FROM EVENT | to FROM EVENT STATE]:
// prints Promela, with the last machine's rows changed as asked, so that a
// check can show that it notices. draw_machines names: the machines.
#include "protocols/machine_text.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace {

using namespace troupe::protocols;

constexpr std::string_view begin_mark = "<!-- drawn -->\n";
constexpr std::string_view end_mark = "<!-- end -->\n";

std::string drawn(const machine_description& machine) {
  return "\n```mermaid\n" + mermaid(machine) + "```\n\n"
         + markdown_tables(machine) + '\n';
}

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Says where two texts differ first.
std::string difference(std::string_view is, std::string_view should) {
  std::size_t i = 0, line_start = 0;
  for (; i < is.size() && i < should.size() && is[i] == should[i]; ++i)
    if (is[i] == '\n')
      line_start = i + 1;
  const auto line = [&](std::string_view text) {
    text.remove_prefix(std::min(line_start, text.size()));
    return std::string{text.substr(0, text.find('\n'))};
  };
  return "  is:     " + line(is) + "\n  should: " + line(should) + '\n';
}

bool draw(const machine_description& machine, bool is_check,
          const std::filesystem::path& folder) {
  const auto path = folder / (std::string{machine.name} + ".md");
  const auto text = content(path);
  const auto begin = text.find(begin_mark), end = text.find(end_mark);
  if (begin == text.npos || end == text.npos || end < begin) {
    std::cerr << path.string() << ": no file, or no drawn part between '<!-- "
              << "drawn -->' and '<!-- end -->'\n";
    return false;
  }
  const auto head = text.substr(0, begin + begin_mark.size());
  const auto is = text.substr(head.size(), end - head.size());
  const auto should = drawn(machine);
  if (!is_check)
    std::ofstream(path) << head << should << text.substr(end);
  else if (is != should) {
    std::cerr << path.string() << ": not what the table says; run draw_machines"
              << " write " << folder.string() << '\n'
              << difference(is, should);
    return false;
  }
  return true;
}

/// Every machine has its file, and every file its machine.
int draw_all(bool is_check, const std::filesystem::path& folder) {
  bool ok = true;
  for (const auto& machine : machines())
    ok = draw(machine, is_check, folder) && ok;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (const auto stem = entry.path().stem().string();
        stem != "README" && !find_machine(stem)) {
      std::cerr << entry.path().string() << ": there is no such machine\n";
      ok = false;
    }
  return ok ? 0 : 1;
}

/// Changes a row: `to FROM EVENT GUARD STATE` leads elsewhere, `without FROM
/// EVENT GUARD EFFECT` leaves an effect out. Returns false if nothing changed.
bool spoil(machine_description& machine,
           const std::vector<std::string_view>& how) {
  for (auto& e : machine.edges)
    if (e.from == how[1] && e.event == how[2] && e.guard == how[3]) {
      if (how[0] == "without")
        return std::erase(e.effects, how[4]) > 0;
      return has_state(machine, how[4])
             && std::exchange(e.to, how[4]) != how[4];
    }
  return false;
}

int print_promela(const std::vector<std::string_view>& words) {
  std::vector<machine_description> wanted;
  std::size_t i = 0;
  for (; i < words.size() && words[i] != "without" && words[i] != "to"; ++i) {
    const auto* machine = find_machine(words[i]);
    if (!machine) {
      std::cerr << "no machine '" << words[i] << "'\n";
      return 2;
    }
    wanted.push_back(*machine);
  }
  if (i < words.size()) {
    const std::vector<std::string_view> how{
      words.begin() + static_cast<std::ptrdiff_t>(i), words.end()};
    if (how.size() != 5 || !spoil(wanted.back(), how)) {
      std::cerr << "nothing to change\n";
      return 2;
    }
  }
  std::cout << promela_prelude();
  for (const auto& machine : wanted)
    std::cout << promela(machine);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words{argv + 1, argv + argc};
  if (words.size() == 2 && (words[0] == "check" || words[0] == "write"))
    return draw_all(words[0] == "check", words[1]);
  if (words.size() > 1 && words[0] == "promela")
    return print_promela({words.begin() + 1, words.end()});
  std::cerr << "usage: draw_machines check|write DIR | promela MACHINE...\n";
  return 2;
}
