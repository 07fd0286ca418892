// One open device: its bitstream, the memories and kernels in it, and the real behaviour of its
// transfers.
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

/// A memory for buffers.
struct Bank {
  unsigned group = 0;
  std::string tag;
  std::uint64_t bytes = 0;
};

/// A kernel with buffers, and the memory of each buffer; empty if a buffer has none.
struct BufferKernel {
  std::string name;
  std::vector<Bank> host;
  std::vector<Bank> card;
};

/// Known contents of a device.
struct Contents {
  xrt::uuid uuid;
  std::string file;  ///< empty if only the device knows its bitstream
  std::vector<Bank> banks;
  std::optional<Bank> host_memory;  ///< host memory that the device accesses
  bool has_empty_kernel = false;
  std::vector<BufferKernel> sweep_kernels;
  std::optional<BufferKernel> vadd;  ///< if all its buffers can be on the card
};

/// Our kernel without work: any other kernel would run with unset arguments.
inline constexpr const char* empty_kernel = "isthmus_empty";

/// Returns a property of the device; shims without hardware answer few queries.
template <xrt::info::device what>
std::string property_of(const xrt::device& device) {
  try {
    return device.get_info<what>();
  } catch (const std::exception&) {
    return {};
  }
}

/// A board by XRT's number and by its PCI address, as found together.
struct BoardId {
  unsigned index = 0;
  std::string pci_address;  ///< empty if XRT does not tell

  /// `INDEX` or `INDEX@PCI-ADDRESS`; throws UsageError for any other text.
  static BoardId parse(const std::string& text);
  [[nodiscard]] std::string text() const;
};

class Session {
 public:
  /// Opens a device and reads its contents; programs nothing.
  explicit Session(BoardId board);

  /// Prepares the device with the bitstream that the options name, else the first of: the default
  /// of a mode without hardware, the loaded bitstream, the platform's validation bitstream. Throws
  /// UsageError or BackendError with the remedy; also BackendError if XRT has renumbered the board
  /// since it was found.
  void prepare(const Options& options);
  /// Prepares the device without moving a byte.
  void program(const Options& options);
  /// Prepares the device as far as possible without hardware access; never throws for lack of a
  /// bitstream.
  void look();

  [[nodiscard]] xrt::bo make_buffer(std::size_t bytes, const Bank& bank,
                                    xrt::bo::flags flags = xrt::bo::flags::normal) const;
  /// Creates a buffer on page-aligned host memory of another owner.
  [[nodiscard]] xrt::bo make_buffer(void* host, std::size_t bytes, const Bank& bank) const;
  [[nodiscard]] xrt::kernel make_kernel(const char* name) const;
  [[nodiscard]] xrt::run make_run(const char* kernel) const;
  /// Opens the registers of one kernel that is not in use; accesses none.
  [[nodiscard]] xrt::ip open_registers(const std::string& kernel) const;

  [[nodiscard]] const xrt::device& device() const { return device_; }
  [[nodiscard]] const Contents& contents() const { return contents_; }
  /// Whether written data can be read back; false if the API has no device.
  [[nodiscard]] bool keeps_data() const { return keeps_data_; }
  /// Whether a transfer can be begun without waiting for it.
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

/// Converts XRT's exceptions to those of the interface.
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

/// Name of the vendor's emulation mode; empty on hardware.
std::string emulation_mode();

}  // namespace isthmus::xrt_native
