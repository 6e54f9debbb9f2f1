// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/dataset.hpp"

#include "tests/support/expect_failure.hpp"
#include "tests/support/temporary_folder.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::data;
using troupe::protocols::errc;
using troupe::protocols::group_id;
using troupe::tests::expect_failure;
using troupe::tests::temporary_folder;

TEST_SUITE_BEGIN("runtime.data.dataset");

namespace {

/// Rows "0", "1", ... of a file.
class numbered_rows {
public:
  explicit numbered_rows(std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i)
      text += R"({"prompt": ")" + std::to_string(i) + "\"}\n";
    file_ = folder_.write("rows.jsonl", text);
  }

  [[nodiscard]] prompt_rows read() const {
    return prompt_rows::read({.file = {file_}, .answer_field = ""}, {});
  }

private:
  temporary_folder folder_;
  std::string file_;
};

std::vector<std::string> take(dataset& data, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i)
    out.push_back(data.row(data.take()).prompt);
  return out;
}

} // namespace

TEST_CASE("without shuffling rows come in the file's order, pass after pass") {
  dataset data{numbered_rows(3).read(), 1, row_order::as_in_file};

  CHECK(take(data, 5) == std::vector<std::string>{"0", "1", "2", "0", "1"});
  CHECK(data.position() == data_position{1, 2, 3});
  CHECK(data.take() == group_id{1, 2, 0});
}

TEST_CASE("each pass has every row once, in an order of its own") {
  dataset data{numbered_rows(50).read(), 7, row_order::shuffled};

  const auto first = take(data, 50), second = take(data, 50);

  CHECK(first != second);
  CHECK(std::set<std::string>(first.begin(), first.end()).size() == 50);
  CHECK(std::set<std::string>(second.begin(), second.end()).size() == 50);
}

TEST_CASE("the order is a pure function of seed and pass") {
  CHECK(pass_order(7, 3, 1000) == pass_order(7, 3, 1000));
  CHECK(pass_order(7, 3, 1000) != pass_order(8, 3, 1000));
  CHECK(pass_order(7, 3, 1000)
        != pass_order(7 + (std::uint64_t{1} << 32), 3, 1000));
  CHECK(pass_order(7, 3, 1) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a group's row does not depend on what was asked before") {
  dataset data{numbered_rows(20).read(), 7, row_order::shuffled};
  const auto late = data.row({5, 3, 0}).prompt;

  CHECK(data.row({0, 3, 0}).prompt == std::to_string(pass_order(7, 0, 20)[3]));
  CHECK(data.row({5, 3, 2}).prompt == late);
}

TEST_CASE("shuffling is unbiased") {
  // Each of 6 orders of 3 rows in 60,000 passes: 10,000 expected, standard
  // deviation 91; six of them are allowed.
  std::array<int, 27> count{};
  for (std::uint32_t pass = 0; pass < 60000; ++pass) {
    const auto order = pass_order(1, pass, 3);
    ++count[order[0] * 9 + order[1] * 3 + order[2]];
  }
  for (const auto number : count)
    CHECK((number == 0 || std::abs(number - 10000) < 550));
  CHECK(std::ranges::count(count, 0) == 21);
}

TEST_CASE("a restored position goes on with the same rows") {
  dataset whole{numbered_rows(7).read(), 3, row_order::shuffled};
  take(whole, 10);
  const auto saved = whole.position();
  const auto rest = take(whole, 20);
  dataset resumed{numbered_rows(7).read(), 3, row_order::shuffled};

  resumed.restore(saved);

  CHECK(take(resumed, 20) == rest);
}

TEST_CASE("a position of other data is refused and changes nothing") {
  dataset data{numbered_rows(7).read(), 3, row_order::shuffled};
  data.take();

  expect_failure(errc::checkpoint_mismatch,
                 {"rows.jsonl", "7 rows", "row 2 of 8", "resume with"},
                 [&data] {
                   data.restore({1, 2, 8});
                 });
  expect_failure(errc::checkpoint_mismatch, {"row 7 of 7"}, [&data] {
    data.restore({1, 7, 7});
  });

  CHECK(data.position() == data_position{0, 1, 7});
}

TEST_SUITE_END();
