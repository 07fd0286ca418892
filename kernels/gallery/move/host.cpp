#include "../on_card.hpp"
#include "move.cpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int words = 1 << 14;
    constexpr int numbers = words * sizeof(Word) / sizeof(int);
    Card card(xclbin, "move");
    Buffer<int> in(card, 0, numbers, 1);
    Buffer<int> out(card, 1, numbers, 0);
    card.kernel(in.there, out.there, words).wait();
    out.here = in.here;
    return out.same();
  });
}
