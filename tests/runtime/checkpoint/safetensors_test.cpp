// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/safetensors.hpp"

#include "tests/support/failure_of.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_of_death.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/doctest.hpp"

using namespace troupe::runtime::checkpoint;
using troupe::tests::contains;
using troupe::tests::failure_of;
using troupe::tests::temporary_folder;
using troupe::tests::write_file;

namespace {

/// A file of the header and `num_data` zero bytes.
std::string file_of(const std::string& header, std::size_t num_data) {
  std::string out(8, '\0');
  const auto length = static_cast<std::uint64_t>(header.size());
  std::memcpy(out.data(), &length, 8);
  return out + header + std::string(num_data, '\0');
}

std::string open_error(const std::filesystem::path& path) {
  return failure_of([&] { safetensors_reader::open(path); });
}

template <class T>
tensor_view view_of(std::string name, tensor_dtype dtype,
                    std::vector<std::int64_t> shape,
                    const std::vector<T>& data) {
  return {std::move(name), dtype, std::move(shape),
          reinterpret_cast<const std::byte*>(data.data()),
          data.size() * sizeof(T)};
}

std::vector<std::byte> content(const tensor_view& tensor) {
  return {tensor.data, tensor.data + tensor.bytes};
}

} // namespace

TEST_SUITE_BEGIN("runtime.checkpoint.safetensors");

TEST_CASE("what is written is read back byte for byte") {
  const temporary_folder folder;
  const std::vector<float> weights{1.5F, -0.0F, 3e-42F, INFINITY, NAN, 7};
  const std::vector<std::uint16_t> halves{0x3c00, 0x7e01, 0x8000};
  const std::vector<std::uint8_t> odd{1, 2, 3};
  const std::vector<float> one{4};
  const std::vector<tensor_view> written{
    view_of("odd", tensor_dtype::u8, {3}, odd),
    view_of("half", tensor_dtype::bf16, {1, 3}, halves),
    view_of("weight \"q\"", tensor_dtype::f32, {2, 3}, weights),
    view_of("scalar", tensor_dtype::f32, {}, one),
    {"empty", tensor_dtype::f32, {0, 4}, nullptr, 0},
  };
  write_safetensors(folder / "model.safetensors", written);

  const auto reader = safetensors_reader::open(folder.path());

  CHECK(reader.tensors().size() == written.size());
  for (const auto& tensor : written) {
    CAPTURE(tensor.name);
    const auto& found = reader.at(tensor.name);
    CHECK(found.dtype == tensor.dtype);
    CHECK(found.shape == tensor.shape);
    CHECK(content(found) == content(tensor));
    CHECK(reinterpret_cast<std::uintptr_t>(found.data) % bytes_of(found.dtype)
          == 0);
  }
  CHECK(reader.find("absent") == nullptr);
  CHECK(failure_of([&] { (void)reader.at("absent"); })
        == "model_mismatch: " + folder.path().string()
             + " has no tensor absent");
  CHECK_FALSE(std::filesystem::exists(folder / "model.safetensors.new"));
}

