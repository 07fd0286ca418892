#include "../on_card.hpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int bytes = 10000;
    constexpr unsigned above_at = 0x30;  // register, see isthmus xclbin dump histogram.xclbin
    Card card(xclbin, "histogram", xrt::kernel::cu_access_mode::exclusive);
    Buffer<unsigned char> in(card, 0, bytes, 7);
    Buffer<unsigned> counts(card, 1, 256, 0);
    xrt::run run(card.kernel);
    run.set_arg(0, in.there);
    run.set_arg(1, counts.there);
    run.set_arg(2, bytes);
    run.start();
    run.wait();
    std::fill(counts.here.begin(), counts.here.end(), 0);
    unsigned above = 0;
    for (const unsigned char value : in.here) {
      ++counts.here[value];
      above += value >= 128 ? 1 : 0;
    }
    return counts.same() && card.kernel.read_register(above_at) == above;
  });
}
