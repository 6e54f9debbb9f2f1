// SPDX-License-Identifier: Apache-2.0
//
// What becomes of matches and of what lies between them: the pieces of a word.
#pragma once

#include "runtime/tokenizer/text_span.hpp"
#include "runtime/tokenizer/tokenizer_steps.hpp"

#include <optional>
#include <vector>

namespace troupe::runtime::tokenizer {

/// Takes the parts of one word from left to right, without gaps; matches may
/// be empty. The pieces that it adds are not.
class word_cutter {
public:
  enum class part : bool { between, match };

  word_cutter(split_behavior behavior, std::vector<text_span>& out)
    : behavior_(behavior), out_(out) {}

  void add(std::size_t begin, std::size_t end, part kind) {
    if (behavior_ == split_behavior::isolated)
      write({begin, end});
    else if (behavior_ == split_behavior::removed)
      kind == part::between ? write({begin, end}) : void();
    else
      merge({begin, end}, kind);
  }

  /// Adds what waits for its neighbour.
  void finish() {
    if (waiting_)
      write(*waiting_);
    waiting_.reset();
  }

private:
  void write(text_span piece) {
    if (piece.begin < piece.end)
      out_.push_back(piece);
  }

  void merge(text_span piece, part kind) {
    const bool is_match = kind == part::match;
    const bool joins = behavior_ == split_behavior::contiguous
                         ? is_match == was_match_
                       : behavior_ == split_behavior::merged_with_previous
                         ? is_match && !was_match_
                         : !is_match && was_match_;
    if (waiting_ && joins) {
      waiting_->end = piece.end;
    } else {
      finish();
      waiting_ = piece;
    }
    was_match_ = is_match;
  }

  split_behavior behavior_;
  std::vector<text_span>& out_;
  std::optional<text_span> waiting_;
  bool was_match_ = false;
};

} // namespace troupe::runtime::tokenizer
