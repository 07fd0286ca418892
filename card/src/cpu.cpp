#include "isthmus/card/cpu.hpp"

#include <algorithm>
#include <vector>

namespace isthmus::card {
namespace {

constexpr std::int64_t widest = 64;
constexpr std::int64_t credit_bytes = 16;

/// Ends of the accesses in flight, as many as the limit; a new access waits for the oldest one.
class InFlight {
 public:
  InFlight(std::int64_t most, Time now) : done_(static_cast<std::size_t>(most), now) {}
  [[nodiscard]] Time oldest() const { return done_[next_]; }
  void replace(Time done) {
    done_[next_] = done;
    next_ = (next_ + 1) % done_.size();
  }

 private:
  std::vector<Time> done_;
  std::size_t next_ = 0;
};

/// Returns whether a system call begins with byte `at`.
bool begins_call(const CpuAccess& access, std::int64_t at) {
  return access.call_bytes > 0 && at % access.call_bytes == 0;
}

/// Returns the bytes from `at` to the end of its system call, or of all accesses without calls.
std::int64_t left_of_call(const CpuAccess& access, std::int64_t at, std::int64_t total) {
  const std::int64_t call = access.call_bytes > 0 ? access.call_bytes : total;
  return std::min(total - at, call - at % call);
}

Time run_loads(const Board& board, Link& link, Time now, const CpuAccess& access) {
  const HostParameters& host = board.host;
  const Time processor = from_nanoseconds(host.load_ns);
  const Time device = Cpu::device_time(board, access);
  const std::int64_t usual = access.instruction == Instruction::load
                                 ? host.loads_in_flight
                                 : host.streaming_loads_in_flight;
  InFlight loads(access.in_flight > 0 ? access.in_flight : usual, now);
  Time done = now;
  Time ready = now;
  for (std::int64_t i = 0; i < access.count; ++i) {
    if (begins_call(access, i * access.width)) {  // the previous call has returned its data
      ready = done + from_nanoseconds(host.system_call_ns);
    }
    const Time issued = std::max(loads.oldest(), ready) + processor;
    const Time arrival = link.send(issued, Way::down, Packet::read_request, 0);
    done = link.send(arrival + device, Way::up, Packet::completion, access.width);
    loads.replace(done);
  }
  return done - now;
}

Time run_stores(const Board& board, Link& link, Time now, const CpuAccess& access) {
  const HostParameters& host = board.host;
  const bool combined = access.instruction == Instruction::combined_store;
  const std::int64_t most = combined ? host.write_combining_bytes : access.width;
  const Time processor = from_nanoseconds(host.store_ns);
  InFlight buffers(combined ? host.write_combining_buffers : 1, now);
  Credits data(board.link.posted_data_credits);
  Credits headers(board.link.posted_header_credits);
  Time arrival = now;
  Time issued = now;
  Time handed = now;
  const std::int64_t total = access.width * access.count;
  for (std::int64_t stored = 0; stored < total;) {
    if (begins_call(access, stored)) {  // earlier stores leave during the call
      issued += from_nanoseconds(host.system_call_ns);
    }
    const std::int64_t bytes = std::min(most, left_of_call(access, stored, total));
    const std::int64_t units = (bytes + credit_bytes - 1) / credit_bytes;
    stored += bytes;
    issued = std::max(issued, buffers.oldest());
    handed = std::max(handed, issued + processor);
    handed = std::max(data.when(handed, units), headers.when(handed, 1));
    data.when(handed, units);
    headers.when(handed, 1);
    data.take(units);
    headers.take(1);
    arrival = link.send(handed, Way::down, Packet::write, bytes);
    buffers.replace(arrival - link.latency());
    const Time usable = arrival + link.credit_return() + link.latency();
    data.give_back(usable, units);
    headers.give_back(usable, 1);
  }
  return arrival + Cpu::device_time(board, access) - now;
}

}  // namespace

Time Cpu::device_time(const Board& board, const CpuAccess& access) {
  if (!board.registers) {
    throw BoardError("missing parameter registers.cycles: this card has no registers");
  }
  if (access.place == Place::sram && !board.sram) {
    throw BoardError("missing parameter sram.bytes: this card has no SRAM");
  }
  if (access.width < 1 || access.width > widest || access.count < 0) {
    throw std::invalid_argument("loads and stores are of 1 to 64 bytes");
  }
  const RegisterParameters& registers = board.registers.value();
  const std::int64_t beats = (access.width + registers.width_bytes - 1) / registers.width_bytes;
  const std::int64_t extra = access.place == Place::sram ? board.sram.value().extra_cycles : 0;
  return Pace::of_clock(registers.clock_MHz).of(registers.cycles + extra + beats - 1);
}

Time Cpu::run(const Board& board, Link& link, Time now, const CpuAccess& access) {
  const bool loads =
      access.instruction == Instruction::load || access.instruction == Instruction::streaming_load;
  return loads ? run_loads(board, link, now, access) : run_stores(board, link, now, access);
}

}  // namespace isthmus::card
