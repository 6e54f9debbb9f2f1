// SPDX-License-Identifier: Apache-2.0
#include "runtime/tokenizer/normalizer.hpp"

#include "protocols/failure.hpp"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

namespace troupe::runtime::tokenizer {

namespace {

const icu::Normalizer2* instance_of(normal_form form, UErrorCode& error) {
  switch (form) {
  case normal_form::nfc: return icu::Normalizer2::getNFCInstance(error);
  case normal_form::nfd: return icu::Normalizer2::getNFDInstance(error);
  case normal_form::nfkc: return icu::Normalizer2::getNFKCInstance(error);
  case normal_form::nfkd: return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

} // namespace

std::string normalizer::normalize(std::string_view text) const {
  std::string out{text};
  for (const auto form : forms_) {
    auto error = U_ZERO_ERROR;
    std::string next;
    icu::StringByteSink<std::string> sink{&next};
    if (const auto* used = instance_of(form, error); U_SUCCESS(error))
      used->normalizeUTF8(0, out, sink, nullptr, error);
    if (U_FAILURE(error))
      throw protocols::failure{protocols::errc::internal,
                               std::string{"Unicode normalisation: "}
                                 + u_errorName(error)};
    out = std::move(next);
  }
  return out;
}

} // namespace troupe::runtime::tokenizer
