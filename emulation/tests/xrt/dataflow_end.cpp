// Kernels at streams: what goes on after a run has ended, and what only computes.
#include <catch2/catch.hpp>

#include "dataflow_bodies.hpp"
#include "isthmus/card/process/dataflow.hpp"

using namespace isthmus::card;
using namespace isthmus::card::process;

TEST_CASE("What a kernel offers after its end leaves, and nobody waits for it", "[card][process]") {
  const Description description = chain("xab", 2);
  int sent = 0;
  bool told = false;
  bool over = false;
  // Offers words at each clock, as a module does, and is done after the third.
  const Dataflow::Body endless = [&](StreamAccess& streams) {
    over = false;
    told = false;
    for (std::uint64_t clock = 0;; ++clock) {
      if (clock == 3) {
        const Time logic = 3 * clock_time;
        told = streams.done({.duration = logic, .bytes = 5, .logic = logic});
      }
      const StreamAnswer answer = streams.write(1, word_of(sent), clock, StreamWait::this_clock);
      if (answer == StreamAnswer::gone) {
        over = true;
        return KernelOutcome{};
      }
      if (answer == StreamAnswer::done) {
        check(streams.write(1, word_of(sent), clock, StreamWait::try_now));
        ++sent;
      } else {
        const std::vector<std::uint32_t> wanted{1};
        over = streams.wait(wanted, clock, false) == StreamAnswer::gone;
        if (over) {
          throw KernelError("gone");
        }
      }
    }
  };
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, endless);
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "a waits for room on a:b and is not done (bit 1 of its register at 0)");
  flow.start(2, began, 1, consumer(50, values));
  const auto ended = flow.advance();
  REQUIRE(ended.size() == 2);
  CHECK(told);
  CHECK(ended.front().unit == 1);
  CHECK(ended.front().outcome.bytes == 5);
  CHECK(ended.front().end - began <= 4 * clock_time);
  CHECK(values == counted(50));
  CHECK(flow.waiting().empty());  // though it waits for room
  CHECK(sent == 52);
  CHECK_FALSE(over);

  values.clear();
  flow.start(2, began, 1, consumer(50, values));
  CHECK(flow.advance().size() == 1);
  CHECK(values == counted(50, 50));
  values.clear();
  flow.start(1, began, 1, endless);  // where it is, the word before was told to stop
  CHECK(over);
  flow.start(2, began, 1, consumer(10, values));
  CHECK(flow.advance().size() == 2);
  CHECK(values == counted(10, 100));
  CHECK_FALSE(over);

  flow.start(1, began, Dataflow::forever, endless);
  flow.start(2, began, 1, consumer(10, values));
  CHECK(flow.advance().size() == 1);
  CHECK_FALSE(told);  // the next of its runs comes at once
}

TEST_CASE("What is offered after the end to one that never ends, ends", "[card][process]") {
  const Description description = chain("ab", 2);
  std::uint64_t sent = 0;
  Dataflow flow(description, hertz);
  flow.start(1, began, Dataflow::forever, [](StreamAccess& streams) {
    int value = 0;
    check(streams.read(0, word_of(value), 0, StreamWait::wait));
    return KernelOutcome{};
  });
  flow.start(0, began, 1, [&](StreamAccess& streams) {
    CHECK(streams.done({}));
    int value = 0;
    while (streams.write(1, word_of(value), sent, StreamWait::wait) == StreamAnswer::done) {
      ++sent;
    }
    return KernelOutcome{};
  });
  CHECK(flow.advance().size() == 1);
  CHECK(sent > 0);
  CHECK(flow.waiting().empty());
}

TEST_CASE("Who computes while it waits goes on when nothing else can", "[card][process]") {
  const bool is_fed = GENERATE(false, true);
  const Description description = chain("ab", 2);
  std::vector<StreamAnswer> answers;
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, [&](StreamAccess& streams) {
    const std::vector<std::uint32_t> wanted{0};
    answers.push_back(streams.wait(wanted, 0, true));
    return KernelOutcome{.duration = clock_time, .logic = clock_time};
  });
  CHECK(flow.advance().empty());
  CHECK(answers.empty());
  if (is_fed) {
    flow.start(0, began, 1, producer(1));
  } else {
    CHECK(flow.let_compute());
  }
  CHECK(flow.advance().size() == (is_fed ? 2 : 1));
  CHECK(answers == std::vector{is_fed ? StreamAnswer::done : StreamAnswer::not_now});
  CHECK_FALSE(flow.let_compute());
}

TEST_CASE("A kernel that runs forever and hangs is named to who waits for it", "[card][process]") {
  const Description description = chain("ab", 2);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, Dataflow::forever, [](StreamAccess& streams) {
    check(streams.wait({}, 0, false));
    return KernelOutcome{};
  });
  flow.start(1, began, 1, consumer(1, values));
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "a, which runs forever, does nothing any more, b waits for data on a:b");
}
