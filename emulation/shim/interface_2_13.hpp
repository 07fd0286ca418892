// What libxrt_coreutil of XRT 2.13 and a shim have in common: the order of their virtual functions,
// and the structures that pass between them. Declared here, for no package has XRT's headers of it.
//
// A class's table of virtual functions is all that XRT relies on, so that the order below, and the
// number of functions, are those of `core/common/ishim.h`, `device.h`, `system.h` and `query.h` in
// the sources of the tag 202210.2.13.466, built with XRT_ENABLE_AIE as distributions do. Functions
// that this shim lacks have neither their parameters nor their results: each throws.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <typeinfo>
#include <utility>
#include <vector>

struct axlf;

namespace xrt {

/// UUID of a bitstream; zeros: the loaded bitstream.
class uuid {
  std::array<unsigned char, 16> bytes_{};
};

}  // namespace xrt

// The functions and their results are XRT's choice.
// NOLINTBEGIN(modernize-use-nodiscard,performance-enum-size,*-virtual-class-destructor)
namespace xrt_core {

using Handle = void*;
using Index = unsigned;

[[noreturn]] inline void lacking(const char* what) {
  throw std::system_error(EOPNOTSUPP, std::generic_category(),
                          std::string("not modelled by the emulated card: ") + what);
}

/// `xclBOProperties` of `xrt.h`.
struct BufferProperties {
  std::uint32_t handle;
  std::uint32_t flags;
  std::uint64_t size;
  std::uint64_t address;
  int reserved;
};

class device;

namespace query {

/// Numbers of the queries that this shim answers.
enum class key_type : int {
  pcie_bdf = 8,
  rom_vbnv = 12,
  m2m = 60,
  nodma = 62,
  clock_freqs_mhz = 64,
  kds_numcdmas = 138,
  interface_uuids = 156
};

class __attribute__((visibility("default"))) exception : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class __attribute__((visibility("default"))) no_such_key : public exception {
 public:
  explicit no_such_key(key_type key)
      : exception("not modelled: query no. " + std::to_string(static_cast<int>(key))), key_(key) {}

 private:
  key_type key_;
};

/// An answer of any type, as boost::any lays it out: a pointer to an object with these virtual
/// functions, behind which the answer lies.
class Answer {
 public:
  template <class Type>
  explicit Answer(Type value) : content_(new Holder<Type>(std::move(value))) {}
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;
  Answer(Answer&& other) noexcept : content_(std::exchange(other.content_, nullptr)) {}
  Answer& operator=(Answer&&) = delete;
  ~Answer() { delete content_; }

 private:
  class Content {
   public:
    Content() = default;
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    virtual ~Content() = default;
    [[nodiscard]] virtual const std::type_info& type() const = 0;
    [[nodiscard]] virtual Content* clone() const = 0;
  };
  template <class Type>
  class Holder : public Content {
   public:
    explicit Holder(Type value) : value_(std::move(value)) {}
    [[nodiscard]] const std::type_info& type() const override { return typeid(Type); }
    [[nodiscard]] Content* clone() const override { return new Holder(value_); }

   private:
    Type value_;
  };
  Content* content_;
};

class request {
 public:
  request() = default;
  request(const request&) = delete;
  request& operator=(const request&) = delete;
  virtual ~request() = default;

