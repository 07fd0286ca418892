// Lets a program open a card by its PCIe address. XRT's emulation shim takes only the number of a
// card.
#include <cstddef>
#include <string_view>

#include "library.hpp"
#include "of_xrt.hpp"
#include "redirection.hpp"

namespace isthmus::card::clock {
namespace {

/// The first two fields of libstdc++'s std::string.
struct Text {
  const char* data;
  std::size_t size;
};

/// Returns the number of the card with this address, or -1 for any other text. XRT's emulation
/// gives card N the address 0000:00:N.0, N in hexadecimal (`xclemulation::query::device_info`).
int card_at(std::string_view address) {
  constexpr std::string_view before = "0000:00:";
  constexpr std::string_view after = ".0";
  if (page() == nullptr || !address.starts_with(before) || !address.ends_with(after)) {
    return -1;
  }
  address.remove_prefix(before.size());
  address.remove_suffix(after.size());
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::size_t most_digits = 2;
  if (address.empty() || address.size() > most_digits) {
    return -1;
  }
  std::size_t card = 0;
  for (const char character : address) {
    const std::size_t digit = digits.find(character);
    if (digit == std::string_view::npos) {
      return -1;
    }
    card = digits.size() * card + digit;
  }
  return static_cast<int>(card);
}

}  // namespace
}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

ISTHMUS_INTERPOSED void open_device(void* device, const Text* address) asm(
    "_ZN3xrt6deviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");

ISTHMUS_INTERPOSED void* open_device_of_c(const char* address) asm("xrtDeviceOpenByBDF");

/// xrt::device::device(const std::string&)
ISTHMUS_INTERPOSED void open_device(void* device, const Text* address) {
  const int card = card_at({address->data, address->size});
  if (card >= 0) {
    as<void(void*, unsigned)>(of_xrt("_ZN3xrt6deviceC1Ej"))(device, static_cast<unsigned>(card));
    return;
  }
  as<void(void*, const Text*)>(of_xrt(
      "_ZN3xrt6deviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"))(device, address);
}

ISTHMUS_INTERPOSED void* open_device_of_c(const char* address) {
  const int card = address == nullptr ? -1 : card_at(address);
  return card >= 0 ? as<void*(unsigned)>(of_xrt("xrtDeviceOpen"))(static_cast<unsigned>(card))
                   : as<void*(const char*)>(of_xrt("xrtDeviceOpenByBDF"))(address);
}
