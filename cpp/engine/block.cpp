#include "block.hpp"

#include <algorithm>

namespace isthmus {

double seconds_since(Ticks begin) {
  return static_cast<double>(HostClock::raw_nanoseconds() - begin) * 1e-9;
}

void note_fault(Block& block, const std::string& known, const char* when) {
  block.verified = Verified::no;
  if (block.fault.empty()) {
    block.fault = std::string("data did not arrive intact in the ") + when + " repetition" +
                  (known.empty() ? "" : ": ") + known;
  }
}

std::uint64_t longer_batch(std::uint64_t batch, double took, double aim) {
  const double factor = took > 0 ? 1.1 * aim / took : 10.0;
  return std::max(batch + 1, static_cast<std::uint64_t>(static_cast<double>(batch) *
                                                        std::clamp(factor, 1.1, 10.0)));
}

}  // namespace isthmus
