// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/decoder.hpp"

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::tokenizer;

namespace {

using steps = std::vector<decoder_step>;

const std::vector<std::string_view> spellings{
  "_a", "b_", "_", "<0xE2>", "<0x82>", "<0xAC>", "c", "_<0x41>"};

/// Decodes tokens 0, 1, ... of `spellings`, and checks each piece on the way.
std::string decode(const std::optional<steps>& how,
                   const std::vector<std::int32_t>& ids,
                   std::string* pieces = nullptr) {
  const decoder used{how, spellings, "tokenizer.json"};
  auto state = used.begin();
  std::string out;
  for (const auto id : ids) {
    std::string piece;
    used.push(state, id, piece);
    out += piece;
    if (pieces != nullptr)
      *pieces += piece + "|";
  }
  used.finish(state, out);
  return out;
}

replace_step mark_to_space() {
  return {{"_", false, "pattern"}, " "};
}

steps llama() {
  return {mark_to_space(), byte_fallback_decode{}, fuse_decode{},
          strip_decode{" ", 1, 0}};
}

} // namespace

TEST_SUITE_BEGIN("runtime.tokenizer.decoder");

TEST_CASE("without a decoder, spaces lie between tokens") {
  CHECK(decode(std::nullopt, {0, 6, 1}) == "_a c b_");
}

TEST_CASE("one space is stripped at the start of all, not of each token") {
  CHECK(decode(llama(), {0, 0, 6}) == "a ac");
  CHECK(decode(llama(), {2, 0}) == " a");
  CHECK(decode(steps{mark_to_space(), strip_decode{" ", 1, 0}}, {0, 0})
        == "aa");
}

TEST_CASE("a run of byte tokens is a text, or one U+FFFD for each") {
  CHECK(decode(llama(), {6, 3, 4, 5, 6}) == "c\u20acc");
  CHECK(decode(llama(), {3, 4, 5, 3, 6}) == "\ufffd\ufffd\ufffd\ufffdc");
  CHECK(decode(llama(), {3, 4}) == "\ufffd\ufffd");
}

TEST_CASE("a run of byte tokens comes when it ends") {
  std::string pieces;
  decode(llama(), {6, 3, 4, 5, 6}, &pieces);
  CHECK(pieces == "c||||\u20acc|");
}

TEST_CASE("marks of the first token are dropped, those of others are spaces") {
  const steps marks{metaspace_decode{"_", true}};
  CHECK(decode(marks, {0, 1, 0}) == "ab  a");
  CHECK(decode(steps{metaspace_decode{"_", false}}, {0, 1}) == " ab ");
}

TEST_CASE("what needs the whole text waits for it") {
  std::string pieces;
  const steps both_ends{fuse_decode{}, strip_decode{"_", 1, 1}};
  CHECK(decode(both_ends, {0, 1, 2}, &pieces) == "ab_");
  CHECK(pieces == "|||");
  const steps across{fuse_decode{}, replace_step{{"ab", false, ""}, "x"}};
  CHECK(decode(across, {0, 1}) == "_x_");
}

TEST_CASE("finishing begins anew") {
  const decoder used{llama(), spellings, "tokenizer.json"};
  auto state = used.begin();
  for (int i = 0; i < 2; ++i) {
    std::string out;
    used.push(state, 0, out);
    used.push(state, 3, out);
    used.finish(state, out);
    CHECK(out == "a\ufffd");
  }
}

TEST_SUITE_END();
