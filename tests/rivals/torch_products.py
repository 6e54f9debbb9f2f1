# SPDX-License-Identifier: Apache-2.0
"""GFLOP/s of LibTorch's matrix products at the shapes of docs/kernels.md, one
thread, CPU time: MKL, oneDNN, the gradient of the input, that of the weight.
Run it in turns with `build/bin/bench_kernels 1`, which prints Troupe's."""
import time

import torch
import torch.nn.functional as F

# rows, inputs, outputs
SHAPES = [(1, 576, 1536), (8, 576, 1536), (32, 576, 1536), (32, 1536, 576),
          (32, 576, 49152), (128, 576, 1536), (512, 576, 1536),
          (512, 1536, 576), (512, 576, 576), (512, 576, 49152), (512, 128, 384)]


def least_seconds(function):
    least, end, count = 1e9, time.time() + 0.3, 0
    while time.time() < end or count < 5:
        start = time.thread_time()
        function(count)
        least = min(least, time.thread_time() - start)
        count += 1
    return least


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    one_dnn = torch.ops.mkldnn._linear_pointwise
    for rows, inputs, outputs in SHAPES:
        # Few rows: the weights of a whole model pass by, not those of a cache.
        copies = min(200, 180_000_000 // (inputs * outputs)) if rows <= 32 else 1
        w = torch.full((copies, outputs, inputs), 0.01)
        x, dy = torch.randn(rows, inputs), torch.randn(rows, outputs)
        dw = torch.zeros(outputs, inputs)
        rates = [2e-9 * rows * inputs * outputs / least_seconds(function)
                 for function in (
                     lambda i: F.linear(x, w[i % copies]),
                     lambda i: one_dnn(x, w[i % copies], None, "none", [], ""),
                     lambda i: dy @ w[i % copies],
                     lambda i: dw.addmm_(dy.T, x))]
        print(f"{rows} x {inputs} -> {outputs}:",
              *(f"{rate:.0f}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
