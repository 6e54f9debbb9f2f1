# SPDX-License-Identifier: Apache-2.0
# The CPU libraries of a LibTorch folder (that of a PyTorch wheel, torch/, as
# well), without Torch's own package, which insists on a CUDA toolkit.
# Searched: TROUPE_LIBTORCH, the environment variable of that name, and the
# cache folder that tests/run.sh and samples/quickstart.sh fill.
if(DEFINED ENV{XDG_CACHE_HOME})
  set(troupe_cache $ENV{XDG_CACHE_HOME}/troupe)
else()
  set(troupe_cache $ENV{HOME}/.cache/troupe)
endif()
file(GLOB troupe_cached_torch ${troupe_cache}/venv/lib/python3*/site-packages/torch)
find_path(LibTorch_DIR NAMES include/torch/csrc/api/include/torch/types.h
  PATHS ${TROUPE_LIBTORCH} $ENV{TROUPE_LIBTORCH} ${troupe_cached_torch}
  NO_DEFAULT_PATH NO_CACHE)
if(LibTorch_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${LibTorch_DIR}/include/torch/headeronly/version.h torch_line
      REGEX "#define TORCH_VERSION_${part} ")
    string(REGEX MATCH "[0-9]+" torch_${part} "${torch_line}")
  endforeach()
  set(LibTorch_VERSION ${torch_MAJOR}.${torch_MINOR}.${torch_PATCH})
  find_library(LibTorch_cpu_LIBRARY torch_cpu PATHS ${LibTorch_DIR}/lib NO_DEFAULT_PATH)
  find_library(LibTorch_c10_LIBRARY c10 PATHS ${LibTorch_DIR}/lib NO_DEFAULT_PATH)
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_cpu_LIBRARY LibTorch_c10_LIBRARY LibTorch_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "set TROUPE_LIBTORCH, or let tests/run.sh fetch the wheel")
if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  # libtorch_cpu needs libcudart and libcupti at load time; the wheels put
  # them beside torch/.
  file(GLOB torch_cuda_libs ${LibTorch_DIR}/../nvidia/cu13/lib
    ${LibTorch_DIR}/../nvidia/*/lib)
  add_library(LibTorch::c10 UNKNOWN IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES
    IMPORTED_LOCATION ${LibTorch_c10_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_DIR}/include;${LibTorch_DIR}/include/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=1)
  add_library(LibTorch::cpu UNKNOWN IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    IMPORTED_LOCATION ${LibTorch_cpu_LIBRARY}
    INTERFACE_LINK_LIBRARIES LibTorch::c10)
  foreach(folder IN LISTS torch_cuda_libs)
    if(IS_DIRECTORY ${folder})
      set_property(TARGET LibTorch::cpu APPEND PROPERTY
        INTERFACE_LINK_OPTIONS "LINKER:-rpath,${folder}" "LINKER:-rpath-link,${folder}")
    endif()
  endforeach()
endif()
