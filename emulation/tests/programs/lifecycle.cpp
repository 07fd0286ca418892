// What programs do with cards beside copying and computing: second bitstreams, children of their
// own, many runs, buffers of every kind, kernels without a scheduler. Prints one JSON object.
#include <ert.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xrt/experimental/xrt_ip.h>
#include <xrt/experimental/xrt_xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "on_card.hpp"

namespace {

/// The sum that vadd makes of 1..1000 twice: 1000 * 1001 where all is well.
double sum_of(Card& card) {
  constexpr int count = 1000;
  xrt::kernel kernel(card.device, card.uuid, "vadd");
  std::vector<xrt::bo> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.emplace_back(card.device, count * sizeof(int), kernel.group_id(i));
    int* const data = buffers[i].map<int*>();
    std::iota(data, data + count, 1);
    buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  auto run = kernel(buffers[0], buffers[1], buffers[2], static_cast<unsigned>(count));
  run.wait();
  buffers[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const sums = buffers[2].map<int*>();
  return std::accumulate(sums, sums + count, 0.0);
}

/// A buffer that is made, and synced, before there is a bitstream.
void before_bitstream(const Arguments& files) {
  xrt::device device(0);
  xrt::bo buffer(device, 4096, xrt::bo::flags::normal, 0);
  int* const data = buffer.map<int*>();
  data[0] = 17;
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  data[0] = 0;
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("before", data[0]);
  Card card(files.front());
  data[0] = 18;
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  data[0] = 0;
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("behind", data[0]);
  tell("sum", sum_of(card));
}

/// Several bitstreams in turn on one open device, each of which adds.
void second_bitstream(const Arguments& files) {
  Card card(files.front());
  for (const std::string& file : files) {
    card.uuid = card.device.load_xclbin(file);
    tell("sum_" + std::to_string(told.size()), sum_of(card));
  }
}

/// A kernel of the first bitstream, open while the second one is loaded: whether that was refused.
void kernel_of_before(const Arguments& files) {
  Card card(files[0]);
  {
    const xrt::kernel closed(card.device, card.uuid, "vadd");
  }
  const auto refused = [&card](const std::string& file) {
    try {
      card.uuid = card.device.load_xclbin(file);
      return 0;
    } catch (const std::system_error& error) {
      return std::abs(error.code().value()) == EBUSY ? 1 : -1;
    }
  };
  tell("closed", refused(files[1]));
  const xrt::kernel open(card.device, card.uuid, "vadd");
  tell("open", refused(files[0]));
}

/// One card opened three times; a buffer that the first one made is there when the others are
/// closed.
void opened_again(const Arguments& files) {
  Card card(files[0]);
  xrt::bo buffer(card.device, 4096, 0);
  int* const data = buffer.map<int*>();
  data[0] = 5;
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  {
    const xrt::device idle(0);
  }
  {
    Card other(files[0]);
    tell("sum_of_other", sum_of(other));
  }
  data[0] = 0;
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("kept", data[0]);
  tell("sum", sum_of(card));
}

void aborting(const Arguments& files) {
  const Card card(files[0]);
  std::abort();
}

/// A child that ends with code 7, and all that wait() knows of; a second child goes on meanwhile.
void children(const Arguments& files) {
  Card card(files[0]);
  const pid_t child = fork();
  if (child == 0) {
    _exit(7);
  }
  int status = 0;
  tell("first", wait(&status) == child ? WEXITSTATUS(status) : -1);
  tell("sum", sum_of(card));
  tell("others", waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD ? 0 : 1);
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    pause();
    _exit(0);
  }
  {
    const Card gone = std::move(card);
  }  // closes while a child of ours lives
  tell("alive", kill(sleeper, 0) == 0 && waitpid(sleeper, &status, WNOHANG) == 0 ? 1 : 0);
  kill(sleeper, SIGKILL);
  tell("reaped", wait(&status) == sleeper ? 1 : 0);
}

/// A child that starts a kernel on its parent's card and looks until it is completed: its code.
void looks_of_a_child(const Arguments& files) {
  Card card(files[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  run.start();
  run.wait();
  const pid_t child = fork();
  if (child == 0) {
    constexpr unsigned patience_s = 60;
    alarm(patience_s);  // ends the child where the kernel does not end
    const unsigned packet = xclAllocBO(card.device, 4096, 0, XCL_BO_FLAGS_EXECBUF);
    auto* const start = static_cast<ert_start_kernel_cmd*>(xclMapBO(card.device, packet, true));
    start->state = ERT_CMD_STATE_NEW;
    start->opcode = ERT_START_CU;
    start->count = 5;
    start->cu_mask = 1;
    xclExecBuf(card.device, packet);
    while (const_cast<const volatile ert_start_kernel_cmd*>(start)->state <
           ERT_CMD_STATE_COMPLETED) {
      usleep(100);
    }
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  tell("code", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/// An empty kernel, again and again.
void many_runs(const Arguments& arguments) {
  Card card(arguments[0]);
  const long count = std::stol(arguments[1]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  const auto go = [&run](long times) {
    for (long i = 0; i < times; ++i) {
      run.start();
      run.wait();
    }
  };
  go(count / 10);
  const double memory = resident();
  const double began = now();
  go(count - count / 10);
  tell("seconds", now() - began);
  tell("grown_KiB", resident() - memory);
}

/// An empty kernel, up to so often; at each of these counts wall time and memory.
void counted_runs(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  const double began = wall_now();
  long done = 0;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    for (; done < std::stol(arguments[i]); ++done) {
      run.start();
      run.wait();
    }
    tell(arguments[i] + " seconds", wall_now() - began);
    tell(arguments[i] + " program_KiB", resident());
  }
}

/// Starts a kernel again as soon as its command says that it is completed.
void restarts(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  for (int i = 0; i < 20; ++i) {
    run.start();
    const auto* const packet = static_cast<const ert_packet*>(run.get_ert_packet());
    while (const_cast<const volatile ert_packet*>(packet)->state < ERT_CMD_STATE_COMPLETED) {
    }
    run.wait();
  }
  tell("runs", 20);
}

/// As many command objects at once, of which the last is run.
void many_commands(const Arguments& arguments) {
  Card card(arguments[0]);
  const long count = std::stol(arguments[1]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  std::vector<xrt::run> runs;
  for (long i = 0; i < count; ++i) {
    runs.emplace_back(kernel);
  }
  runs.back().start();
  runs.back().wait();
  tell("runs", static_cast<double>(runs.size()));
}

/// Empty kernels that are all started before the first is waited for: so many, and again so many,
/// up to the last number, which is the largest. Seconds of the last, and of each.
void queued_runs(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  std::vector<xrt::run> runs;
  for (long i = 0; i < std::stol(arguments.back()); ++i) {
    runs.emplace_back(kernel);
  }
  double took = 0;
  for (std::size_t batch = 1; batch < arguments.size(); ++batch) {
    const auto end = runs.begin() + std::stol(arguments[batch]);
    took = lasted([&] {
      std::for_each(runs.begin(), end, [](xrt::run& run) { run.start(); });
      std::for_each(runs.begin(), end, [](xrt::run& run) { run.wait(); });
    });
    tell(arguments[batch], took);
  }
  tell("seconds", took);
}

/// An empty kernel, started and waited for, so often: the least that one took.
void single_runs(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "isthmus_empty");
  xrt::run run(kernel);
  double least = 1;
  for (long i = 0; i < std::stol(arguments[1]); ++i) {
    least = std::min(least, lasted([&run] {
                       run.start();
                       run.wait();
                     }));
  }
  tell("least", least);
}

/// Copies among buffers of all kinds, small and large; how many words are wrong.
void copies(const Arguments& files) {
  Card card(files[0]);
  xrt::kernel kernel(card.device, card.uuid, "vadd");
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{20} << 20U}) {
    const std::size_t count = bytes / sizeof(int);
    const auto flags = xrt::bo::flags::device_only;
    xrt::bo source(card.device, bytes, kernel.group_id(0));
    xrt::bo first(card.device, bytes, flags, kernel.group_id(0));
    xrt::bo second(card.device, bytes, flags, kernel.group_id(0));
    xrt::bo target(card.device, bytes, kernel.group_id(0));
    int* const data = source.map<int*>();
    std::iota(data, data + count, 5);
    source.sync(XCL_BO_SYNC_BO_TO_DEVICE);
    first.copy(source);
    second.copy(first, bytes / 2, bytes / 2, 0);
    second.copy(first, bytes / 2, 0, bytes / 2);
    target.copy(second);
    target.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
    const int* const got = target.map<const int*>();
    double wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      wrong += got[i] == data[(i + count / 2) % count] ? 0 : 1;
    }
    tell("wrong_" + std::to_string(bytes), wrong);
  }
}

/// Runs a kernel without a scheduler: by its registers.
void user_managed(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::ip unit(card.device, card.uuid, arguments[1]);
  constexpr int count = 64;
  const std::uint32_t offset = 0x10;
  std::vector<xrt::bo> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.emplace_back(card.device, count * sizeof(int), 0);
    int* const data = buffers[i].map<int*>();
    std::iota(data, data + count, 1);
    buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE);
    const std::uint64_t address = buffers[i].address();
    unit.write_register(offset + 12 * i, static_cast<std::uint32_t>(address));
    unit.write_register(offset + 12 * i + 4, static_cast<std::uint32_t>(address >> 32U));
  }
  unit.write_register(offset + 36, count);
  tell("idle_before", unit.read_register(0) & 4U);
  unit.write_register(0, 1);
  double polls = 0;
  std::uint32_t control = 0;
  while (((control = unit.read_register(0)) & 2U) == 0 && polls < 1e6) {
    ++polls;
  }
  tell("done", control & 2U);
  tell("done_twice", unit.read_register(0) & 2U);  // cleared by reading
  tell("idle_after", unit.read_register(0) & 4U);
  buffers[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const sums = buffers[2].map<int*>();
  tell("sum", std::accumulate(sums, sums + count, 0.0));
}

/// A kernel without control registers, which only its scalar argument tells what to do.
void free_running(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::ip unit(card.device, card.uuid, arguments[1]);
  unit.write_register(0x10, 41);
  tell("read", unit.read_register(0x18));
}

/// A kernel that starts itself again, three times in all.
void auto_restart(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, arguments[1]);
  xrt::run run(kernel);
  xrt::bo buffer(card.device, 4096, kernel.group_id(0));
  std::fill_n(buffer.map<int*>(), 1024, 0);
  buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  run.set_arg(0, buffer);
  run.start(xrt::autostart{3});
  run.wait();
  buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  tell("times", buffer.map<int*>()[0]);
}

/// A buffer that another card, or another process, reads.
void sharing(const Arguments& arguments) {
  Card first(arguments[0], 0);
  Card second(arguments[0], 1);
  constexpr int count = 4096;
  xrt::bo source(first.device, count * sizeof(int), xrt::bo::flags::p2p, 0);
  int* const data = source.map<int*>();
  std::iota(data, data + count, 9);
  source.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  xrt::bo imported(second.device, source.export_buffer());
  xrt::bo target(second.device, count * sizeof(int), 0);
  target.copy(imported, count * sizeof(int));
  target.sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const got = target.map<int*>();
  double wrong = 0;
  for (int i = 0; i < count; ++i) {
    wrong += got[i] == i + 9 ? 0 : 1;
  }
  tell("wrong", wrong);
}

/// A buffer of another process, by that process's number and without: the errors.
void of_another_process(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto refused = [](const std::function<xrt::bo()>& import) {
    try {
      import();
    } catch (const std::system_error& error) {
      return static_cast<double>(std::abs(error.code().value()));
    }
    return 0.0;
  };
  tell("named", refused([&] { return xrt::bo(card.device, xrt::pid_type{getppid()}, 3); }));
  tell("unnamed", refused([&] { return xrt::bo(card.device, xclBufferExportHandle{3}); }));
}

/// Queries that programs make of every device.
void queries(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto uuid = card.device.get_info<xrt::info::device::interface_uuid>();
  tell("uuid_length", static_cast<double>(uuid.to_string().size()));
  tell("set", uuid ? 1 : 0);
  tell("name", static_cast<double>(card.device.get_info<xrt::info::device::name>().size()));
  tell("nodma", card.device.get_info<xrt::info::device::nodma>() ? 1 : 0);
}

/// vadd over more elements than its buffers have.
void overrun(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "vadd");
  constexpr unsigned count = 1000;
  std::vector<xrt::bo> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.emplace_back(card.device, count * sizeof(int), kernel.group_id(i));
    std::fill_n(buffers[i].map<int*>(), count, 1);
    buffers[i].sync(XCL_BO_SYNC_BO_TO_DEVICE);
  }
  auto run = kernel(buffers[0], buffers[1], buffers[2], count + 4096);
  run.wait();
  buffers[2].sync(XCL_BO_SYNC_BO_FROM_DEVICE);
  const int* const sums = buffers[2].map<int*>();
  tell("sum", std::accumulate(sums, sums + count, 0.0));
}

