#include "../on_card.hpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int words = 1 << 14;
    constexpr int numbers = 16 * words;
    Card card(xclbin, "banks");
    Buffer<unsigned> a(card, 0, numbers, 1);
    Buffer<unsigned> b(card, 1, numbers, 7);
    Buffer<unsigned> sum(card, 2, numbers, 0);
    card.kernel(a.there, b.there, sum.there, words).wait();
    for (int i = 0; i < numbers; ++i) {
      sum.here[i] = a.here[i] + b.here[i];
    }
    return sum.same();
  });
}
