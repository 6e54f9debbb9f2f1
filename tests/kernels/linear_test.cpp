// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

struct shape {
  std::int64_t T, N, K;
};

// One row, odd sizes, sizes beyond each tile and block, the tiny model's.
const std::vector<shape> shapes{{1, 1, 1},     {1, 5, 17},    {3, 7, 15},
                                {5, 4, 16},    {7, 50, 100},  {13, 97, 33},
                                {8, 128, 128}, {37, 384, 65}, {130, 67, 300}};

/// c[m][n] = sum over s of a(m, s) b(n, s).
template <class A, class B>
doubles product(std::int64_t M, std::int64_t N, std::int64_t S, const A& a,
                const B& b) {
  doubles c;
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < N; ++n) {
      double total = 0;
      for (std::int64_t s = 0; s < S; ++s)
        total += double{a(m, s)} * double{b(n, s)};
      c.push_back(total);
    }
  return c;
}

auto rows_of(const floats& x, std::int64_t cols) {
  return [&x, cols](std::int64_t i, std::int64_t j) {
    return x[static_cast<std::size_t>(i * cols + j)];
  };
}
auto cols_of(const floats& x, std::int64_t cols) {
  return [&x, cols](std::int64_t i, std::int64_t j) {
    return x[static_cast<std::size_t>(j * cols + i)];
  };
}

floats run_linear(const floats& x, const floats& w, const floats* bias,
                  const shape& s, thread_pool& pool) {
  floats y(static_cast<std::size_t>(s.T * s.N), NAN);
  linear(view(x, s.K), view(w, s.K), bias == nullptr ? nullptr : bias->data(),
         view(y, s.N), pool);
  return y;
}

} // namespace

TEST_CASE("linear and its gradients equal products in double") {
  thread_pool pool(2);
  for (const auto& s : shapes) {
    CAPTURE(s.T);
    CAPTURE(s.N);
    CAPTURE(s.K);
    const floats x = noise(s.T * s.K, 1), w = noise(s.N * s.K, 2);
    const floats dy = noise(s.T * s.N, 3), bias = noise(s.N, 4);

    const auto plain = product(s.T, s.N, s.K, rows_of(x, s.K), rows_of(w, s.K));
    CHECK(error_of(run_linear(x, w, nullptr, s, pool), plain) < 1e-5);
    auto biased = plain;
    for (std::size_t i = 0; i < biased.size(); ++i)
      biased[i] += double{bias[i % bias.size()]};
    CHECK(error_of(run_linear(x, w, &bias, s, pool), biased) < 1e-5);

    auto expected = product(s.T, s.K, s.N, rows_of(dy, s.N), cols_of(w, s.K));
    floats dx(x.size(), NAN);
    linear_grad_input(view(dy, s.N), view(w, s.K), view(dx, s.K),
                      into::overwrite, pool);
    CHECK(error_of(dx, expected) < 1e-5);
    linear_grad_input(view(dy, s.N), view(w, s.K), view(dx, s.K), into::add,
                      pool);
    for (double& v : expected)
      v *= 2;
    CHECK(error_of(dx, expected) < 1e-5);

    expected = product(s.N, s.K, s.T, cols_of(dy, s.N), cols_of(x, s.K));
    floats dw(w.size(), 1);
    linear_grad_weight(view(dy, s.N), view(x, s.K), view(dw, s.K), pool);
    for (double& v : expected)
      v += 1;
    CHECK(error_of(dw, expected) < 1e-5);

    floats dbias(bias.size(), 1);
    linear_grad_bias(view(dy, s.N), dbias.data(), pool);
    doubles sums(bias.size(), 1);
    for (std::size_t i = 0; i < dy.size(); ++i)
      sums[i % sums.size()] += double{dy[i]};
    CHECK(error_of(dbias, sums) < 1e-5);
  }
}

