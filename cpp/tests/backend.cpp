#include "isthmus/backend.hpp"

#include <catch2/catch.hpp>

using Catch::Matchers::Contains;
using isthmus::BackendError;
using isthmus::check_options;
using isthmus::load_backend;
using isthmus::parse_duration;
using isthmus::UsageError;

namespace {

/// Declares that it moves data, but has no movement to check.
class Boaster final : public isthmus::Operation {
 public:
  void run(std::size_t /*part*/, std::uint64_t /*repetitions*/) override {}
  [[nodiscard]] std::uint64_t moved_bytes(std::size_t /*part*/) const override { return 1; }

 protected:
  std::vector<isthmus::Movement>& movements(std::size_t /*part*/) override { return none_; }

 private:
  std::vector<isthmus::Movement> none_;
};

}  // namespace

TEST_CASE("backend: durations are read in every unit", "[backend]") {
  CHECK(parse_duration("20ns") == Approx(20e-9));
  CHECK(parse_duration("1.5us") == Approx(1.5e-6));
  CHECK(parse_duration("2 ms") == Approx(2e-3));
  CHECK(parse_duration("1s") == Approx(1.0));
  CHECK(parse_duration("1e3ns") == Approx(1e-6));
}

TEST_CASE("backend: an invalid duration is refused with an example", "[backend]") {
  for (const std::string text : {"", "20", "ns", "20 xs", "20nsx", "-1ns", "0ns", "+1ns", "nan s",
                                 "inf s", "1e999s", "1,5us", "0x10ns"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_duration(text), UsageError);
    CHECK_THROWS_WITH(parse_duration(text), Contains("'" + text + "'") && Contains("20ns"));
  }
}

TEST_CASE("backend: an unknown option is named, and those that are known", "[backend]") {
  CHECK_NOTHROW(check_options({}, {}));
  CHECK_NOTHROW(check_options({{"a", "1"}}, {"a", "b"}));
  CHECK_THROWS_AS(check_options({{"c", "1"}}, {"a", "b"}), UsageError);
  CHECK_THROWS_WITH(check_options({{"a", "1"}, {"c", "1"}}, {"a", "b"}),
                    "unknown option 'c'; known: a, b");
  CHECK_THROWS_WITH(check_options({{"c", "1"}}, {}), "unknown option 'c'");
}

TEST_CASE("backend: a file that is not there is refused by name", "[backend]") {
  CHECK_THROWS_AS(load_backend("/nowhere/libnothing.so"), BackendError);
  CHECK_THROWS_WITH(load_backend("/nowhere/libnothing.so"), Contains("/nowhere/libnothing.so"));
}

TEST_CASE("backend: a shared object that is no backend is refused", "[backend]") {
  CHECK_THROWS_AS(load_backend(NOT_A_BACKEND), BackendError);
  CHECK_THROWS_WITH(load_backend(NOT_A_BACKEND), Contains("is not an Isthmus backend"));
}

TEST_CASE("backend: a backend for another interface version is refused", "[backend]") {
  CHECK_THROWS_AS(load_backend(OTHER_ABI), BackendError);
  CHECK_THROWS_WITH(load_backend(OTHER_ABI), Contains("another version of Isthmus"));
}

TEST_CASE("backend: can be loaded more than once", "[backend]") {
  const auto first = load_backend(NULL_BACKEND);
  const auto second = load_backend(NULL_BACKEND);
  REQUIRE(first->devices().size() == 1);
  CHECK(first->devices().front().name == second->devices().front().name);
}

TEST_CASE("backend: null refuses invalid options", "[backend]") {
  const auto backend = load_backend(NULL_BACKEND);
  const isthmus::Options options = GENERATE(values<isthmus::Options>({{{"cost", "20"}},
                                                                      {{"cost", "inf s"}},
                                                                      {{"move", "sideways"}},
                                                                      {{"distribution", "flat"}},
                                                                      {{"drift", "-1"}},
                                                                      {{"drift", "inf"}},
                                                                      {{"every", "many"}},
                                                                      {{"every", "2.5"}},
                                                                      {{"fail", "-1"}},
                                                                      {{"colour", "red"}}}));
  CHECK_THROWS_AS(backend->open("", options), UsageError);
}

TEST_CASE("backend: an operation without movements proves nothing", "[backend]") {
  Boaster boaster;
  CHECK_THROWS_AS(boaster.arm(0, 1), std::logic_error);
  CHECK_THROWS_AS(boaster.arm_fully(0, 1), std::logic_error);
  CHECK_THROWS_AS(boaster.arrived(0, 1), std::logic_error);
  CHECK_THROWS_AS(boaster.arrived_fully(0, 1), std::logic_error);
}
