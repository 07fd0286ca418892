// What libxrt_coreutil and a shim of XRT 2.ISTHMUS_XRT have in common: the order of their virtual
// functions, and the structures that pass between them. They are declared here, because no package
// contains these headers of XRT.
//
// XRT relies only on the tables of virtual functions. So the order and the number of the functions
// below are those of `core/common/ishim.h`, `device.h`, `system.h`, `query.h` and
// `shim/*_handle.h` in XRT's sources. The tags are 202210.2.13.466 (built with XRT_ENABLE_AIE, as
// distributions do), 202320.2.16.204, 202420.2.18.179 and 202610.2.23.244. Functions that this shim
// lacks are declared without parameters and results: each throws.
#pragma once

#include <any>
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

#define ISTHMUS_BUFFERS_ARE_OBJECTS (ISTHMUS_XRT >= 16)

/// `xclDeviceInfo2` of `xrt.h`, with the fields that this shim sets.
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

namespace xrt {

/// UUID of a bitstream; zeros mean the loaded bitstream.
class uuid {
  std::array<unsigned char, 16> bytes_{};
};

}  // namespace xrt

// The functions and their results are XRT's choice.
// NOLINTBEGIN(modernize-use-nodiscard,performance-enum-size,*-virtual-class-destructor)
namespace xrt_core {

using Handle = void*;
using Index = unsigned;
using Place = std::tuple<std::uint16_t, std::uint16_t, std::uint16_t, std::uint16_t>;

[[noreturn]] void lacking(const char* what);

/// `xclBOProperties` of `xrt.h`.
struct BufferProperties {
  std::uint32_t handle;
  std::uint32_t flags;
  std::uint64_t size;
  std::uint64_t address;
  int reserved;
};

class device;

#if ISTHMUS_BUFFERS_ARE_OBJECTS
/// A file descriptor by which another card or process can open a buffer.
class shared_handle {
 public:
  shared_handle() = default;
  shared_handle(const shared_handle&) = delete;
  shared_handle& operator=(const shared_handle&) = delete;
  virtual ~shared_handle() = default;
  virtual int get_export_handle() const = 0;
};

class buffer_handle {
 public:
  struct Properties {
    std::uint64_t flags;
    std::uint64_t size;
    std::uint64_t address;
#if ISTHMUS_XRT >= 18
    std::uint64_t of_driver;
#endif
  };

