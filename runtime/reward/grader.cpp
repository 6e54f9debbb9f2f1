// SPDX-License-Identifier: Apache-2.0
#include "runtime/reward/grader.hpp"

#include "protocols/failure.hpp"

namespace troupe::runtime::reward {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n\f\v";
  const auto begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

class exact_match_grader final : public grader {
public:
  [[nodiscard]] float grade(std::string_view completion,
                            std::string_view answer) const override {
    return exact_match(completion, answer);
  }

  [[nodiscard]] std::optional<std::string>
  refuse_answer(std::string_view answer) const override {
    if (trimmed(answer).empty())
      return "the answer is empty; exact_match needs text";
    return std::nullopt;
  }
};

class final_number_grader final : public grader {
public:
  [[nodiscard]] float grade(std::string_view completion,
                            std::string_view answer) const override {
    return final_number(completion, answer);
  }

  [[nodiscard]] std::optional<std::string>
  refuse_answer(std::string_view answer) const override {
    if (!final_number_of(answer))
      return "the answer \"" + std::string{answer}
             + "\" has no number; final_number needs one";
    return std::nullopt;
  }
};

} // namespace

std::unique_ptr<grader> make_grader(std::string_view kind) {
  if (kind == "exact_match")
    return std::make_unique<exact_match_grader>();
  if (kind == "final_number")
    return std::make_unique<final_number_grader>();
  throw protocols::failure{protocols::errc::unsupported,
                           "reward.kind \"" + std::string{kind}
                             + "\" is not built in; allowed: exact_match, "
                               "final_number"};
}

float exact_match(std::string_view completion, std::string_view answer) {
  return trimmed(completion) == trimmed(answer) ? 1.0F : 0.0F;
}

float final_number(std::string_view completion, std::string_view answer) {
  const auto wanted = final_number_of(answer);
  return wanted && final_number_of(completion) == wanted ? 1.0F : 0.0F;
}

} // namespace troupe::runtime::reward
