// Preloaded before libxrt_coreutil: its only device, which the noop shim opens, is seen as several
// boards. STAND_IN_BOARDS has a digit for each board, in the order of XRT's numbers; the digit is
// part of the board's PCI address. STAND_IN_LOG is a file that gets a line for each board that is
// opened or programmed: the process, what it did, and the board's digit.
#include <dlfcn.h>
#include <unistd.h>

#include <any>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#if __has_include(<xrt/experimental/xrt_xclbin.h>)
#include <xrt/experimental/xrt_system.h>
#include <xrt/experimental/xrt_xclbin.h>
#else
#include <experimental/xrt_system.h>
#include <experimental/xrt_xclbin.h>
#endif
#include <xrt/xrt_device.h>

namespace {

/// The board that this process opened last.
char current = '0';

std::string boards() {
  const char* chosen = std::getenv("STAND_IN_BOARDS");
  return chosen != nullptr ? chosen : "0123";
}

void log(const char* what) {
  const char* path = std::getenv("STAND_IN_LOG");
  if (std::FILE* file = path != nullptr ? std::fopen(path, "a") : nullptr; file != nullptr) {
    std::fprintf(file, "%d %s %c\n", getpid(), what, current);
    std::fclose(file);
  }
}

/// The function of the installed library. Its handle stays open: the library is in use anyway.
template <class Function>
Function installed(const char* symbol) {
  void* library = dlopen("libxrt_coreutil.so.2", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(library != nullptr ? dlsym(library, symbol) : nullptr);
}

}  // namespace

namespace xrt {

unsigned int system::enumerate_devices() { return static_cast<unsigned int>(boards().size()); }

device::device(unsigned int index) {
  current = boards().at(index);
  log("opens");
  installed<void (*)(device*, unsigned int)>("_ZN3xrt6deviceC1Ej")(this, 0);
}

uuid device::load_xclbin(const xclbin& image) {
  log("programs");
  return installed<uuid (*)(device*, const xclbin&)>("_ZN3xrt6device11load_xclbinERKNS_6xclbinE")(
      this, image);
}

std::any device::get_info_std(info::device what, const detail::abi&) const {
  if (what == info::device::bdf) {
    return std::string("0000:") + current + "b:00.1";
  }
  if (what == info::device::name) {
    return std::string("xilinx_u250_gen3x16_xdma_shell_4_1");
  }
  throw std::runtime_error("a stand-in does not know");
}

}  // namespace xrt