  buffer_handle() = default;
  buffer_handle(const buffer_handle&) = delete;
  buffer_handle& operator=(const buffer_handle&) = delete;
  virtual ~buffer_handle() = default;
  virtual std::unique_ptr<shared_handle> share() const = 0;
  virtual void* map(int kind) = 0;
  virtual void unmap(void* address) = 0;
  virtual void sync(int direction, std::size_t size, std::size_t offset) = 0;
  virtual void copy(const buffer_handle* from, std::size_t size, std::size_t to_offset,
                    std::size_t from_offset) = 0;
  virtual Properties get_properties() const = 0;
  virtual unsigned get_xcl_handle() const = 0;
#if ISTHMUS_XRT >= 18
  virtual void bind_at() {}
#if ISTHMUS_XRT >= 23
  virtual void reset() {}
#endif
  virtual void sync_aie_bo() { lacking("AI engines"); }
  virtual void sync_aie_bo_nb() { lacking("AI engines"); }
#if ISTHMUS_XRT >= 23
  virtual void config() { lacking("AI engines"); }
  virtual void unconfig() { lacking("AI engines"); }
#endif
#endif
};

/// XRT's index of a compute unit.
struct cuidx_type {
  std::uint32_t index;
};

/// A program's share of a card; in this shim always the whole card.
class hwctx_handle {
 public:
  hwctx_handle() = default;
  hwctx_handle(const hwctx_handle&) = delete;
  hwctx_handle& operator=(const hwctx_handle&) = delete;
  virtual ~hwctx_handle() = default;
  virtual void update_qos() { lacking("qualities of service"); }
  virtual void update_access_mode(int /*mode*/) {}
  virtual unsigned get_slotidx() const { return 0; }
#if ISTHMUS_XRT >= 23
  virtual void get_num_uc() const { lacking("AI engines"); }
#endif
#if ISTHMUS_XRT >= 18
  virtual void* get_hw_queue() { return nullptr; }  // XRT then calls exec_buf
#else
  // XRT then calls exec_buf.
  virtual std::unique_ptr<buffer_handle> create_hw_queue() { return nullptr; }
#endif
  virtual std::unique_ptr<buffer_handle> alloc_bo(void* user, std::size_t size,
                                                  std::uint64_t flags) = 0;
  virtual std::unique_ptr<buffer_handle> alloc_bo(std::size_t size, std::uint64_t flags) = 0;
  virtual std::unique_ptr<buffer_handle> import_bo(int process, int file) = 0;
  virtual cuidx_type open_cu_context(const std::string& name) = 0;
  virtual void close_cu_context(cuidx_type unit) = 0;
  virtual void exec_buf(buffer_handle* command) = 0;
#if ISTHMUS_XRT >= 18
  virtual void open_graph_handle() { lacking("AI engines"); }
  virtual void open_profile_handle() { lacking("AI engines"); }
  virtual void open_aie_buffer_handle() { lacking("AI engines"); }
  virtual void reset_array() const { lacking("AI engines"); }
#endif
#if ISTHMUS_XRT >= 23
  virtual void get_aie_freq() const { lacking("AI engines"); }
  virtual void set_aie_freq() const { lacking("AI engines"); }
#endif
};

using CommandBuffer = buffer_handle*;
#else
using CommandBuffer = unsigned;
#endif

namespace query {

/// Numbers of XRT's queries that this shim answers.
enum class key_type : int {
  pcie_bdf = 8,
#if ISTHMUS_XRT == 13
  rom_vbnv = 12,
  m2m = 60,
  nodma = 62,
  clock_freqs_mhz = 64,
  kds_numcdmas = 138,
  interface_uuids = 156
#elif ISTHMUS_XRT == 16
  rom_vbnv = 12,
  m2m = 63,
  nodma = 65,
  clock_freqs_mhz = 67,
  kds_numcdmas = 147,
  interface_uuids = 166
#elif ISTHMUS_XRT == 18
  rom_vbnv = 16,
  m2m = 68,
  nodma = 70,
  clock_freqs_mhz = 72,
  kds_numcdmas = 163,
  interface_uuids = 182
#elif ISTHMUS_XRT == 23
  rom_vbnv = 16,
  m2m = 68,
  nodma = 70,
  clock_freqs_mhz = 72,
  kds_numcdmas = 166,
  interface_uuids = 185
#endif
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

#if ISTHMUS_XRT >= 18
using Answer = std::any;
#else
/// An answer of any type, laid out as boost::any: a pointer to an object with these virtual
/// functions, and behind them the answer.
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
#endif

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
#if ISTHMUS_XRT >= 23
  virtual void put_two() const { lacking("a query that changes the card"); }
#endif
};

}  // namespace query

/// The functions that XRT calls on an open card.
class ishim {
 public:
  /// The error by which XRT recognises that a shim lacks a function.
  class __attribute__((visibility("default"))) not_supported_error : public std::system_error {
   public:
    using std::system_error::system_error;
  };

