// A verilated kernel: its model, its control registers and what is connected to it.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/card/rtl.hpp"
#include "masters.hpp"

namespace isthmus::card {

/// Everything about a kernel that does not depend on its class in Verilator's output.
class BenchKernel : public RtlKernel {
 public:
  explicit BenchKernel(Time period) : period_(period) {}

  [[nodiscard]] std::size_t masters() const override { return master_order_.size(); }
  void connect(std::size_t master, MemoryPort& port) override;
  /// From the next clock on these serve pins, and no others.
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
  /// Resets the kernel; lets it raise `interrupt`, where it has one, when it is done.
  void begin(ControlPins control, Pin reset_n, Pin interrupt);
  virtual void edge() = 0;
  /// Lets outputs follow inputs within a clock; whether there are such outputs.
  virtual bool settle() { return false; }

 private:
  /// Clocks until `pin` is high before an edge, then makes that edge; its number is returned.
  std::uint64_t clock_when(const Pin& pin);

  Time period_;
  Time now_ = 0;
  std::uint64_t edges_ = 0;
  ControlPins control_{};
  Pin interrupt_;
  std::vector<std::pair<bool, std::size_t>> master_order_;  ///< reads?, index
  std::vector<ReadMaster> readers_;
  std::vector<WriteMaster> writers_;
  std::vector<PinServer*> servers_;
};

}  // namespace isthmus::card
