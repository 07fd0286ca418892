// Parameters of a card, its link and its host.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace isthmus::card {

/// A missing, unknown or impossible parameter; the message names it.
class BoardError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The defaults are those of a board without a link.
struct LinkParameters {
  int generation = 1;
  int lanes = 1;
  std::int64_t max_payload_bytes = 128;
  std::int64_t max_read_request_bytes = 128;
  std::int64_t read_completion_boundary_bytes = 64;
  int address_bits = 64;
  double latency_ns = 0;  ///< one way, from the last byte's start to its use at the end
  std::int64_t acknowledge_every_bytes = 1024;
  std::int64_t acknowledge_bytes = 8;      ///< they take bytes of the other direction
  std::int64_t posted_data_credits = 8;    ///< credits of 16 B that each receiver grants
  std::int64_t posted_header_credits = 1;  ///< memory writes in flight
  std::int64_t nonposted_header_credits = 1;
  double credit_return_ns = 0;  ///< from use at the receiver to reuse, without latency
  double error_rate = 0;        ///< probability that a TLP is corrupted
  std::int64_t user_bus_bytes = 1;
  double user_clock_MHz = 1;
  bool straddle = false;  ///< a TLP may begin in the cycle in which the last TLP ends
};

struct HostParameters {
  double load_ns = 0;
  double store_ns = 0;
  double system_call_ns = 0;  ///< software around an access through the driver
  std::int64_t write_combining_bytes = 64;
  std::int64_t write_combining_buffers = 1;
  std::int64_t loads_in_flight = 1;
  std::int64_t streaming_loads_in_flight = 1;
  double memory_latency_ns = 0;
  double memory_miss_ns = 0;
  double memory_bandwidth_Bps = 1;  ///< shared by all cache misses
  double write_retire_ns = 0;
  std::int64_t cache_write_bytes = 0;
  std::int64_t cache_read_bytes = 0;
  std::int64_t page_bytes = 4096;
  std::int64_t translation_entries = 0;  ///< 0: no IOMMU
  double translation_miss_ns = 0;
  double polling_ns = 0;
  double interrupt_ns = 0;
};

struct DmaParameters {
  std::int64_t tags = 0;
  std::int64_t descriptor_bytes = 0;
  double h2d_descriptor_ns = 0;
  double d2h_descriptor_ns = 0;
  double h2d_bandwidth_Bps = 0;  ///< limit of all channels together; 0: none
  std::int64_t engines = 0;      ///< channels per direction
  double submit_ns = 0;
  double start_ns = 0;
  bool interrupt = false;  ///< completion by interrupt; else by polling
  double finish_ns = 0;
};

struct MemoryParameters {
  std::int64_t banks = 0;
  std::int64_t bank_bytes = 0;
  double bandwidth_Bps = 0;      ///< rate of each bank
  double ddr_bandwidth_Bps = 0;  ///< rate of each DDR bank behind HBM; 0: as the other banks
  double latency_ns = 0;
  double refresh_interval_ns = 0;  ///< between refreshes, 0: none
  double refresh_ns = 0;           ///< duration of a refresh, in which the bank is busy
  double write_to_read_ns = 0;     ///< idle time of the data lines between write and read
  double read_to_write_ns = 0;     ///< idle time between read and write
  bool hbm = false;                ///< high-bandwidth memory, with separate names in xclbins
};

struct KernelParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;
  std::int64_t burst_beats = 0;
  std::int64_t outstanding = 0;       ///< bursts in flight in each direction
  std::int64_t write_gap_cycles = 0;  ///< pause of a port after a burst to card memory
  std::int64_t tags = 0;
  bool reaches_host = true;  ///< whether kernels access host memory
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
  std::int64_t extra_cycles = 0;  ///< cycles beyond those of a register
  std::int64_t bytes = 0;
};

struct SerialParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;  ///< width of a channel
  std::int64_t channels = 0;     ///< number in each direction
  double latency_ns = 0;
  double hop_ns = 0;  ///< added between boards
  double stretch = 1;
  double start_ns = 0;       ///< start and end of the kernels, once in a timed loop
  double barrier_ns = 0;     ///< delay of one card for each stage of the last barrier
  bool in_turn = true;       ///< a kernel first sends, then receives; else both at once
  std::int64_t sharing = 1;  ///< links on one wire
  std::int64_t depth = 512;  ///< flits that a channel holds
};

/// Software around an offload, on the host of the board.
struct OffloadParameters {
  double initialise_ns = 0;
  double program_ns = 0;   ///< loading of a bitstream; 0: it is loaded
  double allocate_ns = 0;  ///< allocation of all vectors, without their pages
  double align_ns = 0;     ///< added if all vectors begin at a page
  double fault_ns = 0;     ///< first touch of a page
  double pin_ns = 0;       ///< pinning of a page
  double copy_Bps = 0;     ///< the driver's copy of data that begin within a page
  double populate_ns = 0;  ///< writing an element of both operands
  double arguments_ns = 0;
  double enqueue_ns = 0;
  double kernel_ns = 0;  ///< least time of an element in the kernel
  double add_ns = 0;     ///< adding an element on the host
};

/// Software between a program and its card that the other sections leave out.
struct DriverParameters {
  double launch_ns = 0;
  double first_launch_ns = 0;     ///< added to a program's first launch
  double launch_interval_ns = 0;  ///< between starts of kernels that wait in the runtime's queue
  double register_ns = 0;
};

/// Time of a buffer's sync, on a board whose host and kernels share one memory.
struct SyncParameters {
  double call_ns = 0;
  double bandwidth_Bps = 0;
};

/// Faults that the card makes on purpose, so that a test sees whether the check finds them.
struct FaultParameters {
  /// Number of the completion that gets a wrong bit, from 1 in each transfer, or in each sweep of a
  /// kernel over host memory; 0: none.
  std::int64_t flip_completion = 0;
  std::int64_t drop_write = 0;    ///< number of the write to host memory that gets lost
  std::int64_t flip_message = 0;  ///< number of the message on a ring's first link; 0: none
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
  std::optional<SyncParameters> sync;  ///< if set, the board has no link
  DriverParameters driver;

  /// Makes a board of "section.key" -> value. An optional section exists if it has a key. Throws
  /// BoardError.
  static Board from(const Parameters& parameters);
};

}  // namespace isthmus::card
