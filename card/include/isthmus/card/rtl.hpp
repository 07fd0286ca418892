// The interface of RTL kernels that Verilator compiled, the same for every kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "isthmus/card/axi.hpp"

namespace isthmus::card {

/// A kernel, driven through its pins. Its time advances only in `clock`: an event model schedules
/// the edges. Registers are accessed through AXI4-Lite, which takes clock cycles, too.
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
  /// Connects AXI master n to a port, which must outlive the kernel. A master without a port never
  /// gets an answer.
  virtual void connect(std::size_t master, MemoryPort& port) = 0;

  /// Makes a rising edge at `now()`; afterwards `now()` is one period later.
  virtual void clock() = 0;
  /// Returns the time of the next rising edge.
  [[nodiscard]] virtual Time now() const = 0;
  /// Stops the clock until the first edge at or after `time`.
  virtual void skip_to(Time time) = 0;
  /// Returns the number of rising edges since the kernel was made.
  [[nodiscard]] virtual std::uint64_t edges() const = 0;

  /// Reads a 32-bit register through AXI4-Lite. `*cycles` gets the clock cycles from address to
  /// data.
  virtual std::uint32_t read_register(std::uint32_t offset, std::uint64_t* cycles = nullptr) = 0;
  /// Writes those bytes of a register whose bits are set in `strobes`.
  virtual void write_register(std::uint32_t offset, std::uint32_t value,
                              std::uint8_t strobes = 0xF) = 0;

  void set_argument(std::size_t n, std::uint64_t value);
  void start();
  /// Returns whether the started execution has ended, as the interrupt line says.
  [[nodiscard]] virtual bool done() const = 0;
  /// Makes the kernel count the next `sweeps` of its iterations as done; call it when the kernel
  /// asks for a sweep's first burst. Throws std::invalid_argument if the kernel has no sweeps.
  virtual void skip_sweeps(std::uint64_t sweeps);
  /// Returns the clock cycles of the last execution, from start to done.
  std::uint64_t cycles() { return read_wide(0x80); }
  /// Returns result n of the list in the kernel's source.
  std::uint64_t result(std::size_t n);

 private:
  std::uint64_t read_wide(std::uint32_t offset);
};

/// Makes a kernel and resets it. Throws std::invalid_argument for an unknown name or a period that
/// is not positive.
std::unique_ptr<RtlKernel> make_rtl_kernel(std::string_view name, Time period);

}  // namespace isthmus::card
