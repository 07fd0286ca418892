#include "../on_card.hpp"

/// Starts the last kernel first: it waits for the data that the other kernels send.
int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int elements = 4096;
    const int weights[] = {4, -2, 1, 3};
    Card card(xclbin, "fetch");
    xrt::kernel fir(card.device, card.uuid, "fir");
    xrt::kernel store(card.device, card.uuid, "store");
    Buffer<int> in(card, 0, elements, 1);
    Buffer<int> out(card.device, store.group_id(1), elements, 0);

    xrt::run storing(store);  // argument 0 is a stream: the host does not set it
    storing.set_arg(1, out.there);
    storing.set_arg(2, elements);
    xrt::run filtering(fir);
    filtering.set_arg(2, elements);
    xrt::run fetching(card.kernel);
    fetching.set_arg(0, in.there);
    fetching.set_arg(2, elements);
    for (xrt::run* run : {&storing, &filtering, &fetching}) {
      run->start();
    }
    storing.wait();

    for (int i = 0; i < elements; ++i) {
      out.here[i] = 0;
      for (int tap = 0; tap < 4 && tap <= i; ++tap) {
        out.here[i] += weights[tap] * in.here[i - tap];
      }
    }
    return out.same();
  });
}
