# SPDX-License-Identifier: Apache-2.0
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PCRE2
  REQUIRED_VARS PCRE2_LIBRARY PCRE2_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libpcre2-dev")
if(PCRE2_FOUND AND NOT TARGET PCRE2::pcre2)
  add_library(PCRE2::pcre2 UNKNOWN IMPORTED)
  set_target_properties(PCRE2::pcre2 PROPERTIES
    IMPORTED_LOCATION ${PCRE2_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR}
    INTERFACE_COMPILE_DEFINITIONS PCRE2_CODE_UNIT_WIDTH=8)
endif()
