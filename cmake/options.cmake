# What all of Isthmus is compiled with: the root, and the emulation of XRT where it is built alone.
option(ISTHMUS_TESTS "Build the C++ tests (needs Catch2 v2)" OFF)
option(ISTHMUS_WERROR "Treat warnings as errors; usual where CI is set" $ENV{CI})
option(ISTHMUS_COVERAGE "Count which lines run (make coverage)" OFF)
set(ISTHMUS_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

# Holds card/ and cpp/include: the repository, or the emulation's sdist.
get_filename_component(ISTHMUS_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
find_package(Threads REQUIRED)

# The standard headers are most of what a source makes the compiler read: so, a few sources at a
# time.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile several sources of a target at once")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 5)

# A compiler's cache where there is one; it cannot see through precompiled headers.
find_program(ISTHMUS_COMPILER_CACHE NAMES ccache sccache)
if(ISTHMUS_COMPILER_CACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ISTHMUS_COMPILER_CACHE})
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

add_library(isthmus_options INTERFACE)
# The card's parameters become integers once, the same on every machine: no contraction to fused
# operations.
target_compile_options(isthmus_options INTERFACE -Wall -Wextra -ffp-contract=off)
if(ISTHMUS_WERROR)
  target_compile_options(isthmus_options INTERFACE -Werror)
endif()
if(ISTHMUS_SANITIZE)
  target_compile_options(isthmus_options INTERFACE -fsanitize=${ISTHMUS_SANITIZE}
                                                   -fno-omit-frame-pointer)
  target_compile_definitions(isthmus_options INTERFACE SANITIZED) # for tests that must differ
  if(ISTHMUS_SANITIZE MATCHES undefined)
    # Undefined behaviour ends the test, where the sanitizer alone would print a line and go on. A
    # trap is also a third less to compile than what prints; only the check of dynamic types has
    # none.
    target_compile_options(isthmus_options INTERFACE -fno-sanitize=vptr
                                                     -fsanitize-undefined-trap-on-error)
  endif()
  target_link_options(isthmus_options INTERFACE -fsanitize=${ISTHMUS_SANITIZE})
endif()
if(ISTHMUS_COVERAGE)
  target_compile_options(isthmus_options INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(isthmus_options INTERFACE --coverage)
endif()

# What most sources read of the standard library is compiled once, for the first target that calls
# this. g++ takes compiled headers only where the macros are the same: no TARGET_EXPORTS.
function(isthmus_precompile target)
  get_property(first GLOBAL PROPERTY ISTHMUS_PRECOMPILED)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
    return()
  endif()
  set_property(GLOBAL PROPERTY ISTHMUS_PRECOMPILED ${target})
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "")
  target_precompile_headers(
    ${target}
    PRIVATE
    <algorithm>
    <array>
    <charconv>
    <chrono>
    <cmath>
    <deque>
    <fstream>
    <functional>
    <map>
    <memory>
    <numeric>
    <optional>
    <random>
    <span>
    <sstream>
    <string>
    <thread>
    <vector>)
endfunction()
