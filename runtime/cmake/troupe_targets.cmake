# SPDX-License-Identifier: Apache-2.0
# troupe_build: language level, warnings and sanitizers; linked PRIVATE by all.
add_library(troupe_build INTERFACE)
target_compile_features(troupe_build INTERFACE cxx_std_20)
target_include_directories(troupe_build INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(troupe_build INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion
  -Wno-missing-field-initializers>)
if(TROUPE_WERROR)
  target_compile_options(troupe_build INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(TROUPE_SANITIZE)
  target_compile_options(troupe_build INTERFACE -fsanitize=${TROUPE_SANITIZE}
    -fno-omit-frame-pointer -g1)
  target_link_options(troupe_build INTERFACE -fsanitize=${TROUPE_SANITIZE})
endif()

# troupe_library(NAME SOURCES ... LINK ...): a static library troupe_NAME with
# the alias troupe::NAME. Without sources yet, more come by target_sources.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(troupe_${name} STATIC ${arg_SOURCES})
  add_library(troupe::${name} ALIAS troupe_${name})
  target_include_directories(troupe_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(troupe_${name} PUBLIC ${arg_LINK} PRIVATE troupe_build)
endfunction()

# troupe_test(NAME SOURCES ... LINK ... LABEL unit [TIMEOUT seconds]): one
# doctest executable test_NAME; each test case becomes a CTest test.
function(troupe_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(test_${name} ${arg_SOURCES} ${CMAKE_SOURCE_DIR}/tests/support/main.cpp)
  target_link_libraries(test_${name} PRIVATE ${arg_LINK} doctest::doctest troupe_build)
  doctest_discover_tests(test_${name} TEST_PREFIX "${name}: "
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# troupe_torch_headers(TARGET): an executable uses the precompiled LibTorch
# headers of troupe_runtime_torch, which are position-independent code. Saves
# some 8 s a file.
function(troupe_torch_headers target)
  target_precompile_headers(${target} REUSE_FROM troupe_runtime_torch)
  target_compile_options(${target} PRIVATE -fPIC)
endfunction()

# troupe_accepts_plugins(TARGET): an executable that loads plug-ins holds all of
# troupe_runtime_torch and offers its symbols to them.
function(troupe_accepts_plugins target)
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  target_link_options(${target} PRIVATE
    "LINKER:--whole-archive,$<TARGET_FILE:troupe_runtime_torch>,--no-whole-archive")
endfunction()

# troupe_plugin(NAME SOURCES ...): the shared library libNAME.so in
# build/lib/plugins, whose symbols come from the executable that loads it.
function(troupe_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  add_library(${name} MODULE ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/plugins)
  target_link_libraries(${name} PRIVATE troupe_build LibTorch::cpu)
  # The same macros as the precompiled header was made with.
  target_compile_definitions(${name} PRIVATE
    $<TARGET_PROPERTY:hwy::hwy,INTERFACE_COMPILE_DEFINITIONS>)
  target_precompile_headers(${name} REUSE_FROM troupe_runtime_torch)
endfunction()
