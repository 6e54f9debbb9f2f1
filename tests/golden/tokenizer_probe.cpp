// SPDX-License-Identifier: Apache-2.0
//
// The tokenizer behind a pipe, for tokenizer_golden.py: each line of standard
// input is a JSON text, {"hex": bytes} or list of ids; each line of output its
// ids, their spans in characters, and what the ids decode to. With --speed it
// times itself on one file of JSON texts.
#include "protocols/failure.hpp"
#include "runtime/tokenizer/tokenizer.hpp"
#include "runtime/tokenizer/utf8.hpp"

#include <nlohmann/json.hpp>

#include <ctime>
#include <fstream>
#include <iostream>

namespace {

using namespace troupe::runtime::tokenizer;
using nlohmann::json;

std::string text_of(const json& request) {
  if (request.is_string())
    return request.get<std::string>();
  const auto hex = request.at("hex").get<std::string>();
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

/// Returns spans in characters, as Python counts; -1 within one.
std::vector<std::int64_t> in_characters(const std::string& text,
                                        const std::vector<text_span>& spans) {
  std::vector<std::int64_t> index(text.size() + 1, -1);
  std::int64_t num_characters = 0;
  for (std::size_t i = 0; i < text.size(); i += character_length(text[i]))
    index[i] = num_characters++;
  index[text.size()] = num_characters;
  std::vector<std::int64_t> out;
  for (const auto& [begin, end] : spans) {
    out.push_back(index.at(begin));
    out.push_back(index.at(end));
  }
  return out;
}

json describe(const tokenizer& used, const json& request) {
  json out;
  std::vector<std::int32_t> ids;
  if (request.is_array()) {
    ids = request.get<std::vector<std::int32_t>>();
  } else {
    const auto text = text_of(request);
    const auto traced = used.encode_with_spans(text);
    ids = used.encode(text);
    if (traced.ids != ids)
      out["ids_with_spans"] = traced.ids;
    out["spans"] = in_characters(to_valid_utf8(text), traced.spans);
  }
  decode_stream stream{used, special_tokens::skip};
  std::string streamed;
  for (const auto id : ids) {
    const auto piece = stream.push(id);
    if (!is_utf8(piece))
      out["broken"] = true;
    streamed += piece;
  }
  streamed += stream.finish();
  out["ids"] = ids;
  out["kept"] = used.decode(ids);
  out["skipped"] = used.decode(ids, special_tokens::skip);
  if (streamed != out["skipped"])
    out["streamed"] = streamed;
  return out;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Prints the CPU seconds of encoding all texts and of decoding their ids.
void time_speed(const tokenizer& used, const char* file) {
  const auto texts =
    json::parse(std::ifstream{file}).get<std::vector<std::string>>();
  std::vector<std::vector<std::int32_t>> ids;
  const auto begin = cpu_seconds();
  for (const auto& text : texts)
    ids.push_back(used.encode(text));
  const auto encoded = cpu_seconds();
  std::size_t num_bytes = 0;
  for (const auto& one : ids)
    num_bytes += used.decode(one, special_tokens::skip).size();
  const auto decoded = cpu_seconds();
  for (const auto& text : texts)
    num_bytes += used.encode_with_spans(text).spans.size();
  std::cout << json{{"encode", encoded - begin},
                    {"decode", decoded - encoded},
                    {"spans", cpu_seconds() - decoded},
                    {"sum", num_bytes}}
            << '\n';
}

} // namespace

int main(int num_arguments, char** arguments) {
  try {
    const auto used = tokenizer::load(num_arguments > 1 ? arguments[1] : ".");
    if (num_arguments > 3 && std::string_view{arguments[2]} == "--speed") {
      time_speed(used, arguments[3]);
      return 0;
    }
    for (std::string line; std::getline(std::cin, line);)
      std::cout << describe(used, json::parse(line)).dump() << '\n';
    return 0;
  } catch (const troupe::protocols::failure& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
