// One open device: its bitstream, the memories and kernels in that, and what its transfers really
// do.
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

/// A memory that buffers can be placed in.
struct Bank {
  unsigned group = 0;
  std::string tag;
  std::uint64_t bytes = 0;
};

/// A kernel that works on buffers, and where each of them can lie; empty where one cannot.
struct BufferKernel {
  std::string name;
  std::vector<Bank> host;
  std::vector<Bank> card;
};

/// What is known of a device's contents.
struct Contents {
  xrt::uuid uuid;
  std::string file;  ///< empty where only the device knows its bitstream
  std::vector<Bank> banks;
  std::optional<Bank> host_memory;  ///< the host's, as the device reaches it
  bool has_empty_kernel = false;
  std::vector<BufferKernel> sweep_kernels;
  std::optional<BufferKernel> vadd;  ///< where all its buffers can lie on the card
};

/// Our kernel that does nothing: any other would run with arguments that nobody set.
inline constexpr const char* empty_kernel = "isthmus_empty";

/// Returns a property of the device; shims without hardware answer few queries.
template <xrt::info::device what>
std::string told(const xrt::device& device) {
  try {
    return device.get_info<what>();
  } catch (const std::exception&) {
    return {};
  }
}

/// A board by XRT's number and by its PCI address, as they belonged together when it was found.
struct BoardId {
  unsigned index = 0;
  std::string pci_address;  ///< empty where XRT does not tell

  /// `INDEX` or `INDEX@PCI-ADDRESS`; throws UsageError for any other text.
  static BoardId parse(const std::string& text);
  [[nodiscard]] std::string text() const;
};

class Session {
 public:
  /// Opens a device and looks at what it holds; programs nothing.
  explicit Session(BoardId board);

  /// Makes the device ready, with the bitstream that the options name, else the first of: the
  /// default of a mode without hardware, what is loaded, the platform's own validation bitstream.
  /// Throws UsageError or BackendError, saying what to do; BackendError, too, where XRT has given
  /// the board's number to another board since it was found.
  void prepare(const Options& options);
  /// The same, but moves no byte.
  void program(const Options& options);
  /// The same as far as it goes without touching hardware; never throws for lack of a bitstream.
  void look();

  [[nodiscard]] xrt::bo make_buffer(std::size_t bytes, const Bank& bank,
                                    xrt::bo::flags flags = xrt::bo::flags::normal) const;
  /// On host memory that somebody else owns, aligned to pages.
  [[nodiscard]] xrt::bo make_buffer(void* host, std::size_t bytes, const Bank& bank) const;
  [[nodiscard]] xrt::kernel make_kernel(const char* name) const;
  [[nodiscard]] xrt::run make_run(const char* kernel) const;
  /// Of one kernel that nobody else uses; touches none.
  [[nodiscard]] xrt::ip open_registers(const std::string& kernel) const;

  [[nodiscard]] const xrt::device& device() const { return device_; }
  [[nodiscard]] const Contents& contents() const { return contents_; }
  /// Whether what is written comes back: false where nothing is behind the API.
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

/// What XRT throws becomes what the interface promises.
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
