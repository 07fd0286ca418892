// Kernels that wait for one another at streams: what they read, when they end, and who waits.
#include "isthmus/card/process/dataflow.hpp"

#include <catch2/catch.hpp>
#include <sstream>

#include "dataflow_bodies.hpp"

using namespace isthmus::card;
using namespace isthmus::card::process;

TEST_CASE("A consumer that starts first stops within its function", "[card][process]") {
  const std::size_t depth = GENERATE(1, 16, 4096);
  const Description description = chain("ab", depth);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, consumer(1000, values));
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "b waits for data on a:b");
  CHECK(values.empty());
  flow.start(0, began, 1, producer(1000));
  const auto times = ends(flow.advance(), 2);
  CHECK(values == counted(1000));
  CHECK(flow.waiting().empty());
  if (depth > 1) {  // a word a clock, and one clock from the one to the other
    CHECK(times == std::vector<Time>{1000 * clock_time, 1001 * clock_time});
  }
}

TEST_CASE("The slowest of three decides, whichever it is", "[card][process]") {
  const std::size_t slow = GENERATE(0, 2);
  const std::uint64_t interval = 5;
  const Description description = chain("abc", 64);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(2, began, 1, consumer(500, values, slow == 2 ? interval : 1));
  flow.start(0, began, 1, producer(500, slow == 0 ? interval : 1));
  flow.start(1, began, 1, middle(500));
  const auto times = ends(flow.advance(), 3);
  CHECK(values == counted(500, 1));
  const Time last = times.back();
  CHECK(last >= Time{499} * 5 * clock_time);
  CHECK(last <= (Time{500} * 5 + 3) * clock_time);
  // A full stream keeps the first back, but for what lies in the two streams.
  CHECK(times.front() >= (slow == 2 ? (500 - 2 * 65) * 5 : 500 * 5) * clock_time);
}

TEST_CASE("What memory adds to the first is added to those behind it, once", "[card][process]") {
  constexpr Time late = 7777;
  const Description description = chain("abc", 1024);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(100, 1, late));
  flow.start(1, began, 1, middle(100));
  flow.start(2, began, 1, consumer(100, values));
  const auto times = ends(flow.advance(), 3);
  CHECK(times == std::vector<Time>{100 * clock_time + late, 101 * clock_time + late,
                                   102 * clock_time + late});
}

TEST_CASE("A consumer that starts late reads what is there at its own rate", "[card][process]") {
  const Description description = chain("ab", 1024);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(100));
  CHECK(ends(flow.advance(), 2).front() == 100 * clock_time);
  constexpr std::uint64_t later = 1000 * clock_time;
  flow.start(1, began + later, 1, consumer(100, values));
  CHECK(ends(flow.advance(), 2).back() == static_cast<Time>(later) + 100 * clock_time);
}

TEST_CASE("A producer waits for room, and is named", "[card][process]") {
  const Description description = chain("ab", 10);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(30));
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "a waits for room on a:b");
  constexpr std::uint64_t later = 1000 * clock_time;
  flow.start(1, began + later, 1, consumer(30, values));
  const auto times = ends(flow.advance(), 2);
  CHECK(values == counted(30));
  CHECK(times.front() > static_cast<Time>(later) + 15 * clock_time);
  CHECK_THROWS_WITH(
      [&] {
        flow.start(0, began, 1, producer(30));
        flow.advance();
        flow.start(0, began, 1, producer(30));
      }(),
      "a is started again while it waits: a waits for room on a:b");
}

TEST_CASE("A unit that runs forever works through what comes", "[card][process]") {
  const Description description = chain("abc", 4);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(1, 0, Dataflow::forever, middle(1));
  CHECK(flow.advance().empty());
  CHECK(flow.waiting().empty());  // it may wait for ever
  for (int round = 0; round < 3; ++round) {
    values.clear();
    flow.start(2, began, 1, consumer(50, values));
    flow.start(0, began, 1, producer(50));
    CHECK(flow.advance().size() == 2);
    CHECK(values == counted(50, 1));
  }
}

TEST_CASE("Who asks an empty stream goes on when others have written", "[card][process]") {
  const Description description = chain("ab", 4);
  std::vector<int> values;
  std::uint64_t in_vain = 0;
  const Dataflow::Body asks = [&](StreamAccess& streams) {
    while (values.size() < 20) {
      int value = 0;
      const auto cycles = static_cast<std::uint64_t>(values.size());
      const StreamAnswer answer = streams.read(0, word_of(value), cycles, StreamWait::try_now);
      check(answer);
      if (answer == StreamAnswer::done) {
        values.push_back(value);
      } else {
        ++in_vain;
      }
    }
    return KernelOutcome{};
  };
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, asks);
  CHECK(flow.advance().empty());  // it asked a million times, and waits
  CHECK(in_vain == 1'000'000);
  flow.start(0, began, 1, producer(20));
  CHECK(flow.advance().size() == 2);
  CHECK(values == counted(20));
}

