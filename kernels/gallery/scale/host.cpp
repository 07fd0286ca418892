#include "../on_card.hpp"
#include "scale.cpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int elements = 4096;
    Card card(xclbin, "scale");
    Buffer<int> in(card, 0, elements, 1);
    Buffer<int> out(card, 1, elements, 0);
    card.kernel(in.there, out.there, -3, elements).wait();
    scale(in.here.data(), out.here.data(), -3, elements);
    return out.same();
  });
}
