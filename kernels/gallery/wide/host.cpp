#include "../on_card.hpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int words = 1 << 12;
    constexpr unsigned mask = 0xF0F0F0F0;
    Card card(xclbin, "wide");
    Buffer<unsigned> in(card, 0, 16 * words, 1);
    Buffer<unsigned> out(card, 1, 16 * words, 0);
    card.kernel(in.there, out.there, mask, words).wait();
    for (int i = 0; i < 16 * words; ++i) {
      out.here[i] = (in.here[i] ^ mask) + i % 16;
    }
    return out.same();
  });
}