TEST_CASE("damaged headers are refused with file and tensor") {
  const temporary_folder folder;
  const auto file = folder / "x.safetensors";
  const auto f32 = [](const std::string& offsets) {
    return R"({"dtype":"F32","shape":[2],"data_offsets":)" + offsets + "}";
  };
  const std::vector<std::pair<std::string, std::string>> rows{
    {"", "has 0 bytes, too few"},
    {std::string(8, '\xff'), "announces a header of 18446744073709551615"},
    {file_of("{", 0).substr(0, 8), "announces a header of 1 bytes, but has 8"},
    {file_of("{\"a\":", 0), "the header is no JSON: line 1, column 6: "},
    {file_of("[]", 0), "the header is no JSON object"},
    {file_of(R"({"a":{"dtype":"F32"}})", 0),
     "tensor a needs dtype, shape and data_offsets"},
    {file_of(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})",
             2),
     "tensor a has dtype F8_E4M3; known are F64, F32, F16, BF16"},
    {file_of(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
     "tensor a has the shape [-2]"},
    {file_of("{\"a\":" + f32("[0]") + "}", 8), "tensor a has data_offsets [0]"},
    {file_of("{\"a\":" + f32("[8,0]") + "}", 8),
     "tensor a has data_offsets [8,0], but the data has 8 bytes"},
    {file_of("{\"a\":" + f32("[0,8]") + "}", 7),
     "tensor a has data_offsets [0,8], but the data has 7 bytes"},
    {file_of("{\"a\":" + f32("[0,4]") + "}", 4),
     "tensor a of dtype F32 and shape [2] does not fill its 4 bytes"},
    {file_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
             R"("data_offsets":[0,0]}})",
             0),
     "does not fill its 0 bytes"},
    {file_of("{\"a\":" + f32("[0,8]") + ",\"b\":" + f32("[4,12]") + "}", 12),
     "tensor b overlaps with tensor a"},
    {file_of("{\"a\":" + f32("[0,8]") + ",\"b\":" + f32("[9,17]") + "}", 17),
     "tensor b leaves a hole before it"},
    {file_of("{\"a\":" + f32("[0,8]") + ",\"a\":" + f32("[8,16]") + "}", 16),
     "tensor a is in the header twice"},
    {file_of("{\"a\":" + f32("[0,8]") + "}", 9),
     "1 bytes at the end belong to no tensor"},
  };
  for (const auto& [bytes, expected] : rows) {
    write_file(file, bytes);
    const auto found = open_error(file);
    CAPTURE(found);
    CAPTURE(expected);
    CHECK(found.starts_with("model_unreadable: " + file.string() + ": "));
    CHECK(contains(found, expected));
  }
}

TEST_CASE("a folder with an index joins its shards") {
  const temporary_folder folder;
  const std::vector<float> a{1, 2};
  const std::vector<float> b{3};
  const std::vector<tensor_view> first{view_of("a", tensor_dtype::f32, {2}, a)};
  const std::vector<tensor_view> second{
    view_of("b", tensor_dtype::f32, {1}, b)};
  write_safetensors(folder / "m-1.safetensors", first);
  write_safetensors(folder / "m-2.safetensors", second);
  const auto index = folder / "model.safetensors.index.json";
  const auto with = [&](const std::string& of_b) {
    write_file(index,
               R"({"weight_map":{"a":"m-1.safetensors","b":")" + of_b + "\"}}");
  };

  with("m-2.safetensors");
  const auto reader = safetensors_reader::open(folder.path());
  CHECK(reader.tensors().size() == 2);
  CHECK(content(reader.at("b")) == content(second[0]));

  with("m-1.safetensors");
  CHECK(open_error(folder.path())
        == "model_unreadable: " + index.string()
             + ": tensor b is not in m-1.safetensors");
  with("m-3.safetensors");
  CHECK(contains(open_error(folder.path()),
                 "m-3.safetensors: No such file or directory"));
  with("../m-2.safetensors");
  CHECK(contains(open_error(folder.path()),
                 "a file of the same folder is expected"));
  write_file(index, "{}");
  CHECK(contains(open_error(folder.path()), "no index with a weight_map"));
}

TEST_CASE("a folder without weights says what is missing") {
  const temporary_folder folder;
  CHECK(open_error(folder.path())
        == "model_unreadable: " + folder.path().string()
             + ": neither model.safetensors nor model.safetensors.index.json "
               "is there");
}

