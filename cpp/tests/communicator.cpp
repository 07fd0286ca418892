// Messages between ranks, without an exchange.
#include "isthmus/communicator.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <span>

#include "isthmus/backend.hpp"

using namespace isthmus;

TEST_CASE("communicator: it reports a rank's activity", "[exchange]") {
  /// Stores its activity at each meeting of the ranks.
  class Watched final : public Communicator {
   public:
    [[nodiscard]] unsigned rank() const noexcept override { return 0; }
    [[nodiscard]] unsigned size() const noexcept override { return 1; }
    void begin_send(std::span<const std::byte> /*data*/, unsigned /*to*/, int /*tag*/) override {}
    void begin_receive(std::span<std::byte> /*data*/, unsigned /*from*/, int /*tag*/) override {}
    void wait_all() override {}
    [[nodiscard]] Activity met() const { return met_; }

   protected:
    void meet() override { met_ = activity(); }
    void gather(std::span<const std::byte> /*own*/, std::span<std::byte> /*all*/) override {}
    void spread(std::span<std::byte> /*data*/, unsigned /*root*/) override {}

   private:
    Activity met_ = Activity::working;
  };
  Watched communicator;
  CHECK(communicator.activity() == Activity::working);
  {
    const Communicator::Doing exchanges(communicator, Activity::exchanging);
    CHECK(communicator.activity() == Activity::exchanging);
    communicator.barrier();
    CHECK(communicator.met() == Activity::waiting);
    CHECK(communicator.activity() == Activity::exchanging);
  }
  CHECK(communicator.activity() == Activity::working);
}

TEST_CASE("single process: waiting for a message that was never sent is an error", "[exchange]") {
  const auto communicator = single_process_communicator();
  std::array<std::byte, 4> data{};
  communicator->begin_receive(data, 0, 0);
  CHECK_THROWS_AS(communicator->wait_all(), BackendError);
}

TEST_CASE("mpi: without an initialised MPI it is refused", "[exchange]") {
  CHECK_THROWS_AS(mpi_communicator("Open MPI", 0), BackendError);
}
