// Notes the last call of XRT or OpenCL that the program made, in a file that outlives the program.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus::card::clock {

/// The calls that are noted; last_call.cpp has their texts in the same order.
// 32 bits, because Python reads these numbers. NOLINTNEXTLINE(performance-enum-size)
enum class ApiCall : std::uint32_t {
  load_xclbin,
  open_kernel,
  group_id,
  make_run,
  set_value,
  set_buffer,
  start_run,
  wait_run,
  make_buffer,
  sync_to_card,
  sync_from_card,
  write_buffer,
  read_buffer,
  map_buffer,
  cl_create_buffer,
  cl_set_kernel_arg,
  cl_enqueue_task,
  cl_enqueue_ndrange,
  cl_migrate,
  cl_write_buffer,
  cl_read_buffer,
  cl_map_buffer,
  cl_finish,
  cl_wait,
  count
};

/// Notes that the program makes a call; `text` and the numbers describe its arguments.
void note_call(ApiCall call, std::string_view text, std::uint64_t first = 0,
               std::uint64_t second = 0, std::uint64_t third = 0);

/// Notes that the program reads `bytes` of a buffer on the host, or maps the buffer (0 bytes).
/// `address` is the first byte's address on the card.
void note_look(std::uint64_t address, std::uint64_t bytes);

}  // namespace isthmus::card::clock