TEST_CASE("a row of linear has the same bits in any company") {
  thread_pool one(1), two(2), three(3);
  for (const shape s : {shape{67, 200, 150}, shape{40, 1030, 576}}) {
    const floats x = noise(s.T * s.K, 5), w = noise(s.N * s.K, 6);
    const floats all = run_linear(x, w, nullptr, s, one);
    CHECK(is_same(run_linear(x, w, nullptr, s, two), all));
    CHECK(is_same(run_linear(x, w, nullptr, s, three), all));
    for (const std::int64_t chunk : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 32}) {
      floats pieces(all.size(), NAN);
      for (std::int64_t t = 0; t < s.T; t += chunk) {
        const std::int64_t n = std::min(chunk, s.T - t);
        linear({x.data() + t * s.K, n, s.K}, view(w, s.K), nullptr,
               {pieces.data() + t * s.N, n, s.N}, two);
      }
      CHECK(is_same(pieces, all));
    }
  }
}

TEST_CASE("rows of the gradients have the same bits in any company") {
  thread_pool one(1), three(3);
  const shape s{45, 170, 200};
  const floats x = noise(s.T * s.K, 5), w = noise(s.N * s.K, 6);
  const floats dy = noise(s.T * s.N, 7);
  floats dx(x.size()), pieces(x.size()), dw(w.size(), 1),
    dw_pieces(w.size(), 1);
  linear_grad_input(view(dy, s.N), view(w, s.K), view(dx, s.K), into::overwrite,
                    three);
  for (std::int64_t t = 0; t < s.T; t += 7) {
    const std::int64_t n = std::min<std::int64_t>(7, s.T - t);
    linear_grad_input({dy.data() + t * s.N, n, s.N}, view(w, s.K),
                      {pieces.data() + t * s.K, n, s.K}, into::overwrite, one);
  }
  CHECK(is_same(pieces, dx));
  linear_grad_weight(view(dy, s.N), view(x, s.K), view(dw, s.K), three);
  for (std::int64_t n = 0; n < s.N; n += 11) {
    const std::int64_t rows = std::min<std::int64_t>(11, s.N - n);
    linear_grad_weight({dy.data() + n, s.T, rows, s.N}, view(x, s.K),
                       {dw_pieces.data() + n * s.K, rows, s.K}, one);
  }
  CHECK(is_same(dw_pieces, dw));
}

TEST_CASE("linear and its gradients have the same bits on each CPU") {
  thread_pool pool(2);
  for (const auto& s : shapes) {
    const floats x = noise(s.T * s.K, 8), w = noise(s.N * s.K, 9);
    const floats dy = noise(s.T * s.N, 10), bias = noise(s.N, 11);
    CHECK(is_same_everywhere([&] { return run_linear(x, w, &bias, s, pool); }));
    CHECK(is_same_everywhere([&] {
      floats dx(x.size(), 0.25F);
      linear_grad_input(view(dy, s.N), view(w, s.K), view(dx, s.K), into::add,
                        pool);
      return dx;
    }));
    CHECK(is_same_everywhere([&] {
      floats dw(w.size(), 0.25F);
      linear_grad_weight(view(dy, s.N), view(x, s.K), view(dw, s.K), pool);
      return dw;
    }));
  }
}

TEST_CASE("linear reads and writes through strides, and nothing beside") {
  thread_pool pool(2);
  constexpr std::int64_t T = 9, N = 21, K = 35, pad = 5;
  const floats x = noise(T * (K + pad), 12), w = noise(N * (K + pad), 13);
  floats y(T * (N + pad), 7);
  linear({x.data(), T, K, K + pad}, {w.data(), N, K, K + pad}, nullptr,
         {y.data(), T, N, N + pad}, pool);
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t n = 0; n < N + pad; ++n) {
      double expected = n < N ? 0 : 7;
      for (std::int64_t k = 0; n < N && k < K; ++k)
        expected += double{x[static_cast<std::size_t>(t * (K + pad) + k)]}
                    * double{w[static_cast<std::size_t>(n * (K + pad) + k)]};
      CHECK(y[static_cast<std::size_t>(t * (N + pad) + n)]
            == doctest::Approx(expected).epsilon(1e-5));
    }
}

} // namespace troupe::kernels::testing
