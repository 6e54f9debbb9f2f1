// SPDX-License-Identifier: Apache-2.0
#include "protocols/failure.hpp"
#include "runtime/checkpoint/safetensors.hpp"

#include <bit>
#include <cstring>

namespace troupe::runtime::checkpoint {

namespace {

std::uint16_t load_16(const std::byte* from, std::size_t index) {
  std::uint16_t out = 0;
  std::memcpy(&out, from + 2 * index, sizeof out);
  return out;
}

float f16_to_f32(std::uint16_t half) {
  const auto sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const auto magnitude = static_cast<std::uint32_t>(half & 0x7fffU);
  if (magnitude >= 0x7c00U) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude << 13));
  // The shifted bits are 2^112 too small; the product is exact, for
  // subnormals, too.
  const auto scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = (bits >> 16) & 0x8000U;
  const auto magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (magnitude > 0x7f800000U) { // NaN: keep it one
    half = 0x7e00U | ((magnitude >> 13) & 0x1ffU);
  } else if (magnitude >= 0x477ff000U) { // 65520 and up round to infinity
    half = 0x7c00U;
  } else if (magnitude >= 0x38800000U) { // normal in f16
    half = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  } else { // adding 0.5 shifts the subnormal into place, and rounds it
    const auto shifted = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U;
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::uint16_t f32_to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) // rounding must not lose a NaN
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U))
                                    >> 16);
}

} // namespace

void bf16_to_f32(const std::byte* from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] =
      std::bit_cast<float>(static_cast<std::uint32_t>(load_16(from, i)) << 16);
}

void f16_to_f32(const std::byte* from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = f16_to_f32(load_16(from, i));
}

void f32_to_bf16(std::span<const float> from, std::span<std::uint16_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = f32_to_bf16(from[i]);
}

void f32_to_f16(std::span<const float> from, std::span<std::uint16_t> to) {
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = f32_to_f16(from[i]);
}

void to_f32(const tensor_view& from, std::span<float> to) {
  TROUPE_ASSERT(from.num_elements() == to.size(),
                "ST-1: both sides of a conversion have one size");
  switch (from.dtype) {
  case tensor_dtype::f32:
    if (!to.empty())
      std::memcpy(to.data(), from.data, from.bytes);
    return;
  case tensor_dtype::bf16: bf16_to_f32(from.data, to); return;
  case tensor_dtype::f16: f16_to_f32(from.data, to); return;
  default:
    throw protocols::failure{protocols::errc::model_unsupported,
                             "tensor " + from.name + " has dtype "
                               + std::string{to_string(from.dtype)}
                               + "; weights are F32, BF16 or F16"};
  }
}

} // namespace troupe::runtime::checkpoint
