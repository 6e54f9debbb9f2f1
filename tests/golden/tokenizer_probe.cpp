// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer behind a pipe, for tokenizer_golden.py: each line of standard
// input is a JSON text, each line of output its ids and what they decode to,
// at once and as a stream.
#include "protocols/failure.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

#include <nlohmann/json.hpp>

#include <iostream>

namespace {

using namespace troupe::runtime::tokenizer;
using nlohmann::json;

json describe(const tokenizer& used, const json& request) {
  const auto ids = request.is_string()
                     ? used.encode(request.get<std::string>())
                     : request.get<std::vector<std::int32_t>>();
  decode_stream stream{used, special_tokens::skip};
  std::string streamed;
  for (const auto id : ids)
    streamed += stream.push(id);
  streamed += stream.finish();
  return {{"ids", ids},
          {"kept", used.decode(ids)},
          {"skipped", used.decode(ids, special_tokens::skip)},
          {"streamed", streamed}};
}

} // namespace

int main(int num_arguments, char** arguments) {
  try {
    const auto used = tokenizer::load(num_arguments > 1 ? arguments[1] : ".");
    for (std::string line; std::getline(std::cin, line);)
      std::cout << describe(used, json::parse(line)).dump() << '\n';
    return 0;
  } catch (const troupe::protocols::failure& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
