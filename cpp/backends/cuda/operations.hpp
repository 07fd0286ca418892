// Operations of the CUDA backend; one maker for each operation of its table.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// The opened GPU, and the other GPU of its peer copies, if there is one.
struct Opened {
  Session& session;
  const Session* peer;
};

/// The operations of a device; those between two GPUs only if there is another GPU.
std::vector<OperationInfo> operations(DeviceId device, bool has_peer);

/// Throws UsageError for an operation that is not in the table.
std::unique_ptr<Operation> make_operation(const Opened& opened, const OperationSpec& spec);

using Maker = std::unique_ptr<Operation>(const Opened& opened, const OperationSpec& spec);

// transfers.cpp: operations of the copy engines.
Maker make_write;
Maker make_read;
Maker make_read_and_write;
Maker make_bidirectional;
Maker make_stream;
Maker make_peer_write;
Maker make_peer_read;

// kernels.cpp: operations of the device's processors.
Maker make_launch;
Maker make_graph_launch;
Maker make_kernel_read;
Maker make_kernel_write;
Maker make_kernel_bandwidth;
Maker make_copy_sm_write;
Maker make_copy_sm_read;
Maker make_pointer_chase;

inline constexpr unsigned block_threads = 256;  // as in kernels/cuda/transfer.cu

/// Number of thread blocks for a kernel: enough to keep the device busy, without more threads than
/// a small buffer needs.
unsigned blocks_for(DeviceId device, std::size_t bytes);
void launch(Function kernel, unsigned blocks, Stream stream, void** arguments,
            unsigned threads = block_threads);
void synchronise(Stream stream);

}  // namespace isthmus::cuda
