// SPDX-License-Identifier: Apache-2.0
//
// Text that remembers, while it is normalised and cut, which bytes of the
// source each of its characters stands for. Without tracking it is only text:
// who asks for ids alone does not pay for spans.
#pragma once

#include "runtime/tokenizer/text_span.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::runtime::tokenizer {

/// A view that shares what it points to, unless that is the source itself.
/// Well-formed UTF-8; the source must live on. Thread: one at a time.
class aligned_text {
public:
  enum class tracking : bool { off, on };

  aligned_text(std::string_view source, tracking tracks)
    : text_(source), tracks_(tracks == tracking::on) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool tracks() const { return tracks_; }

  /// Returns where the character that holds byte `index` comes from; empty
  /// spans without tracking.
  [[nodiscard]] text_span origin(std::size_t index) const;

  /// Returns where the bytes [begin, end) come from; not empty.
  [[nodiscard]] text_span origin(std::size_t begin, std::size_t end) const {
    return {origin(begin).begin, origin(end - 1).end};
  }

  [[nodiscard]] aligned_text slice(std::size_t begin, std::size_t end) const;

private:
  friend class text_edit;
  struct storage {
    std::string text;
    std::vector<text_span> origins; ///< of each byte, if tracked
  };

  std::string_view text_;
  const text_span* origins_ = nullptr; ///< null: the source's own
  std::size_t base_ = 0;               ///< of text_ in the source
  bool tracks_;
  std::shared_ptr<const storage> kept_;
};

/// Writes a changed copy, left to right.
class text_edit {
public:
  explicit text_edit(const aligned_text& from);

  /// Copies the bytes [begin, end) with their origins.
  void keep(std::size_t begin, std::size_t end);

  /// Writes `text` in place of the character that holds byte `index`.
  void put(std::string_view text, std::size_t index);

  [[nodiscard]] std::size_t size() const { return to_->text.size(); }

  aligned_text finish();

private:
  const aligned_text& from_;
  std::shared_ptr<aligned_text::storage> to_ =
    std::make_shared<aligned_text::storage>();
};

} // namespace troupe::runtime::tokenizer
