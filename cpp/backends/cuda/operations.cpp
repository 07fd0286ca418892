#include "operations.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "isthmus/sweep.hpp"

namespace isthmus::cuda {
namespace {

/// Default number of sweeps: the 1024 of AMD's published example take seconds for large buffers.
constexpr unsigned usual_sweeps = 16;

struct Named {
  const char* name;
  Maker* make;
};

constexpr std::array makers = {
    Named{"write", make_write},
    Named{"read", make_read},
    Named{"rw", make_read_and_write},
    Named{"bidirectional", make_bidirectional},
    Named{"launch", make_launch},
    Named{"kernel_read", make_kernel_read},
    Named{"kernel_write", make_kernel_write},
    Named{"stream", make_stream},
    Named{"graph_launch", make_graph_launch},
    Named{"copy_sm_write", make_copy_sm_write},
    Named{"copy_sm_read", make_copy_sm_read},
    Named{"pointer_chase", make_pointer_chase},
    Named{"peer_write", make_peer_write},
    Named{"peer_read", make_peer_read},
    Named{"read_bandwidth", make_kernel_read},
    Named{"write_bandwidth", make_kernel_write},
    Named{"bandwidth", make_kernel_bandwidth},
};

}  // namespace

std::vector<OperationInfo> operations(DeviceId device, bool has_peer) {
  std::vector<std::string> kernel_memory_kinds = {"device"};
  std::vector<OperationInfo> table = {
      {.name = "write", .parts = {{"write", "h2d", "dma"}}, .axes = {queue_depth()}},
      {.name = "read", .parts = {{"read", "d2h", "dma"}}, .axes = {queue_depth()}},
      {.name = "rw",
       .parts = {{"read_rw", "d2h", "dma"}, {"write_rw", "h2d", "dma"}},
       .device_buffers = 2},
      {.name = "bidirectional", .parts = {{"bidirectional", "both", "dma"}}, .device_buffers = 2},
      {.name = "launch", .parts = {{"launch", "", "kernel"}}, .sized = false},
      {.name = "stream",
       .parts = {{"stream", "both", "dma"}},
       .axes = {queue_depth(2)},
       .device_buffers = 2,
       .most_bytes = std::uint64_t{64} << 20U},
      {.name = "graph_launch", .parts = {{"graph_launch", "", "kernel"}}, .sized = false}};
  if (attribute(device, can_map_host_memory) != 0) {
    kernel_memory_kinds.emplace_back("mapped");
    table.push_back({.name = "copy_sm_write",
                     .parts = {{"copy_sm_write", "h2d", "kernel"}},
                     .memory_kinds = {"mapped"}});
    table.push_back({.name = "copy_sm_read",
                     .parts = {{"copy_sm_read", "d2h", "kernel"}},
                     .memory_kinds = {"mapped"}});
  }
  const auto add = [&table](std::vector<OperationInfo> more) {
    std::ranges::move(more, std::back_inserter(table));
  };
  add(bandwidth_kernels("device", {"device"}, "board", usual_sweeps));
  if (kernel_memory_kinds.size() > 1) {
    add(bandwidth_kernels("host", {"mapped"}, "board", usual_sweeps));
  }
  for (const char* name : {"kernel_read", "kernel_write", "pointer_chase"}) {
    table.push_back(
        {.name = name, .parts = {{name, "", "kernel"}}, .memory_kinds = kernel_memory_kinds});
  }
  if (has_peer) {
    for (const char* name : {"peer_write", "peer_read"}) {
      table.push_back({.name = name,
                       .parts = {{name, "", "dma"}},
                       .axes = {queue_depth()},
                       .memory_kinds = {"device"}});
    }
  }
  return table;
}

std::unique_ptr<Operation> make_operation(const Opened& opened, const OperationSpec& spec) {
  const auto* found = std::ranges::find_if(
      makers, [&spec](const Named& candidate) { return spec.name == candidate.name; });
  if (found == makers.end()) {
    throw UsageError("CUDA has no operation '" + spec.name + "'");
  }
  opened.session.make_current();
  return found->make(opened, spec);
}

unsigned blocks_for(DeviceId device, std::size_t bytes) {
  // One access of 16 bytes by each thread.
  constexpr std::size_t block_bytes = std::size_t{block_threads} * 16;
  const auto most = static_cast<std::size_t>(attribute(device, multiprocessors)) * 8;
  return static_cast<unsigned>(std::clamp<std::size_t>(bytes / block_bytes, 1, most));
}

void launch(Function kernel, unsigned blocks, Stream stream, void** arguments, unsigned threads) {
  check(api().cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr),
        "cuLaunchKernel");
}

void synchronise(Stream stream) { check(api().cuStreamSynchronize(stream), "cuStreamSynchronize"); }

}  // namespace isthmus::cuda
