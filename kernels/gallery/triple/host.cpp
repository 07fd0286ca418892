#include "../on_card.hpp"

int main(int count, char** given) {
  return judged(count, given, [](const char* xclbin) {
    constexpr int elements = 1024;
    Card card(xclbin, "triple");
    Buffer<int> in(card, 0, elements, -100);
    Buffer<int> out(card, 1, elements, 0);
    for (const int n : {elements, 1, 0, elements - 1}) {
      card.kernel(in.there, out.there, n).wait();
    }
    for (int i = 0; i < elements; ++i) {
      out.here[i] = 3 * in.here[i];
    }
    return out.same();
  });
}
