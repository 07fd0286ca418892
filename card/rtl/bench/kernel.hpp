// Drives a kernel that Verilator compiled: its clock, its control registers and its masters.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/rtl.hpp"
#include "masters.hpp"

namespace isthmus::card {

/// All of a kernel that does not depend on the class that Verilator generated for it.
class BenchKernel : public RtlKernel {
 public:
  explicit BenchKernel(Time period) : period_(period) {}

  [[nodiscard]] std::size_t masters() const override { return master_order_.size(); }
  void connect(std::size_t master, MemoryPort& port) override;
  /// Sets which servers handle the kernel's pins from the next clock on.
  void connect(std::vector<PinServer*> servers) { servers_ = std::move(servers); }
  void clock() final;
  [[nodiscard]] Time now() const final { return now_; }
  void skip_to(Time time) final;
  [[nodiscard]] std::uint64_t edges() const final { return edges_; }
  std::uint32_t read_register(std::uint32_t offset, std::uint64_t* cycles) override;
  void write_register(std::uint32_t offset, std::uint32_t value, std::uint8_t strobes) override;
  [[nodiscard]] bool done() const final { return interrupt_.is_there() && interrupt_.get() != 0; }

 protected:
  void add_reader(ReadPins pins) {
    master_order_.emplace_back(true, readers_.size());
    readers_.emplace_back(pins);
  }
  void add_writer(WritePins pins) {
    master_order_.emplace_back(false, writers_.size());
    writers_.emplace_back(pins);
  }
  /// Resets the kernel and enables its interrupt at the end of an execution, if it has the pin.
  void begin(ControlPins control, Pin reset_n, Pin interrupt);
  virtual void edge() = 0;
  /// Lets outputs follow inputs within a clock; returns whether the kernel has such outputs.
  virtual bool settle() { return false; }

 private:
  /// Clocks until `pin` is high before an edge, and makes that edge; returns the edge's number.
  std::uint64_t clock_when(const Pin& pin);

  Time period_;
  Time now_ = 0;
  std::uint64_t edges_ = 0;
  ControlPins control_{};
  Pin interrupt_;
  /// For each master: whether it reads, and its index.
  std::vector<std::pair<bool, std::size_t>> master_order_;
  std::vector<ReadMaster> readers_;
  std::vector<WriteMaster> writers_;
  std::vector<PinServer*> servers_;
};

}  // namespace isthmus::card
