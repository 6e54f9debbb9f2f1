// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/aligned_text.hpp"

#include "runtime/tokenizer/utf8.hpp"

namespace troupe::runtime::tokenizer {

text_span aligned_text::origin(std::size_t index) const {
  if (!tracks_)
    return {};
  if (origins_ != nullptr)
    return origins_[index];
  const auto begin = character_begin(text_, index);
  return {base_ + begin, base_ + begin + character_length(text_[begin])};
}

aligned_text aligned_text::slice(std::size_t begin, std::size_t end) const {
  auto out = *this;
  out.text_ = text_.substr(begin, end - begin);
  out.base_ += begin;
  if (origins_ != nullptr)
    out.origins_ += begin;
  return out;
}

text_edit::text_edit(const aligned_text& from) : from_(from) {
  to_->text.reserve(from.text().size() + 16);
  if (from.tracks())
    to_->origins.reserve(from.text().size() + 16);
}

void text_edit::keep(std::size_t begin, std::size_t end) {
  to_->text += from_.text().substr(begin, end - begin);
  if (from_.tracks())
    for (auto i = begin; i < end; ++i)
      to_->origins.push_back(from_.origin(i));
}

void text_edit::put(std::string_view text, std::size_t index) {
  to_->text += text;
  if (from_.tracks())
    to_->origins.insert(to_->origins.end(), text.size(), from_.origin(index));
}

aligned_text text_edit::finish() {
  aligned_text out{to_->text, from_.tracks() ? aligned_text::tracking::on
                                             : aligned_text::tracking::off};
  if (from_.tracks())
    out.origins_ = to_->origins.data();
  out.kept_ = std::move(to_);
  return out;
}

} // namespace troupe::runtime::tokenizer
