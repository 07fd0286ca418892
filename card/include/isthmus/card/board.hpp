// A card and its place in a host, in numbers.
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

/// The values that stand here are those of a board without a link, which nothing crosses.
struct LinkParameters {
  int generation = 1;
  int lanes = 1;
  std::int64_t max_payload_bytes = 128;
  std::int64_t max_read_request_bytes = 128;
  std::int64_t read_completion_boundary_bytes = 64;
  int address_bits = 64;
  double latency_ns = 0;  ///< one way: last byte leaves one end, usable at the other
  std::int64_t acknowledge_every_bytes = 1024;
  std::int64_t acknowledge_bytes = 8;      ///< charged to the opposite direction
  std::int64_t posted_data_credits = 8;    ///< of 16 B, granted by each receiver
  std::int64_t posted_header_credits = 1;  ///< memory writes in flight
  std::int64_t nonposted_header_credits = 1;
  double credit_return_ns = 0;  ///< consumed at the receiver, usable again, beyond latency
  double error_rate = 0;        ///< probability that a TLP is corrupted
  std::int64_t user_bus_bytes = 1;
  double user_clock_MHz = 1;
  bool straddle = false;  ///< a TLP may begin where the one before ends within a cycle
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
  double memory_bandwidth_Bps = 1;  ///< shared by all that misses the cache
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
  double h2d_bandwidth_Bps = 0;  ///< of all channels together, 0: no limit
  std::int64_t engines = 0;      ///< channels per direction
  double submit_ns = 0;
  double start_ns = 0;
  bool interrupt = false;  ///< how completion is seen; else by polling
  double finish_ns = 0;
};

struct MemoryParameters {
  std::int64_t banks = 0;
  std::int64_t bank_bytes = 0;
  double bandwidth_Bps = 0;      ///< of each bank
  double ddr_bandwidth_Bps = 0;  ///< of each DDR bank behind HBM; 0: as the others
  double latency_ns = 0;
  double refresh_interval_ns = 0;  ///< between refreshes, 0: none
  double refresh_ns = 0;           ///< in which the bank does nothing else
  double write_to_read_ns = 0;     ///< its data lines rest where a kernel's read follows a write
  double read_to_write_ns = 0;     ///< the same the other way
  bool hbm = false;                ///< high-bandwidth memory, which xclbins name apart
};

struct KernelParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;
  std::int64_t burst_beats = 0;
  std::int64_t outstanding = 0;       ///< bursts, each way
  std::int64_t write_gap_cycles = 0;  ///< that a port rests after a burst written to card memory
  std::int64_t tags = 0;
  bool reaches_host = true;  ///< host memory, across the link
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
  std::int64_t extra_cycles = 0;  ///< beyond a register's
  std::int64_t bytes = 0;
};

struct SerialParameters {
  double clock_MHz = 0;
  std::int64_t width_bytes = 0;  ///< of a channel
  std::int64_t channels = 0;     ///< each direction
  double latency_ns = 0;
  double hop_ns = 0;  ///< added between boards
  double stretch = 1;
  double start_ns = 0;       ///< kernels started and their end seen, once in a timed loop
  double barrier_ns = 0;     ///< by which one card is late, for each stage of the barrier before
  bool in_turn = true;       ///< a kernel sends, then takes; else both at once
  std::int64_t sharing = 1;  ///< links on one wire
  std::int64_t depth = 512;  ///< flits that a channel holds
};

/// Software around an offload, on the host of the board.
struct OffloadParameters {
  double initialise_ns = 0;
  double program_ns = 0;   ///< the device; 0: it is programmed already
  double allocate_ns = 0;  ///< all vectors, without their pages
  double align_ns = 0;     ///< added where all of them begin at a page
  double fault_ns = 0;     ///< first touch of a page
  double pin_ns = 0;       ///< a page for the device, in place
  double copy_Bps = 0;     ///< the driver's copy of what does not begin at a page
  double populate_ns = 0;  ///< an element of both operands
  double arguments_ns = 0;
  double enqueue_ns = 0;
  double kernel_ns = 0;  ///< an element, at least
  double add_ns = 0;     ///< an element, added by the host
};

/// Software between a program and its card that the other sections leave out.
struct DriverParameters {
  double launch_ns = 0;
  double first_launch_ns = 0;     ///< added to a program's first
  double launch_interval_ns = 0;  ///< between starts of kernels that wait in the runtime's queue
  double register_ns = 0;
};

/// A board whose host and kernels share one memory: a sync of a buffer takes this.
struct SyncParameters {
  double call_ns = 0;
  double bandwidth_Bps = 0;
};

/// What the card does wrong, so that a test can see that it is found.
struct FaultParameters {
  /// Completion that has a wrong bit: of each transfer, or of each sweep of a kernel over host
  /// memory, counted from 1; 0: none.
  std::int64_t flip_completion = 0;
  std::int64_t drop_write = 0;    ///< write to host memory that is lost; counted in the same way
  std::int64_t flip_message = 0;  ///< on the first link of a ring, counted from 1; 0: none
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
  std::optional<SyncParameters> sync;  ///< there is no link then
  DriverParameters driver;

  /// From "section.key" -> value. An optional section is there when any of its keys is.
  /// Throws BoardError.
  static Board from(const Parameters& parameters);
};

}  // namespace isthmus::card
