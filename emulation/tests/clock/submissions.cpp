#include "submissions.hpp"

#include <algorithm>
#include <barrier>
#include <catch2/catch.hpp>
#include <numeric>
#include <thread>
#include <vector>

namespace isthmus::card::clock {

TEST_CASE("Each command has a place of its own, whoever adds it beside others", "[submissions]") {
  constexpr int threads = 2;
  constexpr int each = 20'000;
  static Submissions submissions;
  std::barrier all_here(threads);
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&all_here, thread] {
      all_here.arrive_and_wait();
      for (int n = 0; n < each; ++n) {
        submissions.add(thread * each + n);
      }
    });
  }
  std::vector<Nanoseconds> found;
  const auto start_all = [&found] {
    for (; submissions.any_to_start(); submissions.start()) {
      found.push_back(submissions.next());
    }
  };
  std::vector<Nanoseconds> expected(std::size_t{threads} * each);
  while (found.size() < expected.size()) {  // beside them
    start_all();
  }
  for (std::thread& thread : all) {
    thread.join();
  }
  std::ranges::sort(found);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK((found == expected));
}

TEST_CASE("Commands are started in the order in which they were given", "[submissions]") {
  static Submissions submissions;
  CHECK_FALSE(submissions.any_to_start());
  submissions.start();  // a kernel that nobody is known to have started
  CHECK_FALSE(submissions.any_to_start());
  submissions.add(7);
  submissions.add(9);
  CHECK(submissions.next() == 7);
  submissions.start();
  CHECK(submissions.next() == 9);
  submissions.forget();
  CHECK_FALSE(submissions.any_to_start());
}

}  // namespace isthmus::card::clock
