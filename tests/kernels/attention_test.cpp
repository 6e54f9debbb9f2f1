// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.hpp"
#include "tests/kernels/fixture.hpp"

#include "tests/support/doctest.hpp"

namespace troupe::kernels::testing {

namespace {

/// Packed sequences with causal rows; the last query of each sees all of its
/// keys.
struct batch {
  attention_shape shape;
  std::vector<std::int32_t> offsets, key_offsets;
  std::int64_t window = 0;
  floats q, k, v;

  batch(attention_shape s, std::vector<std::int32_t> o) : batch(s, o, o) {}
  batch(attention_shape s, std::vector<std::int32_t> o,
        std::vector<std::int32_t> keys, std::int64_t w = 0)
    : shape(s), offsets(std::move(o)), key_offsets(std::move(keys)), window(w) {
    q = noise(offsets.back() * q_cols(), 1, 2);
    k = noise(key_offsets.back() * k_cols(), 2, 2);
    v = noise(key_offsets.back() * k_cols(), 3);
  }
  [[nodiscard]] std::int64_t q_cols() const {
    return shape.num_heads * shape.head_width;
  }
  [[nodiscard]] std::int64_t k_cols() const {
    return shape.num_kv_heads * shape.head_width;
  }
  [[nodiscard]] std::int64_t first_key(std::int64_t num_keys) const {
    return window == 0 ? 0 : std::max<std::int64_t>(num_keys - window, 0);
  }
  [[nodiscard]] std::vector<attention_row> rows() const {
    std::vector<attention_row> all;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
      for (std::int32_t t = offsets[s]; t < offsets[s + 1]; ++t) {
        const auto num_keys =
          key_offsets[s + 1] - key_offsets[s] - (offsets[s + 1] - 1 - t);
        all.push_back({k.data() + key_offsets[s] * k_cols(),
                       v.data() + key_offsets[s] * k_cols(), num_keys, k_cols(),
                       first_key(num_keys)});
      }
    return all;
  }
};

doubles reference(const batch& b, const doubles& q, const doubles& k,
                  const doubles& v) {
  doubles out(q.size());
  const auto E = static_cast<std::size_t>(b.shape.head_width);
  const auto H = static_cast<std::size_t>(b.shape.num_heads);
  const auto K = static_cast<std::size_t>(b.shape.num_kv_heads);
  for (std::size_t s = 0; s + 1 < b.offsets.size(); ++s) {
    const auto begin = static_cast<std::size_t>(b.offsets[s]);
    const auto end = static_cast<std::size_t>(b.offsets[s + 1]);
    const auto key_begin = static_cast<std::size_t>(b.key_offsets[s]);
    const auto end_key = static_cast<std::size_t>(b.key_offsets[s + 1]);
    for (std::size_t t = begin; t < end; ++t)
      for (std::size_t h = 0; h < H; ++h) {
        doubles p;
        double total = 0;
        const auto end_of_row = end_key - (end - 1 - t);
        const auto first_key =
          key_begin
          + static_cast<std::size_t>(
            b.first_key(static_cast<std::int64_t>(end_of_row - key_begin)));
        for (std::size_t j = first_key; j < end_of_row; ++j) {
          double score = 0;
          for (std::size_t e = 0; e < E; ++e)
            score += q[(t * H + h) * E + e] * k[(j * K + h / (H / K)) * E + e];
          score *= double{b.shape.scale};
          if (const double cap = b.shape.softcap; cap > 0)
            score = cap * std::tanh(score / cap);
          p.push_back(std::exp(score));
          total += p.back();
        }
        for (std::size_t j = first_key; j < first_key + p.size(); ++j)
          for (std::size_t e = 0; e < E; ++e)
            out[(t * H + h) * E + e] +=
              p[j - first_key] / total * v[(j * K + h / (H / K)) * E + e];
      }
  }
  return out;
}

struct result {
  floats out, log_sum_exp;
};

result run(const batch& b, thread_pool& pool) {
  result r{floats(b.q.size(), NAN), {}};
  r.log_sum_exp.resize(b.q.size()
                       / static_cast<std::size_t>(b.shape.head_width));
  attention(view(b.q, b.q_cols()), b.rows(), b.shape, view(r.out, b.q_cols()),
            r.log_sum_exp.data(), pool);
  return r;
}

floats run_grad(const batch& b, const floats& dout, thread_pool& pool) {
  const auto r = run(b, pool);
  floats dq(b.q.size(), NAN), dk(b.k.size(), NAN), dv(b.v.size(), NAN);
  attention_grad(view(dout, b.q_cols()), view(b.q, b.q_cols()),
                 view(b.k, b.k_cols()), view(b.v, b.k_cols()),
                 view(r.out, b.q_cols()), r.log_sum_exp.data(), b.offsets,
                 b.key_offsets, b.shape, b.window, view(dq, b.q_cols()),
                 view(dk, b.k_cols()), view(dv, b.k_cols()), pool);
  dq.insert(dq.end(), dk.begin(), dk.end());
  dq.insert(dq.end(), dv.begin(), dv.end());
  return dq;
}

const std::vector<batch> batches{
  {{2, 2, 8, 0.35F}, {0, 1, 4}},
  {{6, 2, 16, 0.25F}, {0, 9, 9, 15}},
  {{3, 1, 5, 0.5F}, {0, 21}},
  {{8, 1, 20, 0.2F}, {0, 3, 8}},
  // With keys before a sequence's own, one
  // sequence with nothing else.
  {{4, 2, 8, 0.35F}, {0, 5, 9, 9, 10}, {0, 5, 14, 17, 21}},
  // Windows shorter and longer than a tile of rows; capped scores.
  {{4, 2, 8, 0.35F}, {0, 23}, {0, 23}, 3},
  {{2, 1, 16, 0.25F}, {0, 9, 30}, {0, 14, 35}, 11},
  {{4, 2, 8, 0.9F, 1.5F}, {0, 12}, {0, 12}},
  {{4, 2, 8, 0.9F, 1.5F}, {0, 19}, {0, 19}, 7}};

} // namespace

TEST_CASE("attention and its gradient equal a reference in double") {
  thread_pool pool(2);
  for (const auto& b : batches) {
    CAPTURE(b.shape.num_heads);
    doubles q = widen(b.q), k = widen(b.k), v = widen(b.v);
    CHECK(error_of(run(b, pool).out, reference(b, q, k, v)) < 2e-6);
    const floats dout = noise(static_cast<std::int64_t>(b.q.size()), 4);
    const auto loss = [&] {
      const auto out = reference(b, q, k, v);
      double total = 0;
      for (std::size_t i = 0; i < out.size(); ++i)
        total += out[i] * double{dout[i]};
      return total;
    };
    doubles expected = slopes(q, loss);
    for (const auto& part : {slopes(k, loss), slopes(v, loss)})
      expected.insert(expected.end(), part.begin(), part.end());
    CHECK(error_of(run_grad(b, dout, pool), expected) < 2e-5);
  }
}

TEST_CASE("a row of attention has the same bits packed, chunked or alone") {
  thread_pool one(1), three(3);
  batch b({9, 3, 64, 0.125F}, {0, 120, 121, 190});
  SUBCASE("all keys") {}
  SUBCASE("a short window") {
    b.window = 5;
  }
  SUBCASE("a long window, capped scores") {
    b.window = 50;
    b.shape.softcap = 2;
  }
  const auto all = run(b, three);
  CHECK(is_same(run(b, one).out, all.out));
  const auto rows = b.rows();
  const std::int64_t width = b.q_cols();
  for (const std::int64_t chunk : {1, 3, 7, 50}) {
    floats out(b.q.size(), NAN), lse(all.log_sum_exp.size());
    for (std::int64_t t = 0; t < 190; t += chunk) {
      const std::int64_t n = std::min<std::int64_t>(chunk, 190 - t);
      attention({b.q.data() + t * width, n, width},
                std::span(rows).subspan(static_cast<std::size_t>(t),
                                        static_cast<std::size_t>(n)),
                b.shape, {out.data() + t * width, n, width},
                lse.data() + t * b.shape.num_heads, one);
    }
    CHECK(is_same(out, all.out));
    CHECK(is_same(lse, all.log_sum_exp));
  }
}

TEST_CASE("a row of attention reads nothing beyond its own keys") {
  thread_pool pool(2);
  batch b({4, 2, 16, 0.25F}, {0, 30});
  std::ptrdiff_t first = 0; // row that sees none of the poisoned
  SUBCASE("after them") {}
  SUBCASE("before a window") {
    b.window = 6;
    first = 9;
  }
  const auto clean = run(b, pool);
  const auto poison = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t)
      for (std::int64_t c = 0; c < b.k_cols(); ++c)
        b.k[static_cast<std::size_t>(t * b.k_cols() + c)] =
          b.v[static_cast<std::size_t>(t * b.k_cols() + c)] = NAN;
  };
  poison(20, 30);
  if (first > 0)
    poison(0, 4);
  const auto poisoned = run(b, pool);
  const auto begin = first * b.q_cols(), end = 20 * b.q_cols();
  CHECK(is_same({poisoned.out.begin() + begin, poisoned.out.begin() + end},
                {clean.out.begin() + begin, clean.out.begin() + end}));
}

