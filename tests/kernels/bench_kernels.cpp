// SPDX-License-Identifier: Apache-2.0
//
// Times the kernels at the shapes of SmolLM2-135M and of the tiny model, and
// prints the best of many repeats: bench_kernels [threads] [filter]. With one
// thread it is CPU time that counts, so that a busy machine does little harm.
// docs/kernels.md has the figures and what they are compared to.
#include "kernels/activation.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/sampling.hpp"
#include "kernels/softmax.hpp"
#include "tests/kernels/fixture.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace troupe::kernels::testing {
namespace {

using std::chrono::steady_clock;

std::string_view filter;
bool is_single = false;

bool is_wanted(const std::string& name) {
  return name.find(filter) != std::string::npos;
}

/// Seconds: of the wall clock, or of the CPU where one thread does all the
/// work, so that other programs do not count.
double now() {
  timespec t{};
  clock_gettime(is_single ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Best time of one f(i), in seconds, over about 0.4 s.
template <class Function>
double best_time(const Function& f) {
  double best = 1e9;
  const auto begin = steady_clock::now();
  for (int i = 0;
       i < 5 || steady_clock::now() - begin < std::chrono::milliseconds(400);
       ++i) {
    const double from = now();
    f(i);
    best = std::min(best, now() - from);
  }
  return best;
}

template <class Function>
void report(const std::string& name, double flops, double bytes,
            const Function& f) {
  if (!is_wanted(name))
    return;
  const double t = best_time(f);
  std::printf("%-36s %9.1f us %8.1f GFLOP/s %7.1f GB/s\n", name.c_str(),
              t * 1e6, flops / t / 1e9, bytes / t / 1e9);
  std::fflush(stdout);
}

void run_linear(std::int64_t T, std::int64_t N, std::int64_t K,
                thread_pool& pool) {
  const std::string shape =
    std::to_string(T) + "x" + std::to_string(K) + "->" + std::to_string(N);
  const std::string names[] = {"linear " + shape, "grad_input " + shape,
                               "grad_weight " + shape};
  if (!is_wanted(names[0]) && !is_wanted(names[1]) && !is_wanted(names[2]))
    return;
  // Few rows: the weights of a whole model pass by, more than a cache holds.
  const std::int64_t copies =
    T <= 32 && K > 128 ? std::max<std::int64_t>(1, 180'000'000 / (N * K)) : 1;
  floats w(static_cast<std::size_t>(N * K * copies), 0.01F);
  const floats x = noise(T * K, 1), dy = noise(T * N, 2);
  floats y(dy.size()), dx(x.size()), dw(static_cast<std::size_t>(N * K));
  const double flops = 2.0 * static_cast<double>(T * N * K);
  const double bytes = 4.0 * static_cast<double>(N * K);
  report(names[0], flops, bytes, [&](int i) {
    linear(view(x, K), {w.data() + i % copies * N * K, N, K}, nullptr,
           view(y, N), pool);
  });
  if (T < 8)
    return;
  report(names[1], flops, bytes, [&](int i) {
    linear_grad_input(view(dy, N), {w.data() + i % copies * N * K, N, K},
                      view(dx, K), into::overwrite, pool);
  });
  report(names[2], flops, bytes, [&](int) {
    linear_grad_weight(view(dy, N), view(x, K), view(dw, K), pool);
  });
}

void run_attention(const std::string& name, std::int64_t num_sequences,
                   std::int64_t length, bool is_decode, thread_pool& pool) {
  if (!is_wanted("attention " + name) && !is_wanted("attention_grad " + name))
    return;
  constexpr attention_shape shape{9, 3, 64, 0.125F};
  const std::int64_t num_keys = num_sequences * length;
  const std::int64_t T = is_decode ? num_sequences : num_keys;
  const floats q = noise(T * 576, 1), k = noise(num_keys * 192, 2);
  floats out(q.size()), dq(q.size()), dk(k.size()), dv(k.size());
  floats lse(static_cast<std::size_t>(T * 9));
  std::vector<attention_row> rows;
  std::vector<std::int32_t> offsets;
  double pairs = 0;
  for (std::int64_t s = 0; s <= num_sequences; ++s)
    offsets.push_back(static_cast<std::int32_t>(s * length));
  for (std::int64_t t = 0; t < T; ++t) {
    const std::int64_t s = is_decode ? t : t / length;
    const std::int64_t n = is_decode ? length : t % length + 1;
    const float* keys = k.data() + s * length * 192;
    rows.push_back({keys, keys, n, 192});
    pairs += static_cast<double>(n);
  }
  report("attention " + name, pairs * 576 * 4, pairs * (is_decode ? 1536 : 0),
         [&](int) {
           attention(view(q, 576), rows, shape, view(out, 576), lse.data(),
                     pool);
         });
  if (!is_decode)
    report("attention_grad " + name, pairs * 576 * 10, 0, [&](int) {
      attention_grad(view(q, 576), view(q, 576), view(k, 192), view(k, 192),
                     view(out, 576), lse.data(), offsets, offsets, shape, 0,
                     view(dq, 576), view(dk, 192), view(dv, 192), pool);
    });
}

void run_rows(thread_pool& pool) {
  constexpr std::int64_t T = 1024, V = 49152;
  const floats x = noise(T * 1536, 1), weight = noise(1536, 2);
  floats y(x.size()), inv_rms(T);
  const double bytes = 4.0 * T * 1536;
  report("rms_norm 1024x1536", 0, 2 * bytes, [&](int) {
    rms_norm(view(x, 1536), weight.data(), 1e-5F, view(y, 1536), inv_rms.data(),
             pool);
  });
  report("gated 1024x1536", 0, 3 * bytes, [&](int) {
    gated(view(x, 1536), view(x, 1536), activation::silu, view(y, 1536), pool);
  });
  const floats logits = noise(64 * V, 3, 10);
  floats logprobs(64), scratch(V);
  const std::vector<std::int32_t> targets(64, 5);
  report("token_logprobs 64x49152", 0, 4.0 * 64 * V, [&](int) {
    token_logprobs(view(logits, V), targets, 1, logprobs.data(), nullptr,
                   nullptr, pool);
  });
  const std::span<const float> row(logits.data(), V);
  report("sample_token 49152", 0, 4.0 * V, [&](int i) {
    sample_token(row, {}, uniform({.position = static_cast<std::uint32_t>(i)}),
                 scratch);
  });
  report("sample_token 49152 top-k top-p", 0, 4.0 * V, [&](int i) {
    sample_token(row, {.top_k = 50, .top_p = 0.9F},
                 uniform({.position = static_cast<std::uint32_t>(i)}), scratch);
  });
}

void run_pool(thread_pool& pool) {
  const std::function<void(std::int64_t, std::int64_t)> nothing =
    [](std::int64_t, std::int64_t) {};
  report("parallel_for of nothing", 0, 0,
         [&](int) { pool.parallel_for(2, 1, nothing); });
}

} // namespace
} // namespace troupe::kernels::testing

int main(int argc, char** argv) {
  using namespace troupe::kernels::testing;
  troupe::kernels::thread_pool pool(argc > 1 ? std::atoi(argv[1]) : 2);
  is_single = pool.num_threads() == 1;
  filter = argc > 2 ? argv[2] : "";
  run_pool(pool);
  for (const std::int64_t T : {1, 8, 32, 128, 512, 2000}) {
    run_linear(T, 1536, 576, pool);
    run_linear(T, 576, 1536, pool);
    run_linear(T, 576, 576, pool);
    run_linear(T, 192, 576, pool);
    if (T <= 512)
      run_linear(T, 49152, 576, pool);
  }
  for (const std::int64_t T : {8, 64, 512, 2000}) {
    run_linear(T, 384, 128, pool);
    run_linear(T, 128, 384, pool);
    run_linear(T, 512, 128, pool);
  }
  run_attention("20x100 packed", 20, 100, false, pool);
  run_attention("1x2000 packed", 1, 2000, false, pool);
  run_attention("32 rows, 256 keys", 32, 256, true, pool);
  run_attention("1 row, 32768 keys", 1, 32768, true, pool);
  run_rows(pool);
}
