// What the headers that stand in for HLS's make of tasks, of streams of blocks, of streams with
// several ends and of bursts. Ends with 1 and names what is wrong.
#include <ap_axi_sdata.h>
#include <hls_burst_maxi.h>
#include <hls_fence.h>
#include <hls_np_channel.h>
#include <hls_stream.h>
#include <hls_streamofblocks.h>
#include <hls_task.h>
#include <hls_vector.h>

#include <complex>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "hls_check.hpp"

namespace {

template <class Action>
bool throws(const Action& action) {
  try {
    action();
    return false;
  } catch (const std::runtime_error&) {
    return true;
  }
}

void sorted(hls::stream<int>& in, hls::stream<int>& odd, hls::stream<int>& even) {
  const int value = in.read();
  (value % 2 == 0 ? even : odd).write(value);
}
void counted(hls::stream<int>& in, hls::stream<int>& out) {
  for (int count = 0;; ++count) {  // never ends, and keeps its count
    out.write(in.read() + 1000 * count);
  }
}
void polled(hls::stream<int>& in, hls::stream<int>& out, int by) {
  int value = 0;
  if (!in.empty() && in.read_nb(value)) {
    out.write(value * by);
  }
}
void apart(hls::stream<int>& in, hls::stream<int>& odd, hls::stream<int>& even) {
  hls_thread_local hls::stream<int, 4> one;
  hls_thread_local hls::stream<int, 4> other;
  hls_thread_local hls::task last(polled, other, even, 10);  // made before what feeds it
  hls_thread_local hls::task first(sorted, in, one, other);
  hls_thread_local hls::task second(counted, one, odd);
}

void tasks() {
  static hls::stream<int> in;  // as a card's: the tasks keep them
  static hls::stream<int> odd;
  static hls::stream<int> even;
  for (int run = 0; run < 2; ++run) {
    for (int value = 0; value < 6; ++value) {
      in << value;
    }
    apart(in, odd, even);
    CHECK(odd.read() == 1 + 3000 * run && odd.read() == 1003 + 3000 * run);
    CHECK(even.read() == 0 && even.read() == 20 && !odd.empty() && odd.size() == 1);
    CHECK(even.read() == 40 && odd.read() == 2005 + 3000 * run);
  }
  CHECK(odd.empty() && even.empty() && throws([&] { odd.read(); }));
}

void endless(hls::stream<int>& out) { out.write(1); }
void emptied(hls::stream<int>& in) { in.read(); }
void endless_blocks(hls::stream_of_blocks<int[4]>& out) {
  hls::write_lock<int[4]> block(out);
  block[3] = 1;
}
void failing(hls::stream<int>& in) {
  if (in.read() == 2) {
    throw std::runtime_error("a task");
  }
}

void others_of_tasks() {
  hls::stream<int> ones;
  {
    hls::task source(endless, ones);
    int sum = 0;
    for (int n = 0; n < 100000; ++n) {
      sum += ones.read();
    }
    CHECK(sum == 100000);
  }
  {
    hls::stream_of_blocks<int[4]> blocks;
    hls::task source(endless_blocks, blocks);
    int sum = 0;
    for (int n = 0; n < 1000; ++n) {
      sum += hls::read_lock<int[4]>(blocks)[3];
    }
    CHECK(sum == 1000);
  }
  {
    hls::stream<int> round;
    hls::stream<int> never;
    hls::task source(endless, round);
    hls::task sink(emptied, round);
    const unsigned long long most = std::exchange(hls::isthmus_most_in_vain, 1U << 20U);
    CHECK(throws([&] { never.read(); }));
    hls::isthmus_most_in_vain = most;
  }
  hls::stream<int> in;
  hls::stream<int> none;
  hls::task one(failing, in);
  in << 1;
  CHECK(none.empty());
  in << 2;
  CHECK(throws([&] { static_cast<void>(none.empty()); }));
}

void doubled(hls::stream<int>& in, hls::stream<int>& out) { out.write(2 * in.read()); }

void several_ends() {
  hls::split::round_robin<int, 3> apart;
  hls::merge::round_robin<int, 3> together;
  hls::task workers[3];
  for (int n = 0; n < 3; ++n) {
    workers[n](doubled, apart.out[n], together.in[n]);
  }
  for (int value = 0; value < 8; ++value) {
    apart.in << value;
  }
  for (int value = 0; value < 8; ++value) {
    CHECK(together.out.read() == 2 * value);
  }
  hls::merge::load_balance<int, 2, 20> any;
  any.in[1] << 5;
  any.in[1] << 6;
  CHECK(any.out.read() == 5 && any.out.read() == 6);
  any.in[0] << 7;
  CHECK(any.out.read() == 7 && any.out.empty());
  hls::split::load_balance<int, 2, 6> to_any;
  to_any.in << 1;
  to_any.in << 2;
  CHECK(to_any.out[1].read() == 2 && to_any.out[0].read() == 1);
}

void blocks() {
  using Block = int[4];
  hls::stream_of_blocks<Block> between;
  hls::stream_of_blocks<Block, 8> deep;
  CHECK(between.empty());
  for (int block = 0; block < 3; ++block) {
    hls::write_lock<Block> to(between);
    hls::write_lock<Block> also(deep);
    for (int n = 0; n < 4; ++n) {
      to[n] = also[3 - n] = 10 * block + n;
    }
  }
  for (int block = 0; block < 3; ++block) {
    hls::read_lock<Block> from(between);
    hls::read_lock<Block> reversed(deep);
    const Block& whole = from;
    CHECK(from[2] == 10 * block + 2 && whole[3] == reversed[0] && reversed[3] == 10 * block);
  }
  CHECK(between.empty() && throws([&] { hls::read_lock<Block> none(between); }));
}

void first_half(hls::burst_maxi<int> memory, int* to) {
  memory.read_request(4, 2);
  memory.read_request(0, 2);
  for (int n = 0; n < 4; ++n) {
    to[n] = memory.read();
  }
}

void bursts() {
  int memory[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int got[4];
  hls::burst_maxi<int> port(memory);
  first_half(port, got);
  CHECK(got[0] == 4 && got[1] == 5 && got[2] == 0 && got[3] == 1);
  CHECK(throws([&] { port.read(); }) && throws([&] { port.write(1); }));
  port.write_request(6, 2);
  port.write(60);
  CHECK(throws([&] { port.write_response(); }));
  port.write(0x12345678, ap_uint<4>(5));
  port.write_response();
  CHECK(memory[6] == 60 && memory[7] == 0x00340078 && throws([&] { port.write_response(); }));
  port.read_request_unaligned<short>(2, 2);
  port.write_request_unaligned<short>(6, 1);
  CHECK(port.read<short>() == 0 && port.read<short>() == 1);
  port.write<short>(7);
  port.write_response();
  CHECK(memory[1] == (7 << 16 | 1));
  hls::fence(memory, port);
}

void takes_any(hls::stream<int>& any, int value) { any << value; }

void streams() {
  hls::stream<int, 16> deep("deep");
  takes_any(deep, 3);
  CHECK(deep.read() == 3);
  hls::axis<std::complex<short>, 0, 0, 0> of_a_class;
  of_a_class.data = {1, -2};
  of_a_class.last = 1;
  CHECK(of_a_class.data.imag() == -2 && of_a_class.keep == 15);
  hls::axis_data<ap_int<24>> of_bits;
  of_bits.data = -1;
  CHECK(of_bits.get_keep() == 7 && of_bits.get_data() == -1);
  hls::axis_user<13, (AXIS_ENABLE_USER | AXIS_ENABLE_LAST)> alone;
  alone.set_user(8190);
  CHECK(alone.get_user() == 8190 && alone.user.length() == 13);
  const ap_axiu<32> plain{};
  CHECK(plain.last == 0);
}

}  // namespace

int main() {
  tasks();
  others_of_tasks();
  several_ends();
  blocks();
  bursts();
  streams();
  return wrong == 0 ? 0 : 1;
}
