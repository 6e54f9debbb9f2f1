// SPDX-License-Identifier: Apache-2.0
#include "kernels/random.hpp"

#include <cmath>
#include <set>
#include <vector>

#include "tests/support/doctest.hpp"

namespace troupe::kernels {

// The known answers that come with the authors' Random123, kat_vectors.
TEST_CASE("philox gives the published answers") {
  using block = std::array<std::uint32_t, 4>;
  CHECK(philox({0, 0, 0, 0}, {0, 0})
        == block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr std::uint32_t f = 0xffffffff;
  CHECK(philox({f, f, f, f}, {f, f})
        == block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
               {0xa4093822, 0x299f31d0})
        == block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("every coordinate of a token changes its number") {
  std::vector<token_coordinates> all(11);
  all[1].job_seed = 1;
  all[2].job_seed = std::uint64_t{1} << 32;
  all[3].use = purpose::train;
  all[4].eval_name_hash = 1;
  all[5].data_pass = 1;
  all[6].position_in_pass = 1;
  all[7].attempt = 1;
  all[8].sample_index = 1;
  all[9].turn = 1;
  all[10].position = 1;
  std::set<double> numbers;
  for (const auto& at : all) {
    CHECK(uniform(at) == uniform(at));
    numbers.insert(uniform(at));
  }
  CHECK(numbers.size() == all.size());
}

TEST_CASE("uniform is uniform from 0 to below 1") {
  constexpr int num_bins = 64, num_draws = 64000;
  std::array<int, num_bins> counts{};
  double lag = 0, previous = 0.5;
  for (std::uint32_t i = 0; i < num_draws; ++i) {
    const double u = uniform({.job_seed = 7, .position = i});
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    ++counts[static_cast<std::size_t>(u * num_bins)];
    lag += (u - 0.5) * (previous - 0.5) * 12;
    previous = u;
  }
  double chi_square = 0;
  for (const int count : counts)
    chi_square += std::pow(count - 1000, 2) / 1000.0;
  CHECK(chi_square < 110); // 63 degrees of freedom: p = 0.0002
  CHECK(std::abs(lag / std::sqrt(num_draws)) < 4); // standard normal
}

} // namespace troupe::kernels
