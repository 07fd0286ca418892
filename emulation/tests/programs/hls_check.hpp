// Checks of programs that end with 1 and name what is wrong.
#pragma once

#include <cstdio>

inline int wrong = 0;

#define CHECK(...)                                        \
  if (!(__VA_ARGS__)) {                                   \
    std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__); \
    ++wrong;                                              \
  }
