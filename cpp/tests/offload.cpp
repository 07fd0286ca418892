#include "isthmus/offload.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "isthmus/backend.hpp"

using namespace isthmus;

TEST_CASE("phases and remainder sum to the total, exactly") {
  Phases phases;
  std::vector<int> order;
  phases("one", [&] { order.push_back(1); });
  phases("two", [&] { order.push_back(2); });
  phases("one", [&] { order.push_back(3); });
  phases.close();
  CHECK(order == std::vector<int>{1, 2, 3});
  const auto& found = phases.samples();
  REQUIRE(found.size() == 4);
  CHECK(found[0].name == "one");
  CHECK(found[2].name == "remainder");
  CHECK(found[3].name == "total");
  CHECK(found[0].ticks + found[1].ticks + found[2].ticks == found[3].ticks);
}

TEST_CASE("simulated phases have no ticks and add up") {
  Phases phases;
  phases.simulated("one", 5);
  phases.simulated("two", 7);
  phases.close();
  CHECK(phases.samples().back().simulated_fs == 12);
  CHECK(phases.samples().back().ticks == 0);
}

namespace {

std::uint64_t card_fs = 0;
std::uint64_t card_clock() { return card_fs; }

}  // namespace

TEST_CASE("a card below a real runtime adds its time to the phase of its work") {
  card_fs = ~std::uint64_t{0};  // times wrap around
  Phases phases(card_clock);
  phases("migrate_to_device", [] { card_fs += 3; });
  phases("migrate_to_device_wait", [] { card_fs += 4; });
  phases("kernel_enqueue", [] { card_fs += 20; });  // a thread of the runtime worked early
  phases("kernel_run", [] { card_fs += 30; });
  card_fs += 1000;  // between phases: belongs to none
  phases.close();
  const auto fs = [&](std::size_t i) { return phases.samples().at(i).simulated_fs; };
  CHECK(std::vector{fs(0), fs(1), fs(2), fs(3), fs(4), fs(5)} ==
        std::vector<std::int64_t>{7, 0, 0, 50, 0, 57});
  CHECK(phases.samples().back().name == "total");
  CHECK(phases.samples().back().ticks > 0);
}

TEST_CASE("adds in software agree at every offset in a page, and a wrong element is found") {
  const std::size_t elements = 1031;
  for (const std::string kind : {"aligned", "offset1", "offset63", "pageable", "mmap", "new64"}) {
    for (const std::size_t relative : {0, 1, 64, 2048}) {
      INFO(kind << " +" << relative);
      const HostVectors host(kind, elements, relative);
      const Vectors vectors = host.get();
      populate(vectors, 0x1234567890ABCDEFU);
      for (const auto add : {software_vadd, software_vadd_simd}) {
        std::memset(vectors.c, 0, elements * sizeof(Element));
        CHECK_FALSE(adds_up(vectors, 0x1234567890ABCDEFU));
        add(vectors);
        CHECK(adds_up(vectors, 0x1234567890ABCDEFU));
        CHECK_FALSE(adds_up(vectors, 0x1234567890ABCDEEU));
        vectors.c[elements - 1] ^= 1;
        CHECK_FALSE(adds_up(vectors, 0x1234567890ABCDEFU));
      }
    }
  }
}

TEST_CASE("spoilt memory holds no byte of a sum") {
  const HostVectors host("aligned", 1031, 0);
  const Vectors vectors = host.get();
  constexpr std::uint64_t seed = 0x1234567890ABCDEFU;
  populate(vectors, seed);
  software_vadd(vectors);
  const std::vector<std::int32_t> sums(vectors.c, vectors.c + vectors.elements);
  spoil(vectors, seed);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::uint32_t same = ~static_cast<std::uint32_t>(sums[i] ^ vectors.c[i]);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      equal += (same >> shift & 0xFFU) == 0xFFU ? 1 : 0;
    }
  }
  CHECK(equal == 0);
}

TEST_CASE("the null backend's offload is cold once, and its wrong sums are found") {
  const auto backend = load_backend(NULL_BACKEND);
  const OperationSpec spec{.name = "offload", .bytes = 4096, .memory = "aligned", .axes = {}};
  const auto right = backend->offload("", {{"move", "correct"}}, spec);
  const OffloadRecord record = measure_offload(*right, 2);
  CHECK(record.verified == Verified::yes);
  CHECK(record.first.front().name == "initialise");
  REQUIRE(record.again.size() == 2);
  CHECK(record.again[0].front().name == "allocate");
  const auto wrong = backend->offload("", {{"move", "drop"}}, spec);
  CHECK(measure_offload(*wrong, 0).verified == Verified::no);
}

TEST_CASE("a reference takes turns with an offload, and is as cold or warm") {
  const auto backend = load_backend(NULL_BACKEND);
  const OperationSpec spec{.name = "offload", .bytes = 4096, .memory = "offset64", .axes = {}};
  OperationSpec reference = spec;
  reference.memory = "aligned";
  const auto offload = backend->offload("", {{"move", "correct"}}, spec);
  const OffloadRecord record = measure_offload(*offload, 3, reference);
  CHECK(record.verified == Verified::yes);
  REQUIRE(record.again.size() == 3);
  REQUIRE(record.reference.size() == 3);
  CHECK(record.reference[0].front().name == "allocate");
  CHECK(offload->memory() == "offset64");
  CHECK(measure_offload(*offload, 0, reference).reference.empty());
  reference.bytes = 8192;
  CHECK_THROWS_AS(offload->set_spec(reference), UsageError);
}

TEST_CASE("an offload refuses impossible placements") {
  const auto backend = load_backend(NULL_BACKEND);
  const auto ask = [&](std::size_t bytes, const std::string& offset) {
    const OperationSpec spec{.name = "offload",
                             .bytes = bytes,
                             .memory = "aligned",
                             .axes = {{"relative_offset", offset}}};
    return backend->offload("", {}, spec);
  };
  CHECK_NOTHROW(ask(4, "4095"));
  CHECK_THROWS_AS(ask(3, "0"), UsageError);
  CHECK_THROWS_AS(ask(4, "4096"), UsageError);
  CHECK_THROWS_AS(ask(4, "-1"), UsageError);
}
