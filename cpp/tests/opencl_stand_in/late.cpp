// If a later command of a batch is refused, memory must outlive the commands that still run. The
// stand-in counts buffers that are released too early; the address sanitizer finds host memory that
// is freed too early.
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "control.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/offload.hpp"
#include "isthmus/staged.hpp"

using namespace isthmus;

namespace {

template <class Function>
Function* of_stand_in(const char* name) {
  static void* const library = dlopen(STAND_IN, RTLD_NOW);
  auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
  REQUIRE(found != nullptr);
  return found;
}

void fail_at(long call) {
  of_stand_in<decltype(isthmus_stand_in_fails_at)>("isthmus_stand_in_fails_at")(call);
}

std::size_t released_in_use() {
  return of_stand_in<decltype(isthmus_stand_in_released_in_use)>(
      "isthmus_stand_in_released_in_use")();
}

void idle(const char* command) {
  of_stand_in<decltype(isthmus_stand_in_idles)>("isthmus_stand_in_idles")(command);
}

std::unique_ptr<Backend> backend() { return load_backend(OPENCL_BACKEND); }

/// Refuses each call of `run` in turn, on a new object from `make`, until no call is refused.
template <class Make, class Run>
void refuse_each(const Make& make, const Run& run) {
  int refused = 0;
  for (long call = 1;; ++call) {
    auto made = make();
    fail_at(call);
    bool failed = false;
    try {
      run(*made);
    } catch (const BackendError&) {
      failed = true;
    }
    fail_at(0);
    made.reset();
    CAPTURE(call);
    CHECK(released_in_use() == 0);
    if (!failed) {
      break;
    }
    ++refused;
  }
  CHECK(refused > 0);
}

}  // namespace

TEST_CASE("opencl: memory outlives the commands of a batch that is refused", "[late]") {
  const auto name = GENERATE(as<std::string>{}, "write", "read", "rw", "bidirectional", "stream",
                             "map", "kernel_read", "kernel_write");
  const auto memory = GENERATE(as<std::string>{}, "aligned", "pageable", "alloc_host");
  const auto opened = backend();
  const auto device = opened->open("0:0", {});
  OperationSpec spec{.name = name, .bytes = 8192, .memory = memory};
  if (name == "write" || name == "read" || name == "stream") {
    spec.axes["depth"] = "3";
  }
  if (name.starts_with("kernel")) {
    spec.memory = "device";
  }
  if (name == "map") {
    spec.memory = "alloc_host";
  }
  CAPTURE(name, spec.memory);
  refuse_each([&] { return device->make(spec); },
              [](Operation& operation) {
                for (std::size_t part = 0; part < operation.parts(); ++part) {
                  operation.arm(part, fresh_stamp());
                  operation.run(part, operation.least_batch());
                }
              });
}

TEST_CASE("opencl: staging memory outlives copies if one of them is refused", "[late]") {
  const auto memory = GENERATE(as<std::string>{}, "aligned", "alloc_host");
  const auto opened = backend();
  const auto device = opened->open("0:0", {});
  refuse_each([&] { return device->stage(memory, 8192); },
              [](Staging& staging) {
                staging.to_host();
                staging.to_device();
                staging.complete();
              });
}

TEST_CASE("opencl: vectors outlive the copies of an offload that is refused", "[late]") {
  const auto handover = GENERATE(as<std::string>{}, "copy", "user_pointer");
  const auto memory = GENERATE(as<std::string>{}, "aligned", "pageable");
  const auto opened = backend();
  const OperationSpec spec{
      .name = "offload", .bytes = 8192, .memory = memory, .axes = {{"handover", handover}}};
  CAPTURE(handover, memory);
  refuse_each([&] { return opened->offload("0:0", {}, spec); },
              [](Offload& offload) {
                Phases phases;
                offload.prepare(phases);
                offload.run(phases, seed_of(fresh_stamp()));
                offload.release();
              });
}

TEST_CASE("opencl: each stage of a stream that moves nothing is seen", "[late]") {
  const std::string stage = GENERATE("write", "kernel", "read");
  const std::size_t bytes = GENERATE(1, 2, 3, 5, 7, 8);
  const auto opened = backend();
  const auto device = opened->open("0:0", {});
  const auto stream = device->make({.name = "stream", .bytes = bytes, .memory = "aligned"});
  CAPTURE(stage, bytes);
  for (int round = 0; round < 300; ++round) {  // more rounds than a byte has values
    const std::uint64_t seed = seed_of(fresh_stamp());
    stream->arm_fully(0, seed);
    idle(stage.c_str());
    stream->run(0, stream->least_batch());
    idle("");
    CHECK_FALSE(stream->arrived_fully(0, seed));
  }
}
