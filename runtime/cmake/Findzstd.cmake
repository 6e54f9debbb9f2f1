# SPDX-License-Identifier: Apache-2.0
find_path(zstd_INCLUDE_DIR zstd.h)
find_library(zstd_LIBRARY zstd)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(zstd
  REQUIRED_VARS zstd_LIBRARY zstd_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libzstd-dev")
if(zstd_FOUND AND NOT TARGET zstd::zstd)
  add_library(zstd::zstd UNKNOWN IMPORTED)
  set_target_properties(zstd::zstd PROPERTIES
    IMPORTED_LOCATION ${zstd_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${zstd_INCLUDE_DIR})
endif()
