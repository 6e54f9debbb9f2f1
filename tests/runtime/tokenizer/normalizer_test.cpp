// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/normalizer.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;

namespace {

using steps = std::vector<normalizer_step>;

std::string normalize(const steps& spec, std::string_view text) {
  return normalizer{spec, "tokenizer.json"}.normalize(text);
}

/// Returns what each byte of the result stands for, as "begin-end" of bytes.
std::string origins(const steps& spec, std::string_view text) {
  const auto found = normalizer{spec, "tokenizer.json"}.normalize(
    aligned_text{text, aligned_text::tracking::on});
  CHECK(found.text() == normalize(spec, text)); // with and without spans
  std::string out;
  for (std::size_t i = 0; i < found.text().size(); ++i) {
    const auto [begin, end] = found.origin(i);
    out += std::to_string(begin) + "-" + std::to_string(end) + " ";
  }
  return out;
}

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.normalizer");

TEST_CASE("normal forms say what each character stands for") {
  const steps nfc{form_step{normal_form::nfc}};
  const steps nfd{form_step{normal_form::nfd}};
  const steps nfkc{form_step{normal_form::nfkc}};
  CHECK(origins(nfc, "ae\u0301b") == "0-1 1-2 1-2 4-5 ");
  CHECK(origins(nfd, "\u00e9b") == "0-2 0-2 0-2 2-3 ");
  CHECK(origins(nfkc, "\ufb01x") == "0-3 0-3 3-4 ");
  // Marks change places: below comes before above.
  CHECK(normalize(nfd, "a\u0301\u0323") == "a\u0323\u0301");
  CHECK(origins(nfd, "a\u0301\u0323") == "0-1 1-3 1-3 3-5 3-5 ");
  // Hangul is composed without a table.
  CHECK(normalize(nfc, "\u1100\u1161\u11a8") == "\uac01");
  CHECK(origins(nfc, "\u1100\u1161\u11a8.") == "0-3 0-3 0-3 9-10 ");
}

TEST_CASE("texts change and keep their places") {
  CHECK(origins({replace_step{{" ", false, ""}, "\u2581"}}, "a b")
        == "0-1 1-2 1-2 1-2 2-3 ");
  CHECK(origins({prepend_step{"<>"}}, "\u00e9") == "0-2 0-2 0-2 0-2 ");
  CHECK(normalize({prepend_step{"<>"}}, "").empty());
  CHECK(origins({strip_step{true, true}}, " a\u3000") == "1-2 ");
  CHECK(normalize({strip_step{true, true}}, " \n").empty());
  CHECK(normalize({strip_step{false, true}}, " a ") == " a");
  CHECK(origins({lowercase_step{}}, "A\u0130") == "0-1 1-3 1-3 1-3 ");
  CHECK(normalize({lowercase_step{}}, "\u00c9\u03a3Z") == "\u00e9\u03c3z");
  CHECK(origins({strip_accents_step{}}, "e\u0301x") == "0-1 3-4 ");
  CHECK(origins({spell_bytes_step{}}, "\u00e9") == "0-2 0-2 0-2 0-2 ");
}

TEST_CASE("steps follow one another") {
  CHECK(normalize({form_step{normal_form::nfd}, strip_accents_step{},
                   lowercase_step{}, replace_step{{"[ae]", true, ""}, "_"}},
                  "\u00c9cole \u00c0")
        == "_col_ _");
}

TEST_SUITE_END();