  virtual void close_device() = 0;
  virtual void open_context(const unsigned char* uuid, unsigned unit, bool shared) = 0;
  virtual void close_context(const unsigned char* uuid, unsigned unit) = 0;
#if !ISTHMUS_BUFFERS_ARE_OBJECTS
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
#endif
  virtual void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const = 0;
  virtual void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) = 0;
  virtual void xread(int space, std::uint64_t address, void* to, std::size_t size) const = 0;
  virtual void xwrite(int space, std::uint64_t address, const void* from, std::size_t size) = 0;
  virtual void unmgd_pread(void* to, std::size_t size, std::uint64_t address) = 0;
  virtual void unmgd_pwrite(const void* from, std::size_t size, std::uint64_t address) = 0;
  virtual void exec_buf(CommandBuffer command) = 0;
  virtual int exec_wait(int milliseconds) const = 0;
  virtual void load_axlf(const axlf* xclbin) = 0;
  virtual void reclock(const std::uint16_t* megahertz) = 0;
  virtual void p2p_enable(bool force) = 0;
  virtual void p2p_disable(bool force) = 0;
  virtual void set_cma(bool /*enable*/, std::uint64_t /*size*/) { lacking("reserved host memory"); }
  virtual void update_scheduler_status() {}
  virtual void user_reset(int /*kind*/) { lacking("a reset"); }
#if ISTHMUS_XRT >= 18
  virtual void get_device_info(DeviceInfo* info) = 0;
  virtual std::size_t get_device_timestamp() = 0;
  virtual void get_sysfs_path() { lacking("parts as files"); }
#endif
#if ISTHMUS_BUFFERS_ARE_OBJECTS
  virtual std::unique_ptr<buffer_handle> alloc_bo(std::size_t size, std::uint64_t flags) = 0;
  virtual std::unique_ptr<buffer_handle> alloc_bo(void* user, std::size_t size,
                                                  std::uint64_t flags) = 0;
  virtual std::unique_ptr<buffer_handle> import_bo(int process, int file) = 0;
  virtual void create_fence() { lacking("fences"); }
  virtual void import_fence() { lacking("fences"); }
  virtual std::unique_ptr<hwctx_handle> create_hw_context(const unsigned char* uuid,
                                                          const void* settings, int mode) const = 0;
#if ISTHMUS_XRT >= 23
  virtual void create_hw_context_of_size() const { lacking("AI engines"); }
  virtual void create_hw_context_of_elf() const { lacking("AI engines"); }
#endif
  virtual void register_xclbin() const { lacking("several bitstreams"); }  // XRT then loads it
  virtual void set_cu_read_range() { lacking("registers that programs share"); }
#endif
  virtual void open_ip_interrupt_notify() { lacking("interrupts"); }
  virtual void close_ip_interrupt_notify() { lacking("interrupts"); }
  virtual void enable_ip_interrupt() { lacking("interrupts"); }
  virtual void disable_ip_interrupt() { lacking("interrupts"); }
  virtual void wait_ip_interrupt() { lacking("interrupts"); }
  virtual void wait_ip_interrupt_for() { lacking("interrupts"); }
#if ISTHMUS_XRT == 13
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
#elif ISTHMUS_XRT >= 18
  virtual void open_graph_handle() { lacking("AI engines"); }
  virtual void open_profile_handle() { lacking("AI engines"); }
  virtual void open_aie_context() { lacking("AI engines"); }
  virtual void reset_aie() { lacking("AI engines"); }
  virtual void wait_gmio() { lacking("AI engines"); }
  virtual void load_axlf_meta() { lacking("AI engines"); }
  virtual void read_aie_mem() { lacking("AI engines"); }
  virtual void write_aie_mem() { lacking("AI engines"); }
  virtual void read_aie_reg() { lacking("AI engines"); }
  virtual void write_aie_reg() { lacking("AI engines"); }
  virtual void open_aie_buffer_handle() { lacking("AI engines"); }
#endif
};

/// A card as XRT's library sees it. XRT defines the constructor, the destructor and each function
/// that has no body here.
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
#if ISTHMUS_XRT >= 23
  virtual void reset() const { lacking("a reset"); }
#endif
  virtual void get_info(void* /*tree*/) const {}
  virtual void read() const { lacking("memory by its device file"); }
  virtual void write() const { lacking("memory by its device file"); }
  virtual void reset_of_kind() const { lacking("a reset"); }
  virtual void xclmgmt_load_xclbin() const { lacking("management"); }