/// vadd whose first argument is the address of a buffer that has been freed.
void freed(const Arguments& arguments) {
  Card card(arguments[0]);
  xrt::kernel kernel(card.device, card.uuid, "vadd");
  constexpr unsigned count = 1000;
  xrt::bo in2(card.device, count * sizeof(int), kernel.group_id(1));
  in2.sync(XCL_BO_SYNC_BO_TO_DEVICE);
  const xrt::bo out(card.device, count * sizeof(int), kernel.group_id(2));
  const std::uint64_t address =
      xrt::bo(card.device, count * sizeof(int), kernel.group_id(0)).address();
  xrt::run run(kernel);
  run.set_arg(0, address);
  run.set_arg(1, in2);
  run.set_arg(2, out);
  run.set_arg(3, count);
  run.start();
  run.wait();
}

/// Pages of a buffer that nobody has touched, and how many of them are there.
void pages(const Arguments& arguments) {
  Card card(arguments[0]);
  constexpr std::size_t bytes = std::size_t{16} << 20U;
  xrt::bo buffer(card.device, bytes, 0);
  std::vector<unsigned char> there(bytes / 4096);
  if (mincore(buffer.map<char*>(), bytes, there.data()) != 0) {
    throw std::runtime_error("mincore");
  }
  tell("pages", there.size());
  const auto is_there = [](unsigned char page) { return (page & 1U) != 0; };
  tell("there", std::count_if(there.begin(), there.end(), is_there));
}

