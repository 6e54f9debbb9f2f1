// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/key_reference.hpp"

#include "runtime/config/deadlines.hpp"
#include "runtime/config/key_table.hpp"

namespace troupe::runtime::config {

namespace {

std::string default_of(const key_row& row, const job_config& defaults) {
  if (row.facts.need == presence::required)
    return "required";
  if (!row.facts.inherits.empty())
    return "as `" + std::string{row.facts.inherits} + '`';
  const auto text = value_text(row, defaults);
  return text.empty() ? "none" : '`' + text + '`';
}

std::string effects_of(const key_row& row) {
  std::string out;
  for (const auto& effect : row.effects)
    out += (out.empty() ? " Only with " : "; ") + effect.when;
  return out.empty() ? out : out + '.';
}

} // namespace

std::string render_key_reference() {
  const auto defaults = job_of_defaults();
  std::string out, block;
  for (const auto& row : key_table()) {
    const auto dot = row.path.rfind('.');
    if (row.path.substr(0, dot) != block) {
      block = row.path.substr(0, dot);
      out += "\n### " + block
             + "\n\n| key | allowed | default | meaning |\n"
               "| --- | --- | --- | --- |\n";
    }
    out += "| `" + row.path.substr(dot + 1) + "` | " + allowed_values(row)
           + " | " + default_of(row, defaults) + " | " + row.doc
           + effects_of(row) + " |\n";
  }
  out += "\n## Deadlines\n\n| name | seconds | waits on |\n| --- | --- | --- "
         "|\n";
  for (const auto& row : deadlines)
    out += "| " + std::string{row.name} + " | "
           + std::to_string(row.duration.count() / 1000) + " | "
           + std::string{row.waits_on} + " |\n";
  return out;
}

} // namespace troupe::runtime::config
