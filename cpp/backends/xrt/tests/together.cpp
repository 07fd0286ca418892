// Tests that the backend waits for running transfers if a further transfer is refused.
#include "../together.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using isthmus::xrt_native::start_together;

namespace {

struct Handle {
  int* waited;
  bool fails = false;
  void wait() const {
    ++*waited;
    if (fails) {
      throw std::runtime_error("wait");
    }
  }
};

}  // namespace

TEST_CASE("xrt: started transfers are waited for after any failure", "[late]") {
  std::vector<int> items = {0, 1, 2, 3};
  int waited = 0;
  SECTION("nothing fails") {
    start_together(items, [&](int) { return Handle{&waited}; });
    CHECK(waited == 4);
  }
  SECTION("one is refused") {
    CHECK_THROWS_WITH(start_together(items,
                                     [&](int item) {
                                       if (item == 2) {
                                         throw std::runtime_error("start");
                                       }
                                       return Handle{&waited};
                                     }),
                      "start");
    CHECK(waited == 2);
  }
  SECTION("one ends with an error") {
    CHECK_THROWS_WITH(start_together(items, [&](int item) { return Handle{&waited, item == 1}; }),
                      "wait");
    CHECK(waited == 4);
  }
}
