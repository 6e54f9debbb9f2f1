// SPDX-License-Identifier: Apache-2.0
//
// Tokens a second of the engine over a model folder, or over a tiny model made
// from nothing, prompt 32 and 64 new tokens, by the clock and by CPU time. Not
// a test: decode_speed [FOLDER|tiny] [THREADS] [BATCH].
#include "runtime/model/decoder_files.hpp"
#include "runtime/rollout/decoder_model.hpp"
#include "runtime/rollout/rollout_engine.hpp"

#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

using namespace troupe::runtime;
using namespace troupe::runtime::rollout;

namespace {

model::decoder_config tiny_config() {
  model::decoder_config c;
  c.vocab_size = 512;
  c.hidden_size = 128;
  c.intermediate_size = 384;
  c.num_layers = 4;
  c.num_heads = 4;
  c.num_kv_heads = 2;
  c.head_width = 32;
  c.max_positions = 256;
  c.tie_embeddings = true;
  return c;
}

void measure(rollout_model& model, const kv_cache_layout& layout,
             troupe::kernels::thread_pool& pool, float temperature) {
  constexpr std::int64_t num_prompt = 32, max_new = 64;
  std::vector<float> memory(layout.num_bytes() / sizeof(float));
  rollout_engine engine({1}, model, pool);
  engine.attach_cache({memory.data(), layout});
  engine.on_weights_changed(0);
  const std::atomic<std::uint32_t> go_on = 0;
  engine_statistics before;
  for (std::uint32_t pass = 0; pass < 3; ++pass) {
    before = engine.statistics();
    for (std::uint32_t i = 0; i < layout.num_slots; ++i) {
      rollout_request r;
      r.id = {pass, i, 0};
      for (std::int64_t p = 0; p < num_prompt; ++p)
        r.prompt_ids.push_back(static_cast<std::int32_t>(
          (static_cast<std::int64_t>(i) * 31 + p * 17) % model.vocab_size()));
      r.sampling.max_new_tokens = max_new;
      r.sampling.temperature = temperature;
      engine.submit(r);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto cpu_start = std::clock();
    engine.decode_quantum(1 << 20, go_on);
    const double cpu_s = static_cast<double>(std::clock() - cpu_start)
                         / static_cast<double>(CLOCKS_PER_SEC);
    const std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
    engine.take_finished();
    const auto& s = engine.statistics();
    const auto steps = static_cast<double>(s.num_steps - before.num_steps);
    const auto tokens = static_cast<double>(layout.num_slots * max_new);
    std::printf(
      "batch %2ld temperature %.0f: %8.1f tokens/s, %8.1f tokens/CPU s;"
      " ms a step: %.3f, decode %.3f, logits %.3f, sampling %.3f;"
      " prefill %.1f ms\n",
      static_cast<long>(layout.num_slots), static_cast<double>(temperature),
      tokens / passed.count(), tokens / cpu_s, passed.count() * 1e3 / steps,
      (s.decode_ms - before.decode_ms) / steps,
      (s.logits_ms - before.logits_ms) / steps,
      (s.sampling_ms - before.sampling_ms) / steps,
      s.prefill_ms - before.prefill_ms);
    std::fflush(stdout);
  }
}

} // namespace

int main(int argc, char** argv) {
  troupe::kernels::thread_pool pool(argc > 2 ? std::atoi(argv[2]) : 2);
  at::set_num_threads(1); // the kernels have their own threads
  const model::module_registry registry;
  const auto decoder = argc > 1 && std::string(argv[1]) != "tiny"
                         ? model::load_decoder(argv[1], registry)
                         : model::make_decoder(tiny_config(), 1, registry);
  decoder_model model(decoder, pool);
  const std::int64_t only = argc > 3 ? std::atoi(argv[3]) : 0;
  for (const std::int64_t batch : {1, 8, 32})
    for (const float temperature : {0.0F, 1.0F})
      if (only == 0 || only == batch)
        measure(model, model.cache_layout(batch, 96), pool, temperature);
}