  virtual Answer get(const device* of) const = 0;
  virtual void get_with_one() const { lacking("a query with an argument"); }
  virtual void get_with_two() const { lacking("a query with arguments"); }
  virtual void get_modified() const { lacking("a query with a modifier"); }
  virtual void get_with_three() const { lacking("a query with arguments"); }
  virtual void put() const { lacking("a query that changes the card"); }
};

}  // namespace query

/// What XRT asks of a card that is open.
class ishim {
 public:
  virtual void close_device() = 0;
  virtual void open_context(const unsigned char* uuid, unsigned unit, bool shared) = 0;
  virtual void close_context(const unsigned char* uuid, unsigned unit) = 0;
  virtual unsigned alloc_bo(std::size_t size, unsigned flags) = 0;
  virtual unsigned alloc_user_bo(void* user, std::size_t size, unsigned flags) = 0;
  virtual void free_bo(unsigned bo) = 0;
  virtual int export_bo(unsigned bo) const = 0;
  virtual unsigned import_bo(int file) = 0;
  virtual void close_export_handle(int file) = 0;
  virtual unsigned import_bo_of(int /*process*/, int /*file*/) { lacking("buffers of processes"); }
  virtual void copy_bo(unsigned to, unsigned from, std::size_t size, std::size_t to_offset,
                       std::size_t from_offset) = 0;
  virtual void sync_bo(unsigned bo, int direction, std::size_t size, std::size_t offset) = 0;
  virtual void* map_bo(unsigned bo, bool write) = 0;
  virtual void unmap_bo(unsigned bo, void* address) = 0;
  virtual void get_bo_properties(unsigned bo, BufferProperties* to) const = 0;
  virtual void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const = 0;
  virtual void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) = 0;
  virtual void xread(int space, std::uint64_t address, void* to, std::size_t size) const = 0;
  virtual void xwrite(int space, std::uint64_t address, const void* from, std::size_t size) = 0;
  virtual void unmgd_pread(void* to, std::size_t size, std::uint64_t address) = 0;
  virtual void unmgd_pwrite(const void* from, std::size_t size, std::uint64_t address) = 0;
  virtual void exec_buf(unsigned bo) = 0;
  virtual int exec_wait(int milliseconds) const = 0;
  virtual void load_axlf(const axlf* xclbin) = 0;
  virtual void reclock(const std::uint16_t* megahertz) = 0;
  virtual void p2p_enable(bool force) = 0;
  virtual void p2p_disable(bool force) = 0;
  virtual void set_cma(bool /*enable*/, std::uint64_t /*size*/) { lacking("reserved host memory"); }
  virtual void update_scheduler_status() {}
  virtual void user_reset(int /*kind*/) { lacking("a reset"); }
  virtual void open_ip_interrupt_notify() { lacking("interrupts"); }
  virtual void close_ip_interrupt_notify() { lacking("interrupts"); }
  virtual void enable_ip_interrupt() { lacking("interrupts"); }
  virtual void disable_ip_interrupt() { lacking("interrupts"); }
  virtual void wait_ip_interrupt() { lacking("interrupts"); }
  virtual void wait_ip_interrupt_for() { lacking("interrupts"); }
  virtual void open_graph() { lacking("AI engines"); }
  virtual void close_graph() { lacking("AI engines"); }
  virtual void reset_graph() { lacking("AI engines"); }
  virtual void get_timestamp() { lacking("AI engines"); }
  virtual void run_graph() { lacking("AI engines"); }
  virtual void wait_graph_done() { lacking("AI engines"); }
  virtual void wait_graph() { lacking("AI engines"); }
  virtual void suspend_graph() { lacking("AI engines"); }
  virtual void resume_graph() { lacking("AI engines"); }
  virtual void end_graph() { lacking("AI engines"); }
  virtual void update_graph_rtp() { lacking("AI engines"); }
  virtual void read_graph_rtp() { lacking("AI engines"); }
  virtual void open_aie_context() { lacking("AI engines"); }
  virtual void sync_aie_bo() { lacking("AI engines"); }
  virtual void reset_aie() { lacking("AI engines"); }
  virtual void sync_aie_bo_nb() { lacking("AI engines"); }
  virtual void wait_gmio() { lacking("AI engines"); }
  virtual void start_profiling() { lacking("AI engines"); }
  virtual void read_profiling() { lacking("AI engines"); }
  virtual void stop_profiling() { lacking("AI engines"); }
  virtual void load_axlf_meta() { lacking("AI engines"); }
};

/// XRT's part of a card. Its constructor, its destructor and what has no body are XRT's.
class __attribute__((visibility("default"))) device : public ishim {
 public:
  explicit device(Index index);
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device();

  virtual Handle get_device_handle() const = 0;
  virtual Handle get_mgmt_handle() const { return nullptr; }
  virtual Handle get_user_handle() const { return get_device_handle(); }
  virtual bool is_userpf() const { return true; }
  virtual const query::request& lookup_query(query::key_type key) const = 0;
  virtual void get_info(void* /*tree*/) const {}
  virtual void read() const { lacking("memory by its device file"); }
  virtual void write() const { lacking("memory by its device file"); }
  virtual void reset() const { lacking("a reset"); }
  virtual void xclmgmt_load_xclbin() const { lacking("management"); }
  virtual int open(const std::string& /*part*/, int /*flags*/) const { lacking("parts as files"); }
  virtual void close(int /*file*/) const { lacking("parts as files"); }