TEST_CASE("Who asks at each clock gets a word in the clock after it was written",
          "[card][process]") {
  const bool producer_first = GENERATE(true, false);
  const std::size_t depth = GENERATE(1, 2, 64);
  const Description description = chain("xab", depth);
  std::vector<std::uint64_t> clocks;
  Dataflow flow(description, hertz);
  const Dataflow::Body from = GENERATE(producer(50, 7), clocked_producer(50, 7));
  for (const bool starts_producer : {producer_first, !producer_first}) {
    if (starts_producer) {
      flow.start(1, began, 1, from);
    } else {
      flow.start(2, began, 1, asking(50, clocks));
    }
  }
  CHECK(flow.advance().size() == 2);
  for (std::size_t n = 0; n < clocks.size(); ++n) {
    CHECK(clocks[n] == 7 * n + 1);
  }
}

TEST_CASE("Who asks at each clock lets those run first that are behind", "[card][process]") {
  const Description description = chain("xab", 2);
  std::vector<std::uint64_t> clocks;
  Dataflow flow(description, hertz);
  flow.start(2, began + 1000 * clock_time, 1, asking(2, clocks));
  flow.start(1, began, 1, clocked_producer(2, 1500));
  CHECK(flow.advance().size() == 2);
  CHECK(clocks == std::vector<std::uint64_t>{0, 501});
}

TEST_CASE("What was asked in vain at each clock is a wait", "[card][process]") {
  const Description description = chain("ab", 2);
  std::vector<std::uint64_t> clocks;
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, [&](StreamAccess& streams) {
    int value = 0;
    for (std::uint64_t clock = 0; clock < 1000; ++clock) {
      check(streams.read(0, word_of(value), clock, StreamWait::this_clock));
    }
    const std::vector<std::uint32_t> wanted{0};
    check(streams.wait(wanted, 0, false));  // nothing moved in those clocks
    asking(10, clocks)(streams);
    return KernelOutcome{.logic = 10 * clock_time};
  });
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "b waits for data on a:b and is not done (bit 1 of its register at 0)");
  constexpr Time later = 300 * clock_time;
  flow.start(0, began + later, 1, producer(10));
  CHECK(ends(flow.advance(), 2) ==
        std::vector<Time>{later + 10 * clock_time, later + 11 * clock_time});
  CHECK(clocks.back() == 9);
}

TEST_CASE("A wait names a stream that the unit has", "[card][process]") {
  const Description description = chain("ab", 2);
  Dataflow flow(description, hertz);
  flow.start(1, began, 1, [](StreamAccess& streams) {
    const std::vector<std::uint32_t> wanted{3};
    check(streams.wait(wanted, 0, false));
    return KernelOutcome{};
  });
  CHECK_THROWS_WITH(flow.advance(), Catch::Contains("argument 3 of b") &&
                                        Catch::Contains("is connected to nothing"));
}

TEST_CASE("Looking takes nothing", "[card][process]") {
  const Description description = chain("ab", 4);
  std::vector<StreamAnswer> answers;
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(1));
  flow.advance();
  flow.start(1, began, 1, [&](StreamAccess& streams) {
    int value = 0;
    for (const StreamWait wait : {StreamWait::look, StreamWait::try_now, StreamWait::look}) {
      answers.push_back(streams.read(0, word_of(value), 0, wait));
    }
    return KernelOutcome{};
  });
  CHECK(flow.advance().size() == 1);
  CHECK(answers == std::vector{StreamAnswer::done, StreamAnswer::done, StreamAnswer::not_now});
}

TEST_CASE("Who finds data but no room waits for room", "[card][process]") {
  const Description description = chain("abc", 4);
  constexpr int most_asked = 5'000'000;  // more than it may ask, so that it ends in any case
  int asked = 0;
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(10));
  flow.start(1, began, 1, [&](StreamAccess& streams) {
    int value = 0;
    const auto can = [&](bool reads) {
      const StreamAnswer answer = reads ? streams.read(0, word_of(value), 0, StreamWait::look)
                                        : streams.write(1, word_of(value), 0, StreamWait::look);
      check(answer);
      return answer == StreamAnswer::done;
    };
    for (int moved = 0; moved < 10 && ++asked < most_asked;) {
      if (can(true) && can(false)) {
        check(streams.read(0, word_of(value), 0, StreamWait::wait));
        check(streams.write(1, word_of(value), 0, StreamWait::wait));
        ++moved;
      }
    }
    return KernelOutcome{};
  });
  flow.advance();
  CHECK(flow.waiting() == "a waits for room on a:b, b waits for room on b:c");
  std::vector<int> values;
  flow.start(2, began, 1, consumer(10, values));
  flow.advance();
  CHECK(flow.waiting().empty());
  CHECK(values == counted(10));
  CHECK(asked < most_asked);
}

