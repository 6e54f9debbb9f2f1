// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the Promela of guards and updates, so that tests can hold it
// against the C++. Covers what the tables use: || && ! ( ), the six
// comparisons, + and -, numbers, true, false and names.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::tests {

class promela_expression {
public:
  using values = std::map<std::string, int, std::less<>>;

  promela_expression(std::string_view text, const values& names)
    : text_(text), names_(names) {}

  int evaluate() {
    const int out = either();
    skip_blanks();
    if (!text_.empty())
      throw std::runtime_error("left over: " + std::string{text_});
    return out;
  }

private:
  void skip_blanks() {
    while (!text_.empty() && text_.front() == ' ')
      text_.remove_prefix(1);
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.starts_with(token))
      return false;
    text_.remove_prefix(token.size());
    return true;
  }

  int either() {
    int out = both();
    while (take("||")) {
      const int right = both();
      out = out != 0 || right != 0;
    }
    return out;
  }

  int both() {
    int out = comparison();
    while (take("&&")) {
      const int right = comparison();
      out = out != 0 && right != 0;
    }
    return out;
  }

  int comparison() {
    const int left = sum();
    if (take("=="))
      return left == sum();
    if (take("!="))
      return left != sum();
    if (take("<="))
      return left <= sum();
    if (take(">="))
      return left >= sum();
    if (take("<"))
      return left < sum();
    if (take(">"))
      return left > sum();
    return left;
  }

  int sum() {
    int out = term();
    for (;;) {
      if (take("+"))
        out += term();
      else if (take("-"))
        out -= term();
      else
        return out;
    }
  }

  int term() {
    if (take("!"))
      return term() == 0;
    if (take("(")) {
      const int out = either();
      if (!take(")"))
        throw std::runtime_error("no ) before: " + std::string{text_});
      return out;
    }
    return word();
  }

  int word() {
    skip_blanks();
    std::string name;
    while (!text_.empty()
           && (std::isalnum(static_cast<unsigned char>(text_.front())) != 0
               || text_.front() == '_')) {
      name += text_.front();
      text_.remove_prefix(1);
    }
    if (name.empty())
      throw std::runtime_error("no operand before: " + std::string{text_});
    if (std::isdigit(static_cast<unsigned char>(name.front())) != 0)
      return std::stoi(name);
    if (name == "true" || name == "false")
      return name == "true";
    const auto it = names_.find(name);
    if (it == names_.end())
      throw std::runtime_error("unknown name: " + name);
    return it->second;
  }

  std::string_view text_;
  const values& names_;
};

} // namespace troupe::tests