  /// Tells XRT's part of the bitstream that is loaded.
  void register_axlf(const axlf* xclbin);
  /// The addresses of units, by XRT's index.
  const std::vector<std::uint64_t>& get_cus(const xrt::uuid& bitstream) const;

 private:
  std::array<std::byte, 104> of_xrt_;
};
static_assert(sizeof(device) == 112);

/// All cards. The constructor, which is XRT's, tells XRT of the shim.
class __attribute__((visibility("default"))) system {
 public:
  system();
  system(const system&) = delete;
  system& operator=(const system&) = delete;

  virtual void get_xrt_info(void* /*tree*/) {}
  virtual void get_os_info(void* /*tree*/) {}
  virtual void get_devices(void* /*tree*/) const {}
  virtual Index get_device_id(const std::string& name) const;
  virtual std::pair<Index, Index> get_total_devices(bool user) const = 0;
  virtual std::shared_ptr<device> open_userpf_device(Index index) const = 0;
  virtual std::shared_ptr<device> make_userpf_device(Handle handle, Index index) const = 0;
  virtual std::shared_ptr<device> make_mgmtpf_device(Index index) const = 0;
  virtual int get_monitor_access_type() const { return 0; }
  virtual void program_plp() const { lacking("platforms"); }
  virtual void mem_read() const { lacking("memory by management"); }
  virtual void mem_write() const { lacking("memory by management"); }

 protected:
  ~system() = default;
};

std::shared_ptr<device> get_userpf_device(Handle handle);
std::shared_ptr<device> get_userpf_device(Handle handle, Index index);

}  // namespace xrt_core
// NOLINTEND(modernize-use-nodiscard,performance-enum-size,*-virtual-class-destructor)

// Flags of buffers (`xrt_mem.h`); the lowest 24 bits are the bank's number.
inline constexpr unsigned flag_bank = 0xff'ffff;
inline constexpr unsigned flag_host_only = 1U << 29U;
inline constexpr unsigned flag_p2p = 1U << 30U;
inline constexpr unsigned flag_command = 1U << 31U;
inline constexpr int to_device = 0;     ///< xclBOSyncDirection
inline constexpr int space_memory = 1;  ///< xclAddressSpace

/// `xclDeviceInfo2` of `xrt.h`, as far as this shim tells of a card.
struct DeviceInfo {
  unsigned magic;
  std::array<char, 256> name;
  unsigned short major_version;
  unsigned short minor_version;
  std::array<unsigned short, 5> of_pcie;
  std::size_t memory_bytes;
  std::size_t alignment;
  std::size_t free_bytes;
  std::size_t least_transfer;
  unsigned short banks;
  std::array<unsigned short, 4> megahertz;
  unsigned short lanes;
  unsigned short link_speed;
  unsigned short dma_threads;
  std::array<std::byte, 408> more;
};
static_assert(offsetof(DeviceInfo, dma_threads) == 326 && sizeof(DeviceInfo) == 736);

/// Sections of an xclbin (`xclbin.h`): the header has their number, and their list follows it.
inline constexpr std::size_t uuid_offset = 416;
inline constexpr std::size_t section_count_offset = 448;
inline constexpr std::size_t sections_offset = 456;
struct Section {
  std::uint32_t kind;
  std::array<char, 16> name;
  std::uint64_t offset;
  std::uint64_t size;
};
inline constexpr std::uint32_t section_bitstream = 0;
inline constexpr std::uint32_t section_memories = 6;
inline constexpr std::uint32_t section_memory_groups = 26;

struct MemoryBank {
  std::uint8_t type;
  std::uint8_t used;
  std::array<std::byte, 6> unused;
  std::uint64_t kibibytes;
  std::uint64_t address;
  std::array<char, 16> name;
};

// The packet of a command (`ert.h`).
struct Packet {
  std::uint32_t header;
  std::array<std::uint32_t, 1> words;  ///< `words` of the header: masks of units, then registers
};
inline constexpr std::uint32_t opcode_start = 0;
inline constexpr std::uint32_t state_mask = 0xf;
inline constexpr std::uint32_t state_completed = 4;
constexpr std::uint32_t opcode_of(std::uint32_t header) { return header >> 23U & 0x1fU; }
constexpr std::uint32_t words_of(std::uint32_t header) { return header >> 12U & 0x7ffU; }
constexpr std::uint32_t further_masks_of(std::uint32_t header) { return header >> 10U & 3U; }
