// Parameters of a card, its link and its host, as board files (*.toml) give them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace isthmus::card {

/// A parameter is missing, unknown or impossible; the message names it.
class BoardError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The PCIe link and its packets. The defaults mean a board without a link.
struct LinkParameters {
  int generation = 1;
  int lanes = 1;
  std::int64_t max_payload_bytes = 128;
  std::int64_t max_read_request_bytes = 128;
  std::int64_t read_completion_boundary_bytes = 64;
  int address_bits = 64;
  /// One way, from the last byte's start to the use of the packet at the other end.
  double latency_ns = 0;
  std::int64_t acknowledge_every_bytes = 1024;
  /// Bytes of an acknowledgement, sent in the other direction.
  std::int64_t acknowledge_bytes = 8;
  /// Credits of 16 B that each receiver grants for data of memory writes.
  std::int64_t posted_data_credits = 8;
  std::int64_t posted_header_credits = 1;  ///< memory writes that a receiver allows in flight
  std::int64_t nonposted_header_credits = 1;
  /// From the packet's use at the receiver to the credit's reuse, without the latency.
  double credit_return_ns = 0;
  double error_rate = 0;  ///< probability that a packet is corrupted and sent again
  std::int64_t user_bus_bytes = 1;
  double user_clock_MHz = 1;
  bool straddle = false;  ///< a packet may begin in the cycle in which the previous one ends
};

struct HostParameters {
  double load_ns = 0;
  double store_ns = 0;
  double system_call_ns = 0;  ///< software around each access through the driver
  std::int64_t write_combining_bytes = 64;
  std::int64_t write_combining_buffers = 1;
  std::int64_t loads_in_flight = 1;
  std::int64_t streaming_loads_in_flight = 1;
  double memory_latency_ns = 0;
  double memory_miss_ns = 0;
  double memory_bandwidth_Bps = 1;  ///< bandwidth that all cache misses share
  double write_retire_ns = 0;
  std::int64_t cache_write_bytes = 0;
  std::int64_t cache_read_bytes = 0;
  std::int64_t page_bytes = 4096;
  std::int64_t translation_entries = 0;  ///< entries of the IOMMU's cache; 0: no IOMMU
  double translation_miss_ns = 0;
  double polling_ns = 0;
  double interrupt_ns = 0;
};

struct DmaParameters {
  std::int64_t tags = 0;
  std::int64_t descriptor_bytes = 0;
  double h2d_descriptor_ns = 0;
  double d2h_descriptor_ns = 0;
  double h2d_bandwidth_Bps = 0;  ///< limit of all channels together; 0: no limit
  std::int64_t engines = 0;      ///< number of channels in each direction
  double submit_ns = 0;
  double start_ns = 0;
  bool interrupt = false;  ///< an interrupt reports the end of a transfer; else the driver polls
  double finish_ns = 0;
};

struct MemoryParameters {
  std::int64_t banks = 0;
  std::int64_t bank_bytes = 0;
  double bandwidth_Bps = 0;      ///< rate of each bank
  double ddr_bandwidth_Bps = 0;  ///< rate of each DDR bank behind HBM; 0: that of the other banks
  double latency_ns = 0;
  double refresh_interval_ns = 0;  ///< time from one refresh to the next; 0: no refresh
  double refresh_ns = 0;           ///< duration of a refresh, during which the bank serves nothing
  double write_to_read_ns = 0;     ///< how long the data lines idle between a write and a read
  double read_to_write_ns = 0;     ///< how long they idle between a read and a write
  bool hbm = false;                ///< high-bandwidth memory: xclbins name its banks HBM[n]
};

struct KernelParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;
  std::int64_t burst_beats = 0;
  std::int64_t outstanding = 0;       ///< bursts in flight in each direction
  std::int64_t write_gap_cycles = 0;  ///< pause of a port after each burst to card memory
  std::int64_t tags = 0;
  bool reaches_host = true;  ///< kernels can access host memory
  double launch_ns = 0;
  double block_interval_ns = 0;
  double copy_block_interval_ns = 0;
  double write_response_ns = 0;
  double host_latency_ns = 0;
};

struct RegisterParameters {
  std::int64_t cycles = 0;
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;
};

struct SramParameters {
  std::int64_t extra_cycles = 0;  ///< cycles that an access takes longer than a register's
  std::int64_t bytes = 0;
};

struct SerialParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;  ///< bytes that a channel moves at once
  std::int64_t channels = 0;     ///< number of channels in each direction
  double latency_ns = 0;
  double hop_ns = 0;  ///< added to the latency between boards
  double stretch = 1;
  double start_ns = 0;       ///< start and end of the kernels, counted once in a timed loop
  double barrier_ns = 0;     ///< delay of one card in each stage of the barrier before the loop
  bool in_turn = true;       ///< each kernel first sends, then receives; else both at once
  std::int64_t sharing = 1;  ///< number of links that share one wire
  std::int64_t depth = 512;  ///< flits that a channel holds
};

/// Times of software around an offload, on the board's host.
struct OffloadParameters {
  double initialise_ns = 0;
  double program_ns = 0;   ///< loading a bitstream; 0: it is loaded already
  double allocate_ns = 0;  ///< allocating all vectors, without the faults of their pages
  double align_ns = 0;     ///< added to allocate_ns if all vectors begin at a page
  double fault_ns = 0;     ///< first access to a page
  double pin_ns = 0;       ///< pinning a page
  /// Bytes per second of the driver's copy of data that begin within a page.
  double copy_Bps = 0;
  double populate_ns = 0;  ///< writing one element of both operands
  double arguments_ns = 0;
  double enqueue_ns = 0;
  double kernel_ns = 0;  ///< least time of one element in the kernel
  double add_ns = 0;     ///< adding one element on the host
};

/// Times of software between a program and its card that no other section has.
struct DriverParameters {
  double launch_ns = 0;
  double first_launch_ns = 0;  ///< added to a program's first launch of a kernel
  /// Between the starts of kernels that wait in the runtime's queue.
  double launch_interval_ns = 0;
  double register_ns = 0;
};

/// Times of a buffer's sync on a board whose host and kernels share one memory.
struct SyncParameters {
  double call_ns = 0;
  double bandwidth_Bps = 0;
};

/// Faults that the card makes on purpose, so that a test shows whether a program's check finds
/// them.
struct FaultParameters {
  /// Which completion gets a wrong bit, counted from 1 in each transfer, or in each sweep of a
  /// kernel over host memory; 0: none.
  std::int64_t flip_completion = 0;
  std::int64_t drop_write = 0;  ///< which write to host memory gets lost, counted from 1; 0: none
  /// Which message on a ring's first link gets a wrong bit; 0: none.
  std::int64_t flip_message = 0;
};

using Parameters = std::map<std::string, std::string>;

struct Board {
  std::string name;
  LinkParameters link;
  HostParameters host;
  FaultParameters faults;
  std::optional<DmaParameters> dma;
  std::optional<MemoryParameters> memory;
  std::optional<KernelParameters> kernel;
  std::optional<RegisterParameters> registers;
  std::optional<SramParameters> sram;
  std::optional<SerialParameters> serial;
  std::optional<OffloadParameters> offload;
  std::optional<SyncParameters> sync;  ///< set on boards without a link
  DriverParameters driver;

  /// Makes a board from values by "section.key". An optional section exists if any of its keys is
  /// given. Throws BoardError.
  static Board from(const Parameters& parameters);
};

}  // namespace isthmus::card
