// libFuzzer target: the description of a card, which the emulated card reads from an xclbin that
// may come from anywhere, and the parameters of its board.
#include "isthmus/card/process/description.hpp"

#include <sstream>

using namespace isthmus::card::process;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream text(std::string(bytes, bytes + size));
  try {
    const Description card = Description::parse(text);
    for (const MemoryRange& memory : card.memories) {
      static_cast<void>(card.memory_of(memory.address));
      static_cast<void>(card.bank_of(memory.address + memory.bytes));
    }
  } catch (const DescriptionError&) {  // refused, as it may be
  }
  try {
    std::istringstream again(text.str());
    static_cast<void>(parse_parameters(again));
  } catch (const DescriptionError&) {  // refused, as it may be
  }
  return 0;
}
