// SPDX-License-Identifier: Apache-2.0
//
// Built-in rewards: pure functions of a completion's text and a row's answer.
// A user's Python function is not one of them: see the reward pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::runtime::reward {

/// Thread: any; an object has no state.
class grader {
public:
  virtual ~grader() = default;

  /// Returns the reward, in [0, 1].
  [[nodiscard]] virtual float grade(std::string_view completion,
                                    std::string_view answer) const = 0;

  /// Returns why no completion can be right with this answer, if so; to be
  /// asked for every row before step 0.
  [[nodiscard]] virtual std::optional<std::string>
  refuse_answer(std::string_view answer) const = 0;
};

/// `kind`: exact_match or final_number. Errors: unsupported for another.
std::unique_ptr<grader> make_grader(std::string_view kind);

/// 1 if both texts are the same bytes, white space at both ends aside.
float exact_match(std::string_view completion, std::string_view answer);

/// 1 if the final numbers of both texts are equal as decimals; see
/// final_number_of.
float final_number(std::string_view completion, std::string_view answer);

/// Returns the number that a text ends on, in normal form ("-1234.5": no
/// separators, no leading or trailing zeros, no "-0"): the first one after
/// the last "####", otherwise the last one of the text. A number is digits
/// with an optional sign ("-", "+", U+2212, not after a letter, digit or
/// closing bracket, where it is an operator), thousands separators ("1,234")
/// and decimals (".5", "7.25"; the point that ends a sentence is none).
/// Exponents and fractions are not numbers: "1/2" ends on 2.
std::optional<std::string> final_number_of(std::string_view text);

} // namespace troupe::runtime::reward
