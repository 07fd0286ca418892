# How C++ tests are built. The target isthmus_tests builds all of them. isthmus_thread_tests builds
# those where threads meet, which alone the thread sanitizer can find wrong.
find_package(Catch2 2 REQUIRED)
add_custom_target(isthmus_tests)
add_custom_target(isthmus_thread_tests)

# What every test includes is read once. Test code need not be fast, and Catch2's macros take long
# to optimise; what is tested comes from libraries, optimised as ever.
add_library(isthmus_test_headers STATIC EXCLUDE_FROM_ALL
            ${CMAKE_CURRENT_LIST_DIR}/test_headers.cpp)
target_precompile_headers(
  isthmus_test_headers
  PRIVATE
  <algorithm>
  <array>
  <functional>
  <map>
  <memory>
  <string>
  <vector>
  <catch2/catch.hpp>)
target_link_libraries(isthmus_test_headers PUBLIC isthmus_options Catch2::Catch2WithMain)
if(ISTHMUS_SANITIZE)
  set(test_optimisation -O0)
else()
  set(test_optimisation -O1)
endif()
target_compile_options(isthmus_test_headers PUBLIC ${test_optimisation})
set_target_properties(isthmus_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)

function(isthmus_add_tests name)
  cmake_parse_arguments(arg "THREADS" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  set(target isthmus_${name}_tests)
  add_executable(${target} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} isthmus_test_headers)
  target_precompile_headers(${target} REUSE_FROM isthmus_test_headers)
  # Helpers of the same name stand in many files.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF UNITY_BUILD OFF)
  add_dependencies(isthmus_tests ${target})
  add_test(NAME ${name} COMMAND ${target})
  if(arg_THREADS)
    add_dependencies(isthmus_thread_tests ${target})
    list(APPEND arg_LABELS threads)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()
