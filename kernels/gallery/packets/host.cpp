#include "../on_card.hpp"

/// Starts the last kernel first. Only the first kernel gets the number of words.
int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int elements = 4096;
    Card card(xclbin, "source");
    xrt::kernel twice(card.device, card.uuid, "twice");
    xrt::kernel sink(card.device, card.uuid, "sink");
    Buffer<int> in(card, 0, elements, 1);
    Buffer<int> out(card.device, sink.group_id(1), elements + 1, 0);

    xrt::run receiving(sink);  // argument 0 is a stream: the host does not set it
    receiving.set_arg(1, out.there);
    xrt::run doubling(twice);
    xrt::run sending(card.kernel);
    sending.set_arg(0, in.there);
    sending.set_arg(2, elements);
    for (xrt::run* run : {&receiving, &doubling, &sending}) {
      run->start();
    }
    for (xrt::run* run : {&receiving, &doubling, &sending}) {
      run->wait();
    }

    for (int i = 0; i < elements; ++i) {
      out.here[i] = 2 * in.here[i];
    }
    return out.same();  // also checks that the element after the last word has not changed
  });
}