TEST_CASE("attention and its gradient have the same bits on each CPU") {
  thread_pool one(1), three(3);
  for (const auto& b : {batches[1], batches[2], batches[4], batches[6],
                        batches[8], batch({9, 3, 64, 0.125F}, {0, 70, 100})}) {
    const floats dout = noise(static_cast<std::int64_t>(b.q.size()), 5);
    CHECK(is_same(run_grad(b, dout, one), run_grad(b, dout, three)));
    CHECK(is_same_everywhere([&] {
      auto r = run(b, three);
      r.out.insert(r.out.end(), r.log_sum_exp.begin(), r.log_sum_exp.end());
      return r.out;
    }));
    CHECK(is_same_everywhere([&] { return run_grad(b, dout, three); }));
  }
}

TEST_CASE("decode rows of different sequences stand side by side") {
  thread_pool pool(2);
  const batch b({9, 3, 64, 0.125F}, {0, 33, 100});
  const auto rows = b.rows();
  const auto all = run(b, pool);
  floats q, expected;
  std::vector<attention_row> last;
  for (const std::size_t t : {32U, 99U, 40U}) {
    const auto from = static_cast<std::ptrdiff_t>(t) * b.q_cols();
    q.insert(q.end(), b.q.begin() + from, b.q.begin() + from + b.q_cols());
    expected.insert(expected.end(), all.out.begin() + from,
                    all.out.begin() + from + b.q_cols());
    last.push_back(rows[t]);
  }
  floats out(q.size());
  attention(view(q, b.q_cols()), last, b.shape, view(out, b.q_cols()), nullptr,
            pool);
  CHECK(is_same(out, expected));
}

} // namespace troupe::kernels::testing
