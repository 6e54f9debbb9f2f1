# SPDX-License-Identifier: Apache-2.0
# CAF 0.17 has no CMake package: CAF::core, CAF::io, CAF::openssl as 1.x names them.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
foreach(part core io openssl)
  find_library(CAF_${part}_LIBRARY caf_${part})
endforeach()
if(CAF_INCLUDE_DIR)
  file(STRINGS ${CAF_INCLUDE_DIR}/caf/config.hpp caf_version_line
    REGEX "#define CAF_VERSION ")
  string(REGEX MATCH "[0-9]+" caf_number "${caf_version_line}")
  math(EXPR caf_minor "(${caf_number} / 100) % 100")
  math(EXPR caf_patch "${caf_number} % 100")
  math(EXPR caf_major "${caf_number} / 10000")
  set(CAF_VERSION ${caf_major}.${caf_minor}.${caf_patch})
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CAF
  REQUIRED_VARS CAF_core_LIBRARY CAF_io_LIBRARY CAF_INCLUDE_DIR
  VERSION_VAR CAF_VERSION REASON_FAILURE_MESSAGE "install libcaf-dev")
foreach(part core io openssl)
  if(CAF_${part}_LIBRARY AND NOT TARGET CAF::${part})
    add_library(CAF::${part} UNKNOWN IMPORTED)
    set_target_properties(CAF::${part} PROPERTIES
      IMPORTED_LOCATION ${CAF_${part}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${CAF_INCLUDE_DIR})
  endif()
endforeach()
set_property(TARGET CAF::core APPEND PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
set_property(TARGET CAF::io APPEND PROPERTY INTERFACE_LINK_LIBRARIES CAF::core)
