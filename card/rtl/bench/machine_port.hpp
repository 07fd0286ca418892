// The memory to which the masters of an RTL kernel are connected within the machine.
//
// Data move at once; the machine's events give the times. A port takes the time from the simulator,
// not from its caller. It knows which burst comes next, because kernels go through their buffers
// sweep after sweep.
#pragma once

#include <cstdint>
#include <deque>

#include "isthmus/card/axi.hpp"
#include "isthmus/card/kernel.hpp"
#include "isthmus/card/machine.hpp"
#include "isthmus/card/rtl.hpp"

namespace isthmus::card {

/// How far one AXI channel has come in its sweeps.
struct Walk {
  std::int64_t bytes = 0;  ///< size of one sweep
  std::int64_t left = 0;   ///< sweeps left, the current one included
  std::int64_t at = 0;

  void advance(std::int64_t by) {
    at += by;
    if (at == bytes) {
      at = 0;
      --left;
    }
  }
};

/// The port of a kernel's reading and writing master; derived classes give the times.
class MachinePort : public MemoryPort {
 public:
  static constexpr std::uint64_t input_address = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t output_address = std::uint64_t{2} << 40U;

  MachinePort(Machine& machine, RtlKernel& kernel, const RtlJob& job);

  bool read(const Burst& burst, Time now) final;
  std::optional<Response> read_beat(std::span<std::byte> data, Time now) final;
  bool write(const Burst& burst, Time now) final;
  bool write_beat(std::span<const std::byte> data, std::uint64_t strobes, bool last,
                  Time now) final;
  std::optional<Response> write_response(Time now) final;

  /// Returns how many sweeps were clocked one by one.
  [[nodiscard]] std::int64_t sweeps() const { return job_.work.iterations - skipped_; }

 protected:
  /// Sends a read burst into the machine; `first` if a sweep begins with it.
  virtual void ask(std::int64_t bytes, bool first) = 0;
  /// Returns how many bytes have arrived so far.
  virtual std::int64_t arrived() = 0;
  /// Announces a write burst; `first` if a sweep begins with it.
  virtual void open(bool first) = 0;
  virtual bool has_room(std::int64_t bytes) = 0;
  /// Sends data of a write burst into the machine; `burst_ends` with the burst's last data.
  virtual void send(std::int64_t bytes, bool burst_ends) = 0;
  /// Returns how many write bursts have been answered so far.
  virtual std::int64_t answered() = 0;

  [[nodiscard]] Machine& machine() const { return *machine_; }
  [[nodiscard]] Time now() const { return machine_->crossing.simulator.now(); }
  [[nodiscard]] const KernelJob& work() const { return job_.work; }
  [[nodiscard]] bool single_blocks() const;
  /// Returns the bytes of one sweep, the last beat counted in full.
  [[nodiscard]] std::int64_t sweep_bytes() const { return asking_.bytes; }

 private:
  /// Advances a walk by a burst; returns whether a sweep begins with it.
  bool follow(Walk& walk, std::uint64_t base, const Burst& burst);
  void skip_sweeps(const Walk& walk);

  Machine* machine_;
  RtlKernel* kernel_;
  RtlJob job_;
  std::int64_t outstanding_;
  Walk asking_;  ///< channel AR: bursts to read
  Walk reading_;
  Walk opening_;  ///< channel AW: bursts to write
  Walk writing_;
  std::deque<std::uint32_t> reads_;  ///< beats still to come, for each read burst
  std::int64_t taken_ = 0;
  std::int64_t opened_ = 0;    ///< number of write bursts
  std::int64_t to_write_ = 0;  ///< bytes of opened bursts whose data have not come
  std::int64_t told_ = 0;
  std::int64_t skipped_ = 0;
};

/// Host memory. It sends the same requests and packets as the event models of kernels do.
class HostPort final : public MachinePort, public Actor, public Taker {
 public:
  HostPort(Machine& machine, RtlKernel& kernel, const RtlJob& job, Reader& reader, Writer& writer);

  void handle(std::uint64_t stream) override;
  void offer(std::int64_t bytes) override { arrived_ += bytes; }

 protected:
  void ask(std::int64_t bytes, bool first) override;
  std::int64_t arrived() override { return arrived_; }
  void open(bool first) override;
  bool has_room(std::int64_t bytes) override;
  void send(std::int64_t bytes, bool burst_ends) override;
  std::int64_t answered() override { return answered_; }

 private:
  [[nodiscard]] StreamPlan plan(bool reads) const;

  Reader* reader_;
  Writer* writer_;
  Server unlimited_;  ///< never busy, because the kernel's clock paces its data
  std::int64_t arrived_ = 0;
  std::int64_t answered_ = 0;
};

/// Banks of card memory, which serve all bursts in their order.
class BankPort final : public MachinePort {
 public:
  BankPort(Machine& machine, RtlKernel& kernel, const RtlJob& job);

 protected:
  void ask(std::int64_t bytes, bool first) override;
  std::int64_t arrived() override;
  void open(bool /*first*/) override {}
  bool has_room(std::int64_t /*bytes*/) override { return true; }
  void send(std::int64_t bytes, bool burst_ends) override;
  std::int64_t answered() override;

 private:
  struct Due {
    Time time = 0;
    std::int64_t amount = 0;
  };
  [[nodiscard]] std::int64_t due(std::deque<Due>& queue) const;

  Port from_;
  Port to_;
  std::deque<Due> data_;
  std::deque<Due> responses_;
  std::int64_t arrived_ = 0;
  std::int64_t burst_bytes_ = 0;
  std::int64_t answered_ = 0;
};

}  // namespace isthmus::card
