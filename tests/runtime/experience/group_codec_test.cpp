// SPDX-License-Identifier: Apache-2.0
#include "runtime/experience/group_codec.hpp"

#include "protocols/failure.hpp"
#include "tests/runtime/experience/synthetic_group.hpp"

#include <cstring>
#include <new>
#include <random>

#include "tests/support/doctest.hpp"

using namespace troupe;
using namespace troupe::runtime::experience;

namespace {

template <class Decode>
std::string refusal(Decode decode, std::span<const std::byte> bytes) {
  try {
    decode(bytes);
    return "";
  } catch (const protocols::failure& e) {
    CHECK(e.code() == protocols::errc::frame_corrupt);
    return e.what();
  }
}

} // namespace

TEST_SUITE("runtime.experience.group_codec") {

  TEST_CASE("groups, texts and keys come back bit for bit") {
    for (std::size_t num_tokens : {0, 1, 33}) {
      auto group = tests::make_group({1, 2, 3}, 4, num_tokens);
      CHECK(tests::has_same_bits(decode_group(encode_group(group)), group));
      auto texts = decode_texts(encode_texts(group));
      REQUIRE(texts.size() == 4);
      CHECK(texts[3] == group.samples[3].text);
    }
    group_key key{{1, 2, 3}, 9};
    CHECK(decode_key(encode_key(key)) == key);
  }

  TEST_CASE("bytes that end early or late are refused, wherever they are cut") {
    auto group = tests::make_group({1, 2, 3}, 2, 3);
    auto whole = encode_group(group);
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK_FALSE(refusal(decode_group, std::span{whole}.first(size)).empty());
    auto texts = encode_texts(group);
    for (std::size_t size = 0; size < texts.size(); ++size)
      CHECK_FALSE(refusal(decode_texts, std::span{texts}.first(size)).empty());
    whole.push_back({});
    CHECK(refusal(decode_group, whole)
          == "rollout group: field 'end' before byte "
               + std::to_string(whole.size() - 1) + ": 1 bytes too many");
  }

  TEST_CASE("a count larger than the bytes that are left allocates nothing") {
    auto bytes = encode_group(tests::make_group({1, 2, 3}, 1, 3));
    std::uint64_t count = std::uint64_t{1} << 62;
    std::memcpy(bytes.data() + 20, &count, sizeof(count)); // of prompt_ids
    CHECK(refusal(decode_group, bytes)
          == "rollout group: field 'prompt_ids' before byte 28: a count of "
               + std::to_string(count) + " with "
               + std::to_string(bytes.size() - 28) + " bytes left");
  }

  TEST_CASE("columns of unequal length and unknown reasons are refused") {
    auto group = tests::make_group({1, 2, 3}, 1, 3);
    group.samples[0].rollout_logprobs.pop_back();
    CHECK(
      refusal(decode_group, encode_group(group)).find("2 and 3 for 3 tokens")
      != std::string::npos);
    group = tests::make_group({1, 2, 3}, 1, 3);
    group.samples[0].finish = static_cast<finish_reason>(3);
    CHECK(refusal(decode_group, encode_group(group)).find("'finish'")
          != std::string::npos);
    CHECK(refusal(decode_texts, encode_group(group)).find("'magic'")
          != std::string::npos);
  }

  TEST_CASE("flipped bits end in a group or a refusal, nothing else") {
    auto whole = encode_group(tests::make_group({1, 2, 3}, 2, 3));
    std::mt19937 random{1};
    for (int round = 0; round < 20'000; ++round) {
      auto bytes = whole;
      for (auto flips = 1 + random() % 4; flips > 0; --flips)
        bytes[random() % bytes.size()] ^= std::byte{1} << (random() % 8);
      refusal(decode_group, bytes);
    }
  }

} // TEST_SUITE