#if ISTHMUS_XRT >= 16
  virtual void device_shutdown() const { lacking("a reset"); }
  virtual void device_online() const { lacking("a reset"); }
#endif
  virtual int open(const std::string& /*part*/, int /*flags*/) const { lacking("parts as files"); }
  virtual void close(int /*file*/) const { lacking("parts as files"); }

  /// Reports the loaded bitstream to XRT's part of the card.
  void register_axlf(const axlf* xclbin);
  /// Returns the address of each compute unit; the index is XRT's.
#if ISTHMUS_XRT >= 16
  const std::vector<std::uint64_t>& get_cus() const;
  cuidx_type get_cuidx(unsigned slot, const std::string& name);
#else
  const std::vector<std::uint64_t>& get_cus(const xrt::uuid& bitstream = {}) const;
#endif

 private:
  // Room for XRT's members: 104 bytes in 2.13, 280 in 2.16, 296 in 2.18.
  std::array<std::byte, 504> of_xrt_;
};

/// The list of all cards. XRT defines the constructor, which registers the shim.
class __attribute__((visibility("default"))) system {
 public:
  system();
  system(const system&) = delete;
  system& operator=(const system&) = delete;

#if ISTHMUS_XRT >= 18
  virtual void get_driver_info(void* /*tree*/) {}
#else
  virtual void get_xrt_info(void* /*tree*/) {}
  virtual void get_os_info(void* /*tree*/) {}
#endif
  virtual void get_devices(void* /*tree*/) const {}
  virtual Index get_device_id(const std::string& name) const;
#if ISTHMUS_XRT >= 16
  virtual Place get_bdf_info(Index index, bool user) const = 0;
#endif
  virtual std::pair<Index, Index> get_total_devices(bool user) const = 0;
  virtual std::shared_ptr<device> open_userpf_device(Index index) const = 0;
  virtual std::shared_ptr<device> make_userpf_device(Handle handle, Index index) const = 0;
  virtual std::shared_ptr<device> make_mgmtpf_device(Index index) const = 0;
  virtual int get_monitor_access_type() const { return 0; }
  virtual void program_plp() const { lacking("platforms"); }
#if ISTHMUS_XRT == 13
  virtual void mem_read() const { lacking("memory by management"); }
  virtual void mem_write() const { lacking("memory by management"); }
#endif

 protected:
  ~system() = default;
};

std::shared_ptr<device> get_userpf_device(Handle handle, Index index);

inline void lacking(const char* what) {
  throw ishim::not_supported_error(EOPNOTSUPP, std::generic_category(),
                                   std::string("not modelled by the emulated card: ") + what);
}

}  // namespace xrt_core
// NOLINTEND(modernize-use-nodiscard,performance-enum-size,*-virtual-class-destructor)

// Flags of buffers (`xrt_mem.h`); the lowest 24 bits are the bank's number.
inline constexpr unsigned flag_bank = 0xff'ffff;
inline constexpr unsigned flag_host_only = 1U << 29U;
inline constexpr unsigned flag_p2p = 1U << 30U;
inline constexpr unsigned flag_command = 1U << 31U;
inline constexpr int to_device = 0;     ///< xclBOSyncDirection
inline constexpr int space_memory = 1;  ///< xclAddressSpace

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

// A command's packet (`ert.h`).
struct Packet {
  std::uint32_t header;
  /// `words` as the header says: masks of units, then registers.
  std::array<std::uint32_t, 1> words;
};
inline constexpr std::uint32_t opcode_start = 0;
constexpr std::uint32_t opcode_of(std::uint32_t header) { return header >> 23U & 0x1fU; }
constexpr std::uint32_t words_of(std::uint32_t header) { return header >> 12U & 0x7ffU; }
constexpr std::uint32_t further_masks_of(std::uint32_t header) { return header >> 10U & 3U; }