TEST_CASE("a tensor whose bytes are not its shape's is not written") {
  const temporary_folder folder;
  const std::vector<float> data(3);
  const std::vector<tensor_view> wrong{
    view_of("w", tensor_dtype::f32, {2}, data)};
  const std::vector<tensor_view> twice(
    2, view_of("w", tensor_dtype::f32, {3}, data));
  CHECK(failure_of([&] { write_safetensors(folder / "m", wrong); })
        == "invalid_request: cannot save tensor w: its shape needs 8 bytes, "
           "not 12");
  CHECK(failure_of([&] { write_safetensors(folder / "m", twice); })
        == "invalid_request: cannot save tensor w: the name is used twice");
}

TEST_CASE("every 16-bit pattern survives the way over f32") {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<std::uint16_t>(i);
  const auto* bytes = reinterpret_cast<const std::byte*>(all.data());
  std::vector<float> wide(all.size());
  std::vector<std::uint16_t> back(all.size());

  f16_to_f32(bytes, wide);
  f32_to_f16(wide, back);
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((i & 0x7fffU) <= 0x7c00U) // NaNs may change their payload
      REQUIRE(back[i] == all[i]);
    else
      REQUIRE((back[i] & 0x7fffU) > 0x7c00U);

  bf16_to_f32(bytes, wide);
  f32_to_bf16(wide, back);
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((i & 0x7fffU) <= 0x7f80U)
      REQUIRE(back[i] == all[i]);
    else
      REQUIRE((back[i] & 0x7fffU) > 0x7f80U);
}

TEST_CASE("narrowing rounds to nearest, ties to even") {
  const auto narrow = [](float value) {
    std::uint16_t bf16 = 0;
    std::uint16_t f16 = 0;
    f32_to_bf16({&value, 1}, {&bf16, 1});
    f32_to_f16({&value, 1}, {&f16, 1});
    return std::pair{bf16, f16};
  };
  struct row {
    float value;
    std::uint16_t bf16, f16;
  };
  const std::vector<row> rows{
    {1.0F, 0x3f80, 0x3c00},
    {1.0F + 0x1p-8F, 0x3f80, 0x3c04},     // a tie for bf16, even below
    {1.0F + 3 * 0x1p-8F, 0x3f82, 0x3c0c}, // even above
    {1.0F + 0x1p-8F + 0x1p-20F, 0x3f81, 0x3c04},
    {1.0F + 0x1p-11F, 0x3f80, 0x3c00}, // a tie for f16
    {1.0F + 3 * 0x1p-11F, 0x3f80, 0x3c02},
    {65519.0F, 0x4780, 0x7bff},
    {65520.0F, 0x4780, 0x7c00},
    {-0x1p-24F, 0xb380, 0x8001}, // smallest subnormal of f16
    {0x1p-25F, 0x3300, 0x0000},  // a tie with zero
    {std::nextafter(0x1p-25F, 1.0F), 0x3300, 0x0001},
    {std::numeric_limits<float>::max(), 0x7f80, 0x7c00},
    {-INFINITY, 0xff80, 0xfc00},
  };
  for (const auto& [value, bf16, f16] : rows) {
    CAPTURE(value);
    CHECK(narrow(value).first == bf16);
    CHECK(narrow(value).second == f16);
  }
}

TEST_CASE("ST-1: both sides of a conversion have one size") {
  const std::vector<float> values{1, 2};
  std::vector<float> to(3);
  const tensor_view from{.name = "w",
                         .dtype = tensor_dtype::f32,
                         .shape = {2},
                         .data =
                           reinterpret_cast<const std::byte*>(values.data()),
                         .bytes = 8};
  CHECK(troupe::tests::text_of_death([&] { to_f32(from, to); }).find("ST-1")
        != std::string::npos);
}

TEST_CASE("integers are no weights") {
  const std::vector<std::int32_t> data(2);
  std::vector<float> out(2);
  CHECK(failure_of(
          [&] { to_f32(view_of("ids", tensor_dtype::i32, {2}, data), out); })
        == "model_unsupported: tensor ids has dtype I32; weights are F32, "
           "BF16 or F16");
}

TEST_SUITE_END();
