// One open device: its bitstream, the bitstream's memories and kernels, and how its transfers
// behave.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "compat.hpp"
#include "isthmus/backend.hpp"
#include "isthmus/buffer.hpp"

namespace isthmus::xrt_native {

/// A memory of the bitstream in which buffers can be allocated.
struct Bank {
  unsigned group = 0;
  std::string tag;
  std::uint64_t bytes = 0;
};

/// A kernel whose arguments are buffers, and the memory of each; empty if a buffer has none.
struct BufferKernel {
  std::string name;
  std::vector<Bank> host;
  std::vector<Bank> card;
};

/// What is known of a device's bitstream.
struct Contents {
  xrt::uuid uuid;
  std::string file;  ///< path of the bitstream; empty if only the device knows it
  std::vector<Bank> banks;
  std::optional<Bank> host_memory;  ///< host memory that the device can access
  bool has_empty_kernel = false;
  std::vector<BufferKernel> sweep_kernels;
  /// The vector addition, if all its buffers can lie on the card.
  std::optional<BufferKernel> vadd;
};

/// The only kernel that may start without arguments: Isthmus' own, which does nothing.
inline constexpr const char* empty_kernel = "isthmus_empty";

/// Returns a property of the device, or an empty value: shims without hardware answer few queries.
template <xrt::info::device what>
std::string property_of(const xrt::device& device) {
  try {
    return device.get_info<what>();
  } catch (const std::exception&) {
    return {};
  }
}

/// A board's number in XRT and its PCI address at the same moment, so that a renumbering is
/// noticed.
struct BoardId {
  unsigned index = 0;
  std::string pci_address;  ///< empty if XRT does not say

  /// Parses `INDEX` or `INDEX@PCI-ADDRESS`; throws UsageError for any other text.
  static BoardId parse(const std::string& text);
  [[nodiscard]] std::string text() const;
};

class Session {
 public:
  /// Opens a device; programs nothing.
  explicit Session(BoardId board);

  /// Makes the device ready with the bitstream that the options name. Otherwise it takes the first
  /// of: the default of a mode without hardware, the loaded bitstream, the platform's validation
  /// bitstream. Throws UsageError, or BackendError with the remedy, also if XRT has renumbered the
  /// board.
  void prepare(const Options& options);
  /// Does the same as `prepare` but moves no byte.
  void program(const Options& options);
  /// Finds out what is possible without access to hardware, for a list of devices; a missing
  /// bitstream is no error.
  void look();

  [[nodiscard]] xrt::bo make_buffer(std::size_t bytes, const Bank& bank,
                                    xrt::bo::flags flags = xrt::bo::flags::normal) const;
  /// Creates a buffer object on page-aligned host memory, which the caller owns.
  [[nodiscard]] xrt::bo make_buffer(void* host, std::size_t bytes, const Bank& bank) const;
  [[nodiscard]] xrt::kernel make_kernel(const char* name) const;
  [[nodiscard]] xrt::run make_run(const char* kernel) const;
  /// Opens the registers of a kernel that nobody uses, without access to any.
  [[nodiscard]] xrt::ip open_registers(const std::string& kernel) const;

  [[nodiscard]] const xrt::device& device() const { return device_; }
  [[nodiscard]] const Contents& contents() const { return contents_; }
  /// Returns whether written data can be read back, which is false if the API has no device.
  [[nodiscard]] bool keeps_data() const { return keeps_data_; }
  /// Returns whether a transfer can start without a wait for its end.
  [[nodiscard]] bool starts_transfers() const { return starts_transfers_; }

 private:
  void use(const std::string& file, bool may_program);
  void use_loaded();
  void probe();

  BoardId board_;
  xrt::device device_;
  Contents contents_;
  bool keeps_data_ = true;
  bool starts_transfers_ = false;
};

/// Executes `action`; exceptions of XRT become BackendError, those of Isthmus pass on.
template <class Action>
auto through_xrt(const Action& action) {
  try {
    return action();
  } catch (const UsageError&) {
    throw;
  } catch (const BackendError&) {
    throw;
  } catch (const MemoryLimitError&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw BackendError(std::string("XRT: ") + error.what());
  }
}

/// Returns the name of XRT's emulation mode in use; empty on hardware.
std::string emulation_mode();

}  // namespace isthmus::xrt_native