TEST_CASE("Who asks several streams goes on with any of them", "[card][process]") {
  const std::size_t first = GENERATE(0, 1);
  Description description = chain("abc", 4);
  description.streams.front() = {.producer = 0,
                                 .producer_argument = 1,
                                 .consumer = 2,
                                 .consumer_argument = 1,
                                 .depth = 4,
                                 .name = "a:c"};
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(2, began, 1, [&](StreamAccess& streams) {
    while (values.size() < 20) {
      for (const std::uint32_t argument : {0, 1}) {
        int value = 0;
        const StreamAnswer answer = streams.read(argument, word_of(value), 0, StreamWait::try_now);
        check(answer);
        if (answer == StreamAnswer::done) {
          values.push_back(value);
        }
      }
    }
    return KernelOutcome{};
  });
  CHECK(flow.advance().empty());
  CHECK(flow.waiting() == "c waits for data on b:c or data on a:c");
  flow.start(first, began, 1, producer(10));
  CHECK(flow.advance().size() == 1);
  CHECK(values == counted(10));
  flow.start(1 - first, began, 1, producer(10));
  CHECK(flow.advance().size() == 2);
  CHECK(values.size() == 20);
}

TEST_CASE("A unit that runs forever and asks goes on when something comes", "[card][process]") {
  const Description description = chain("abc", 4);
  int bodies = 0;
  const Dataflow::Body passes = [&](StreamAccess& streams) {
    ++bodies;
    int value = 0;
    const StreamAnswer answer = streams.read(0, word_of(value), 0, StreamWait::try_now);
    check(answer);
    if (answer == StreamAnswer::done) {
      check(streams.write(1, word_of(value), 0, StreamWait::wait));
    }
    return KernelOutcome{};
  };
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(1, 0, Dataflow::forever, passes);
  CHECK(flow.advance().empty());
  CHECK(bodies == 1);
  for (int round = 0; round < 3; ++round) {
    values.clear();
    flow.start(2, began, 1, consumer(50, values));
    flow.start(0, began, 1, producer(50));
    CHECK(flow.advance().size() == 2);
    CHECK(values == counted(50));
  }
}

TEST_CASE("A unit that runs forever ends when it is stopped, and starts again", "[card][process]") {
  const bool asks = GENERATE(false, true);
  const Description description = chain("ab", 4);
  std::vector<int> values;
  const Dataflow::Body body = [&](StreamAccess& streams) {
    int value = 0;
    const StreamWait wait = asks ? StreamWait::try_now : StreamWait::wait;
    const StreamAnswer answer = streams.read(0, word_of(value), 0, wait);
    check(answer);
    if (answer == StreamAnswer::done) {
      values.push_back(value);
    }
    return KernelOutcome{};
  };
  Dataflow flow(description, hertz);
  for (int round = 1; round <= 2; ++round) {
    flow.start(1, began, Dataflow::forever, body);
    CHECK(flow.advance().empty());
    flow.stop(1);
    if (asks) {  // it is between two runs
      CHECK(flow.advance().size() == 1);
    } else {  // its run waits for a word
      CHECK(flow.advance().empty());
      CHECK(flow.waiting() == "b waits for data on a:b");
      flow.start(0, began, 1, producer(1));
      CHECK(flow.advance().size() == 2);
      CHECK(values.size() == static_cast<std::size_t>(round));
    }
  }
}

TEST_CASE("What memory adds to each of several runs is counted", "[card][process]") {
  constexpr Time late = 7777;
  const Description description = chain("ab", 1024);
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, 3, producer(100, 1, late));
  flow.start(1, began, 1, consumer(300, values));
  const auto times = ends(flow.advance(), 2);
  CHECK(times == std::vector<Time>{3 * (100 * clock_time + late), 301 * clock_time + 3 * late});
}

TEST_CASE("Who reads from one that runs forever is as late as its memory", "[card][process]") {
  const Description description = chain("abc", 16);
  const auto end_of_last = [&](Time late) {
    std::vector<int> values;
    Dataflow flow(description, hertz);
    flow.start(1, began, Dataflow::forever, [&](StreamAccess& streams) {
      KernelOutcome outcome = middle(1)(streams);
      outcome.duration += late;
      return outcome;
    });
    flow.start(0, began, 1, producer(3));
    flow.start(2, began, 1, consumer(3, values));
    return ends(flow.advance(), 3).back();
  };
  constexpr Time late = 100 * clock_time;  // so that the middle is the slowest
  CHECK(end_of_last(2 * late) - end_of_last(late) == 3 * late);
}

