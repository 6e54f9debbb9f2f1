// SPDX-License-Identifier: Apache-2.0
#include "runtime/config/key_reference.hpp"

#include "runtime/config/key_table.hpp"
#include "tests/support/generated_doc.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::config;

TEST_SUITE_BEGIN("runtime.config.key_reference");

TEST_CASE("docs/configuration.md lists the keys of the table") {
  CHECK(
    troupe::tests::generated_part(TROUPE_SOURCE_DIR "/docs/configuration.md")
    == troupe::tests::expected_part("configuration.md",
                                    render_key_reference()));
}

TEST_CASE("the reference names every key") {
  const auto text = render_key_reference();

  for (const auto& row : key_table())
    CHECK(text.find("| `" + row.path.substr(row.path.rfind('.') + 1) + "` |")
          != std::string::npos);
}

TEST_SUITE_END();
