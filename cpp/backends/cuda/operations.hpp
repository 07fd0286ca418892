// The operations of the CUDA backend, and the functions that create them.
#pragma once

#include <memory>
#include <vector>

#include "isthmus/backend.hpp"
#include "objects.hpp"

namespace isthmus::cuda {

/// The GPU that was opened, and the other GPU for copies between two, if there is one.
struct Opened {
  Session& session;
  const Session* peer;
};

/// Describes the operations of a device; copies between GPUs only if `has_peer`.
std::vector<OperationInfo> operations(DeviceId device, bool has_peer);

/// Creates an operation; throws UsageError if none has the name.
std::unique_ptr<Operation> make_operation(const Opened& opened, const OperationSpec& spec);

using Maker = std::unique_ptr<Operation>(const Opened& opened, const OperationSpec& spec);

// Defined in transfers.cpp: operations by copy engines.
Maker make_write;
Maker make_read;
Maker make_read_and_write;
Maker make_bidirectional;
Maker make_stream;
Maker make_peer_write;
Maker make_peer_read;

// Defined in kernels.cpp: operations by kernels.
Maker make_launch;
Maker make_graph_launch;
Maker make_kernel_read;
Maker make_kernel_write;
Maker make_kernel_bandwidth;
Maker make_copy_sm_write;
Maker make_copy_sm_read;
Maker make_pointer_chase;

inline constexpr unsigned block_threads = 256;  // the same as in kernels/cuda/transfer.cu

/// Returns the number of thread blocks of a kernel: enough to occupy the device, but no more than
/// the buffer's 16-byte accesses need.
unsigned blocks_for(DeviceId device, std::size_t bytes);
void launch(Function kernel, unsigned blocks, Stream stream, void** arguments,
            unsigned threads = block_threads);
void synchronise(Stream stream);

}  // namespace isthmus::cuda
