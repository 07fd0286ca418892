#include "kernel.hpp"

namespace isthmus::card {

namespace {

constexpr std::uint32_t control_register = 0x00;
constexpr std::uint32_t interrupts_register = 0x04;
constexpr std::uint32_t interrupt_when_done_register = 0x08;
constexpr std::uint32_t interrupt_pending_register = 0x0C;
constexpr std::uint32_t first_argument = 0x10;
constexpr std::uint32_t argument_stride = 12;
constexpr std::uint32_t first_result = 0x88;
constexpr int reset_clocks = 4;
constexpr int patience = 1000;  ///< clocks after which a register access counts as failed

}  // namespace

void RtlKernel::set_argument(std::size_t n, std::uint64_t value) {
  const auto offset = first_argument + argument_stride * static_cast<std::uint32_t>(n);
  write_register(offset, static_cast<std::uint32_t>(value));
  write_register(offset + 4, static_cast<std::uint32_t>(value >> 32U));
}

void RtlKernel::skip_sweeps(std::uint64_t /*sweeps*/) {
  throw std::invalid_argument("this kernel makes no sweeps");
}

void RtlKernel::start() {
  write_register(interrupt_pending_register, 1);
  write_register(control_register, 1);
}

std::uint64_t RtlKernel::read_wide(std::uint32_t offset) {
  const std::uint64_t low = read_register(offset);
  return low | std::uint64_t{read_register(offset + 4)} << 32U;
}

std::uint64_t RtlKernel::result(std::size_t n) {
  return read_wide(first_result + 8 * static_cast<std::uint32_t>(n));
}

void BenchKernel::connect(std::size_t master, MemoryPort& port) {
  const auto [reads, index] = master_order_.at(master);
  if (reads) {
    readers_[index].connect(port);
  } else {
    writers_[index].connect(port);
  }
}

void BenchKernel::clock() {
  const auto each = [](auto& all, const auto& step) {
    for (auto& one : all) {
      step(one);
    }
  };
  const auto show = [this](auto& one) { one.show(now_); };
  const auto take = [this](auto& one) { one.take(now_); };
  const auto note = [](auto& one) { one.note(); };
  const auto take_all = [&] {
    each(readers_, take);
    each(writers_, take);
  };
  const bool settles = settle();
  if (!settles) {  // before: memory without latency answers within the clock
    take_all();
  }
  each(readers_, show);
  each(writers_, show);
  each(servers_, [](PinServer* one) { one->show(); });
  if (settles) {
    settle();
    take_all();
    settle();
  }
  each(readers_, note);
  each(writers_, note);
  each(servers_, [](PinServer* one) { one->note(); });
  edge();
  ++edges_;
  now_ += period_;
}

void BenchKernel::skip_to(Time time) {
  if (time > now_) {
    now_ += (time - now_ + period_ - 1) / period_ * period_;
  }
}

std::uint64_t BenchKernel::clock_when(const Pin& pin) {
  for (int waited = 0; waited < patience; ++waited) {
    settle();
    const bool ready = pin.get() != 0;
    clock();
    if (ready) {
      return edges_;
    }
  }
  throw std::runtime_error("the kernel's registers do not answer");
}

std::uint32_t BenchKernel::read_register(std::uint32_t offset, std::uint64_t* cycles) {
  control_.araddr.set(offset);
  control_.arvalid.set(1);
  const std::uint64_t start = clock_when(control_.arready);
  control_.arvalid.set(0);
  control_.rready.set(1);
  settle();
  while (control_.rvalid.get() == 0) {
    if (edges_ - start > patience) {
      throw std::runtime_error("the kernel's registers do not answer");
    }
    clock();
  }
  const auto value = static_cast<std::uint32_t>(control_.rdata.get());
  clock();
  control_.rready.set(0);
  if (cycles != nullptr) {
    *cycles = edges_ - start;
  }
  return value;
}

/// Writes a register. Address and data are offered at once, because some kernels take neither
/// alone.
void BenchKernel::write_register(std::uint32_t offset, std::uint32_t value, std::uint8_t strobes) {
  control_.awaddr.set(offset);
  control_.awvalid.set(1);
  control_.wdata.set(value);
  control_.wstrb.set(strobes);
  control_.wvalid.set(1);
  control_.bready.set(1);
  bool answered = false;
  for (int waited = 0; !answered; ++waited) {
    if (waited == patience) {
      throw std::runtime_error("the kernel's registers do not answer");
    }
    settle();
    const bool address_taken = control_.awvalid.get() != 0 && control_.awready.get() != 0;
    const bool data_taken = control_.wvalid.get() != 0 && control_.wready.get() != 0;
    answered = control_.bvalid.get() != 0;
    clock();
    if (address_taken) {
      control_.awvalid.set(0);
    }
    if (data_taken) {
      control_.wvalid.set(0);
    }
  }
  control_.bready.set(0);
}

void BenchKernel::begin(ControlPins control, Pin reset_n, Pin interrupt) {
  if (period_ <= 0) {
    throw std::invalid_argument("a kernel's clock period must be positive");
  }
  control_ = control;
  interrupt_ = interrupt;
  reset_n.set(0);
  for (int n = 0; n < reset_clocks; ++n) {
    clock();
  }
  reset_n.set(1);
  if (interrupt.is_there()) {
    write_register(interrupts_register, 1, 0xF);
    write_register(interrupt_when_done_register, 1, 0xF);
  }
}

}  // namespace isthmus::card
