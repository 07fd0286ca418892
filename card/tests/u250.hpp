// Parameters of the board for tests: like a U250 on gen3 x16.
#pragma once

#include <string>

#include "isthmus/card/board.hpp"

namespace isthmus::card {

inline Parameters u250() {
  return {{"board.name", "like a U250"},
          {"link.generation", "3"},
          {"link.lanes", "16"},
          {"link.max_payload_bytes", "256"},
          {"link.max_read_request_bytes", "512"},
          {"link.read_completion_boundary_bytes", "64"},
          {"link.address_bits", "64"},
          {"link.latency_ns", "200"},
          {"link.posted_data_credits", "1024"},
          {"link.posted_header_credits", "128"},
          {"link.nonposted_header_credits", "64"},
          {"link.credit_return_ns", "50"},
          {"link.user_bus_bytes", "64"},
          {"link.user_clock_MHz", "250"},
          {"link.straddle", "false"},
          {"host.load_ns", "170"},
          {"host.store_ns", "60"},
          {"host.write_combining_buffers", "10"},
          {"host.streaming_loads_in_flight", "10"},
          {"host.memory_latency_ns", "350"},
          {"host.memory_miss_ns", "180"},
          {"host.memory_bandwidth_Bps", "12.24e9"},
          {"host.write_retire_ns", "780"},
          {"host.cache_write_bytes", "14680064"},
          {"host.cache_read_bytes", "3145728"},
          {"host.page_bytes", "4096"},
          {"host.translation_entries", "0"},
          {"host.translation_miss_ns", "0"},
          {"host.polling_ns", "100"},
          {"host.interrupt_ns", "4000"},
          {"dma.tags", "32"},
          {"dma.descriptor_bytes", "4096"},
          {"dma.h2d_descriptor_ns", "0"},
          {"dma.d2h_descriptor_ns", "0"},
          {"dma.engines", "1"},
          {"dma.submit_ns", "3000"},
          {"dma.start_ns", "900"},
          {"dma.completion", "poll"},
          {"dma.finish_ns", "2000"},
          {"memory.banks", "4"},
          {"memory.bank_bytes", "17179869184"},
          {"memory.bandwidth_Bps", "19.2e9"},
          {"memory.latency_ns", "150"},
          {"kernel.clock_MHz", "300"},
          {"kernel.width_bytes", "64"},
          {"kernel.burst_beats", "64"},
          {"kernel.outstanding", "16"},
          {"kernel.tags", "32"},
          {"kernel.launch_ns", "90000"},
          {"kernel.block_interval_ns", "710"},
          {"kernel.copy_block_interval_ns", "1008"},
          {"kernel.write_response_ns", "1240"},
          {"kernel.host_latency_ns", "512"},
          {"registers.cycles", "8"},
          {"registers.clock_MHz", "200"},
          {"registers.width_bytes", "4"},
          {"sram.extra_cycles", "13"},
          {"sram.bytes", "8388608"},
          {"serial.clock_MHz", "156.25"},
          {"serial.width_bytes", "32"},
          {"serial.channels", "2"},
          {"serial.latency_ns", "610"},
          {"serial.hop_ns", "42"},
          {"serial.stretch", "1.0105"}};
}

/// Returns this board with some parameters changed.
inline Board u250_with(const Parameters& changes = {}) {
  Parameters parameters = u250();
  for (const auto& [key, value] : changes) {
    parameters[key] = value;
  }
  return Board::from(parameters);
}

}  // namespace isthmus::card