/// Two buffers that are larger than the card's memory: how many are refused.
void too_large(const Arguments& arguments) {
  const Card card(arguments[0]);
  int refused = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      const xrt::bo buffer(card.device, std::size_t{1} << 37U, xrt::bo::flags::device_only, 0);
    } catch (const std::exception&) {
      ++refused;
    }
  }
  tell("refused", refused);
}

/// Buffers of sizes that no card has, and copies past a buffer's end: how many are refused.
void impossible_sizes(const Arguments& arguments) {
  Card card(arguments[0]);
  const auto refused = [](const std::function<void()>& action) {
    try {
      action();
      return 0;
    } catch (const std::exception&) {
      return 1;
    }
  };
  double all = 0;
  for (const auto flags :
       {xrt::bo::flags::normal, xrt::bo::flags::host_only, xrt::bo::flags::p2p}) {
    for (const std::size_t bytes : {std::size_t{1} << 60U, SIZE_MAX - 8191, SIZE_MAX}) {
      all += refused([&] { xrt::bo(card.device, bytes, flags, 0); });
    }
  }
  tell("buffers", all);
  void* const handle = card.device;
  const unsigned number = xclAllocBO(handle, 4096, 0, 0);
  const unsigned packet = xclAllocBO(handle, 4096, 0, XCL_BO_FLAGS_EXECBUF);
  tell("empty packet", xclExecBuf(handle, packet));
  std::vector<char> data(8192);
  tell("copy", xclCopyBO(handle, number, number, 4096, 1, 0));
  tell("copy of a packet", xclCopyBO(handle, number, packet, 64, 0, 0));
  tell("write", static_cast<int>(xclWriteBO(handle, number, data.data(), 4096, 1)));
  tell("read", static_cast<int>(xclReadBO(handle, number, data.data(), 1, 8192)));
  tell("freed", static_cast<int>(xclReadBO(handle, number + 99, data.data(), 1, 0)));
  tell("sum", sum_of(card));
}

