// Mistakes of host programs that a board does not report: the card warns of them.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <utility>

#include "../../../card/tests/u250.hpp"
#include "isthmus/card/process/device.hpp"
#include "no_host_memory.hpp"

using namespace isthmus::card;
using namespace isthmus::card::process;

namespace {

constexpr std::uint64_t bandwidth_at = 0x180'0000;
constexpr std::uint64_t bytes = 4096;
constexpr std::uint64_t source_at = 0x10'0000;
constexpr std::uint64_t target_at = 0x20'0000;

std::string described(const std::string& input, const std::string& output) {
  return "isthmus.card/1\nmemory card 65536 1073741824 bank0\n"
         "kernel bandwidth bandwidth_1 25165824 65536\nargument " +
         input + " 16 8 input0\nargument " + output +
         " 28 8 output0\nargument value 40 8 bytes\nargument value 52 8 sweeps\nend\n";
}

/// A program that copies from one buffer to the other by a kernel; the first warning is an error.
struct Program {
  explicit Program(const std::string& input = "constant", const std::string& output = "buffer")
      : device(parsed(described(input, output)), timing, host, meter, {}, fatal_file.string()) {
    allocate(source_at);
    allocate(target_at);
  }
  ~Program() { std::filesystem::remove(fatal_file); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// The card writes the warning that ends the program here, and `card exec` prints it.
  std::filesystem::path fatal_file =
      std::filesystem::temp_directory_path() / ("isthmus-host-faults-" + std::to_string(getpid()));
  Timing timing{Board::from(u250())};
  Meter meter{Meter::Place{}};
  NoHostMemory host;
  Device device;

  static Description parsed(const std::string& text) {
    std::istringstream lines(text);
    return Description::parse(lines);
  }
  void allocate(std::uint64_t address) { device.allocate(address, bytes, false); }
  void send(std::uint64_t address, std::uint64_t count = bytes, std::uint64_t offset = 0) {
    device.copy_to_card(address + offset, std::vector<std::byte>(count));
  }
  void take(std::uint64_t address) { device.copy_from_card(address, bytes); }
  void free(std::uint64_t address) { device.free(address); }
  void close() { device.warn_of_lost_outputs(); }
  void run(std::uint64_t from, std::uint64_t to) {
    std::vector<std::uint32_t> map(15);
    map[0] = 1;
    map[4] = static_cast<std::uint32_t>(from);
    map[7] = static_cast<std::uint32_t>(to);
    map[10] = static_cast<std::uint32_t>(bytes);
    map[13] = 1;
    write_registers(0, map);
    std::array<std::byte, 4> status{};
    device.read_registers(bandwidth_at, status);
  }
  /// Returns the warning with which an action ends the program.
  [[nodiscard]] std::string warning(const std::function<void()>& action) const {
    CHECK_THROWS_AS(action(), KernelError);
    std::string last;
    std::ifstream lines(fatal_file);
    for (std::string line; std::getline(lines, line);) {
      last = line;
    }
    return last;
  }
  void write_registers(std::uint64_t offset, std::span<const std::uint32_t> values) {
    device.write_registers(bandwidth_at + offset, std::as_bytes(values));
  }
};

}  // namespace

TEST_CASE("The card warns of a kernel that reads unwritten bytes", "[card][process]") {
  Program program;
  SECTION("of no byte") {
    CHECK_THAT(
        program.warning([&] { program.run(source_at, target_at); }),
        Catch::Equals(
            "kernel bandwidth_1 reads byte 0 of argument input0 (number 0), buffer of 4096 bytes, "
            "which nobody wrote on the card; before the run starts, add "
            "input0.sync(XCL_BO_SYNC_BO_TO_DEVICE), in OpenCL clEnqueueMigrateMemObjects or "
            "clEnqueueWriteBuffer"));
  }
  SECTION("with the buffer that was probably meant") {
    program.send(target_at);
    CHECK_THAT(program.warning([&] { program.run(source_at, target_at); }),
               Catch::Contains("the program sent the buffer of argument output0 (number 1), "
                               "which the kernel may write: exchange the two"));
  }
  SECTION("which the program copied from a buffer that it never sent") {
    constexpr std::uint64_t copied_at = 0x30'0000;
    program.device.allocate(copied_at, 2 * bytes, false);
    program.device.copy(source_at, copied_at, bytes);
    CHECK_THAT(program.warning([&] { program.run(source_at, target_at); }),
               Catch::Contains("copied them on the card from bytes that nobody wrote, in a "
                               "buffer of 8192 bytes: before the copy, call "
                               "sync(XCL_BO_SYNC_BO_TO_DEVICE) of that source buffer") &&
                   !Catch::Contains("input0.sync"));
  }
  SECTION("which a copy of sent bytes wrote") {
    program.send(target_at);
    program.device.copy(source_at, target_at, bytes);
    CHECK_NOTHROW(program.run(source_at, target_at));
  }
  SECTION("a part of what it reads at once may be unwritten") {
    program.send(source_at, 4, 512);
    CHECK_NOTHROW(program.run(source_at, target_at));
  }
  SECTION("a buffer is new after it was freed") {
    program.send(source_at);
    program.free(source_at);
    program.allocate(source_at);
    CHECK_THROWS(program.run(source_at, target_at));
  }
  SECTION("what another run wrote is written") {
    program.send(source_at);
    program.run(source_at, target_at);
    CHECK_NOTHROW(program.run(target_at, source_at));
  }
}

TEST_CASE("The card warns of a kernel's output that was never read", "[card][process]") {
  Program program;
  program.send(source_at);
  program.run(source_at, target_at);
  const std::string said =
      "kernel bandwidth_1 wrote to argument output0 (number 1), buffer of 4096 bytes, which "
      "neither "
      "the program nor another run read; after the run, add "
      "output0.sync(XCL_BO_SYNC_BO_FROM_DEVICE), in OpenCL clEnqueueMigrateMemObjects with "
      "CL_MIGRATE_MEM_OBJECT_HOST or clEnqueueReadBuffer; if nobody needs it, card exec has "
      "--not-needed bandwidth_1.output0";
  SECTION("when the buffer is freed") {
    CHECK_THAT(program.warning([&] { program.free(target_at); }), Catch::Equals(said));
  }
  SECTION("when the card is closed") {
    CHECK_THAT(program.warning([&] { program.close(); }), Catch::Equals(said));
  }
  SECTION("not where the program has read it") {
    program.take(target_at);
    CHECK_NOTHROW(program.free(target_at));
  }
  SECTION("not where the next run has read it") {
    program.run(target_at, source_at);
    CHECK_NOTHROW(program.free(target_at));
    CHECK_THROWS(program.free(source_at));
  }
  SECTION("not of a buffer that only the program wrote") { CHECK_NOTHROW(program.free(source_at)); }
}

TEST_CASE("The card warns of an output that is read without a wait", "[card][process]") {
  static std::set<std::uint64_t> missed;
  missed = {1};
  Program program;
  program.device.ask_for_waits([](std::uint64_t start) { return missed.contains(start); });
  program.send(source_at);
  program.device.note_start(bandwidth_at, 1);
  program.run(source_at, target_at);
  SECTION("by name") {
    CHECK_THAT(
        program.warning([&] { program.take(target_at); }),
        Catch::Equals("kernel bandwidth_1 writes to argument output0 (number 1), buffer of 4096 "
                      "bytes, and the program reads that without a wait for the run's end, so that "
                      "on a board it may get old data; before "
                      "output0.sync(XCL_BO_SYNC_BO_FROM_DEVICE), add run.wait()"));
  }
  SECTION("not once the program knows of the end") {
    missed.clear();
    CHECK_NOTHROW(program.take(target_at));
  }
  SECTION("not once it knows of the end of the unit's next run") {
    program.device.note_start(bandwidth_at, 2);
    program.run(target_at, source_at);
    CHECK_NOTHROW(program.take(target_at));
  }
  SECTION("not of a start that nobody watches") {
    program.device.note_start(bandwidth_at, 0);
    program.run(source_at, target_at);
    CHECK_NOTHROW(program.take(target_at));
  }
  SECTION("not of a buffer that the run left alone") { CHECK_NOTHROW(program.take(source_at)); }
}

TEST_CASE("The card warns of an input that is overwritten while a run reads it",
          "[card][process]") {
  static std::set<std::uint64_t> missed;
  missed = {1, 2};
  Program program;
  program.device.ask_for_waits([](std::uint64_t start) { return missed.contains(start); });
  program.send(source_at);
  const std::vector<std::byte> fresh(bytes, std::byte{1});
  const auto start = [&program](std::uint64_t number) {
    program.device.note_start(bandwidth_at, number);
    program.run(source_at, target_at);
  };
  program.device.note_submitted(1);
  SECTION("after its start") {
    start(1);
    CHECK_THAT(program.warning([&] { program.device.copy_to_card(source_at, fresh); }),
               Catch::Contains("reads argument input0 (number 0), buffer of 4096 bytes, and the "
                               "program writes new data there"));
  }
  SECTION("before its unit is free") {
    program.device.copy_to_card(source_at, fresh);
    CHECK_THAT(program.warning([&] { start(1); }), Catch::Contains("writes new data there"));
  }
  SECTION("not where another run waits that is given later") {
    start(1);
    missed.clear();
    program.device.copy_to_card(source_at, fresh);
    program.device.note_submitted(2);
    CHECK_NOTHROW(start(2));
  }
  SECTION("not with the same data") {
    start(1);
    CHECK_NOTHROW(program.send(source_at));
  }
  SECTION("not once the program knows of the end") {
    start(1);
    missed.clear();
    CHECK_NOTHROW(program.device.copy_to_card(source_at, fresh));
  }
  SECTION("not beside what it reads") {
    start(1);
    CHECK_NOTHROW(program.device.copy_to_card(target_at, fresh));
  }
}

TEST_CASE("The card warns of a kernel that writes to a const argument", "[card][process]") {
  Program program("buffer", "constant");
  program.send(source_at);
  SECTION("by name") {
    CHECK_THAT(program.warning([&] { program.run(source_at, target_at); }),
               Catch::Contains("writes byte 0 of argument output0 (number 1), buffer of 4096 "
                               "bytes, which is declared const"));
  }
  SECTION("not where another argument may write to that buffer") {
    CHECK_NOTHROW(program.run(source_at, source_at));
  }
}

TEST_CASE("The card warns of a kernel that is started while it runs", "[card][process]") {
  Program program;
  program.send(source_at);
  const auto set = [&program](std::uint64_t offset, std::uint32_t value) {
    program.write_registers(offset, std::span(&value, 1));
  };
  set(0x10, source_at);
  set(0x1C, target_at);
  set(0x28, bytes);
  set(0x34, 1);
  set(0, 1);
  CHECK_THAT(
      program.warning([&] { set(0, 1); }),
      Catch::Equals("kernel bandwidth_1 is started while it runs, and that start is lost; before "
                    "it, wait until bit 1 of the register at 0 is set"));
}
