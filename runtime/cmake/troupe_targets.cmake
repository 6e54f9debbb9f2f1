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
