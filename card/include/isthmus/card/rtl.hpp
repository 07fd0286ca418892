// The RTL kernels under Verilator, each behind the same small interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "isthmus/card/axi.hpp"

namespace isthmus::card {

/// A kernel as its pins show it. Time stands still but for `clock`: it is the event model that
/// schedules the edges. Registers are reached through AXI4-Lite, which takes clock cycles, too.
///
///     auto kernel = make_rtl_kernel("bandwidth", period);
///     kernel->connect(0, input);     // by the order of the kernel's masters
///     kernel->connect(1, output);
///     kernel->set_argument(0, address); ...
///     kernel->start();
///     while (!kernel->done()) kernel->clock();
///     kernel->cycles();              // from start to done, counted by the kernel itself
class RtlKernel {
 public:
  RtlKernel() = default;
  RtlKernel(const RtlKernel&) = delete;
  RtlKernel& operator=(const RtlKernel&) = delete;
  virtual ~RtlKernel() = default;

  [[nodiscard]] virtual std::size_t masters() const = 0;
  /// Connects AXI master n; the port must outlive the kernel. An unconnected one is never answered.
  virtual void connect(std::size_t master, MemoryPort& port) = 0;

  /// One rising edge at `now()`, which then moves on by a period.
  virtual void clock() = 0;
  /// When the next rising edge is due.
  [[nodiscard]] virtual Time now() const = 0;
  /// Stops the clock until the first of its edges at or after `time`.
  virtual void skip_to(Time time) = 0;
  /// Rising edges since the kernel was made.
  [[nodiscard]] virtual std::uint64_t edges() const = 0;

  /// A 32-bit register, through AXI4-Lite. `cycles` gets the clock cycles from address to data.
  virtual std::uint32_t read_register(std::uint32_t offset, std::uint64_t* cycles = nullptr) = 0;
  /// Writes the bytes whose bit is set in `strobes`.
  virtual void write_register(std::uint32_t offset, std::uint32_t value,
                              std::uint8_t strobes = 0xF) = 0;

  void set_argument(std::size_t n, std::uint64_t value);
  void start();
  /// True once the execution that was started has ended (the interrupt line).
  [[nodiscard]] virtual bool done() const = 0;
  /// Lets the kernel take the next `sweeps` of its iterations as made; to be called when it asks
  /// for the first burst of a sweep. Throws std::invalid_argument for a kernel without sweeps.
  virtual void skip_sweeps(std::uint64_t sweeps);
  /// Clock cycles from start to done of the last execution.
  std::uint64_t cycles() { return read_wide(0x80); }
  /// Result n as the kernel's source lists them.
  std::uint64_t result(std::size_t n);

 private:
  std::uint64_t read_wide(std::uint32_t offset);
};

/// A kernel that has been reset. Throws std::invalid_argument for a name that is not known or a
/// period that is not positive.
std::unique_ptr<RtlKernel> make_rtl_kernel(std::string_view name, Time period);

}  // namespace isthmus::card