TEST_CASE("Units that nobody starts and that never wait are named", "[card][process]") {
  // a and b pass words on in a ring; what d passes on from c to e ends.
  constexpr std::size_t depth = 1024;
  Description description = chain("abcde", depth);
  description.streams[1] = {.producer = 1,
                            .producer_argument = 1,
                            .consumer = 0,
                            .consumer_argument = 0,
                            .depth = depth,
                            .name = "b:a"};
  const bool in_one_run = GENERATE(false, true);
  const bool stopped = GENERATE(false, true);
  const auto pass_on = [&](int first) {
    return [&, first](StreamAccess& streams) mutable {
      do {
        int value = 0;
        if (first == 0) {
          check(streams.read(0, word_of(value), 0, StreamWait::wait));
        } else {
          --first;
        }
        check(streams.write(1, word_of(value), 0, StreamWait::wait));
      } while (in_one_run);
      return KernelOutcome{};
    };
  };
  std::vector<int> values;
  Dataflow flow(description, hertz);
  flow.start(0, began, Dataflow::forever, pass_on(1000));
  flow.start(1, began, Dataflow::forever, pass_on(0));
  flow.start(3, began, Dataflow::forever, middle(1));
  flow.start(4, began, 1, consumer(50, values));
  flow.start(2, began, 1, producer(50));
  if (stopped) {
    flow.stop(0);
  }
  if (stopped && !in_one_run) {  // a ends with its first word
    CHECK(flow.advance().size() == 3);
  } else {
    CHECK_THROWS_WITH(flow.advance(), Catch::Contains("since any other moved one: a, b; a board"));
  }
  CHECK(values == counted(50, 1));
}

TEST_CASE("What units that nobody starts work through may be long", "[card][process]") {
  const Description description = chain("abc", 600'000);
  int sent = 0;
  Dataflow flow(description, hertz);
  flow.start(0, began, Dataflow::forever, [&sent](StreamAccess& streams) {
    check(streams.write(1, word_of(sent), 0, StreamWait::wait));
    ++sent;
    return KernelOutcome{};
  });
  flow.start(1, began, Dataflow::forever, middle(1));
  CHECK(flow.advance().empty());  // until both streams are full
  CHECK(sent == 1'200'001);
}

TEST_CASE("Two sides with words of different widths are refused", "[card][process]") {
  const Description description = chain("ab", 4);
  Dataflow flow(description, hertz);
  flow.start(0, began, 1, producer(1));
  flow.advance();
  flow.start(1, began, 1, [](StreamAccess& streams) {
    std::array<std::byte, 8> wide{};
    streams.read(0, {.data = wide, .sideband = {}}, 0, StreamWait::wait);
    return KernelOutcome{};
  });
  CHECK_THROWS_WITH(flow.advance(), "stream a:b: a has words of 4 bytes, b of 8");
}

TEST_CASE("A side that reads what it should write is named", "[card][process]") {
  const Description description = chain("ab", 4);
  for (const std::size_t unit : {0U, 1U}) {
    Dataflow flow(description, hertz);
    flow.start(unit, began, 1, [unit](StreamAccess& streams) {
      std::array<std::byte, 4> data{};
      const StreamWord word{.data = data, .sideband = {}};
      unit == 0 ? streams.read(1, word, 0, StreamWait::wait)
                : streams.write(0, word, 0, StreamWait::wait);
      return KernelOutcome{};
    });
    CHECK_THROWS_WITH(flow.advance(),
                      unit == 0 ? "stream a:b: a is an input, it cannot be the producer"
                                : "stream a:b: b is an output, it cannot be the consumer");
  }
}

TEST_CASE("A description names streams", "[card][process]") {
  const auto parsed = [](const std::string& stream) {
    std::istringstream text("isthmus.card/1\nkernel k a 0 64\nkernel k b 64 64\nstream " + stream +
                            "\nend\n");
    return Description::parse(text);
  };
  const Description found = parsed("a 1 b 0 8 a.out:b.in");
  REQUIRE(found.streams.size() == 1);
  CHECK(found.streams.front().consumer == 1);
  CHECK(found.streams.front().depth == 8);
  CHECK(found.streams.front().name == "a.out:b.in");
  CHECK(found.has_streams(0));
  for (const char* wrong : {"a 1 c 0 8 x", "a 1 b 0 0 x", "a 1 b 0 99999999 x", "a 1 b 0 8"}) {
    CHECK_THROWS_AS(parsed(wrong), DescriptionError);
  }
}
