#include "../on_card.hpp"
#include "total.cpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int elements = 4096;
    Card card(xclbin, "total");
    Buffer<float> in(card, 0, elements, 1);
    Buffer<float> moments(card, 1, 2, 0);
    card.kernel(in.there, moments.there, elements).wait();
    total(in.here.data(), moments.here.data(), elements);
    return moments.same();
  });
}
