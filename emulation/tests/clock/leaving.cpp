#include "leaving.h"

#include <pthread.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

namespace {

std::atomic<int> left = 0;

void leave() { ++left; }

}  // namespace

TEST_CASE("What was called is left by its return or by an exception", "[leaving]") {
  left = 0;
  const bool throws = GENERATE(false, true);
  const auto call = [&] {
    isthmus_call(
        [](const void* given) {
          if (*static_cast<const bool*>(given)) {
            throw std::runtime_error("refused");
          }
        },
        &throws, leave);
  };
  if (throws) {
    CHECK_THROWS_WITH(call(), "refused");
  } else {
    call();
  }
  CHECK(left == 1);
}

TEST_CASE("A thread leaves what it called, however it ends", "[leaving]") {
  left = 0;
  const bool cancelled = GENERATE(false, true);
  pthread_t thread{};
  const auto end = [](void* given) -> void* {
    isthmus_call(
        [](const void* exits) {
          if (exits == nullptr) {
            pthread_exit(nullptr);
          }
          while (true) {
            pthread_testcancel();
          }
        },
        given, leave);
    return given;
  };
  int something = 0;
  REQUIRE(pthread_create(&thread, nullptr, end, cancelled ? &something : nullptr) == 0);
  if (cancelled) {
    pthread_cancel(thread);
  }
  void* result = &something;
  REQUIRE(pthread_join(thread, &result) == 0);
  CHECK(result == (cancelled ? PTHREAD_CANCELED : nullptr));
  CHECK(left == 1);
}