/// The card's memory by its address, on a card without a bitstream.
void memory_before_bitstream(const Arguments& /*none*/) {
  const xrt::device device(0);
  int word = 1;
  xclUnmgdPread(device, 0, &word, sizeof word, std::uint64_t{1} << 38U);
  tell("word", word);
}

/// Kernels and runs that go as soon as they are started; then vadd.
void dropped(const Arguments& arguments) {
  Card card(arguments[0]);
  sum_of(card);  // from then on XRT makes a queue for each kernel that is opened
  for (int i = 0; i < 200; ++i) {
    xrt::run(xrt::kernel(card.device, card.uuid, "isthmus_empty")).start();
  }
  tell("sum", sum_of(card));
}

}  // namespace

int main(int count, char** given) {
  return act(count, given,
             {
                 {"before_bitstream", before_bitstream},
                 {"second_bitstream", second_bitstream},
                 {"children", children},
                 {"looks_of_a_child", looks_of_a_child},
                 {"kernel_of_before", kernel_of_before},
                 {"opened_again", opened_again},
                 {"aborting", aborting},
                 {"many_runs", many_runs},
                 {"many_commands", many_commands},
                 {"counted_runs", counted_runs},
                 {"restarts", restarts},
                 {"queued_runs", queued_runs},
                 {"single_runs", single_runs},
                 {"copies", copies},
                 {"user_managed", user_managed},
                 {"free_running", free_running},
                 {"auto_restart", auto_restart},
                 {"sharing", sharing},
                 {"of_another_process", of_another_process},
                 {"queries", queries},
                 {"overrun", overrun},
                 {"freed", freed},
                 {"dropped", dropped},
                 {"pages", pages},
                 {"impossible_sizes", impossible_sizes},
                 {"too_large", too_large},
                 {"memory_before_bitstream", memory_before_bitstream},
             });
}
