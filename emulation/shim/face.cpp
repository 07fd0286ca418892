// The shim's side of the interface to XRT 2.ISTHMUS_XRT: objects through which libxrt_coreutil
// calls the shim, and C functions that XRT's OpenCL (up to 2.17) and programs call.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "card.hpp"
#include "faults.hpp"
#include "interface.hpp"

namespace {

namespace shim = isthmus::shim;
using shim::Card;
using xrt_core::query::key_type;

/// MHz: the kernel clock that XRT's queries return, as `DATA_MHZ` in xclbin/kinds.py. Simulated
/// times use the board's `kernel.clock_MHz` instead.
constexpr unsigned short kernel_megahertz = 300;

/// What a card's handle points to. Each xclOpen returns a new handle, by whose address XRT finds
/// its own object; all handles of a card share its model.
struct Opened {
  explicit Opened(unsigned index);
  std::shared_ptr<Card> card;
  std::shared_ptr<xrt_core::device> device;
};

std::shared_ptr<Card> shared_card(unsigned index) {
  static std::mutex sharing;
  static std::map<unsigned, std::weak_ptr<Card>> cards;
  const std::scoped_lock guard(sharing);
  auto card = cards[index].lock();
  if (!card) {
    card = std::make_shared<Card>(index);
    cards[index] = card;
  }
  return card;
}

Card& card_of(void* handle) { return *static_cast<Opened*>(handle)->card; }

/// Returns a weak pointer to a handle's card, for objects that may outlive the handle, such as a
/// program's static buffers. A closed card has freed its buffers.
std::weak_ptr<Card> while_open(void* handle) {
  return handle == nullptr ? std::weak_ptr<Card>() : static_cast<Opened*>(handle)->card;
}

void free_if_open(const std::weak_ptr<Card>& card, unsigned bo) {
  if (const auto open = card.lock()) {
    open->free(bo);
  }
}

void close_kernel_if_open(const std::weak_ptr<Card>& card) {
  if (const auto open = card.lock()) {
    open->close_kernel();
  }
}

xrt_core::device& device_of(void* handle) { return *static_cast<Opened*>(handle)->device; }

/// Throws std::system_error unless `error` is 0; `what` names the call.
void check(int error, const char* what) {
  if (error != 0) {
    throw std::system_error(error, std::generic_category(), what);
  }
}

std::span<const std::byte> section(const axlf* xclbin, std::uint32_t kind) {
  const auto* bytes = reinterpret_cast<const std::byte*>(xclbin);
  std::uint32_t count = 0;
  std::memcpy(&count, bytes + section_count_offset, sizeof count);
  const std::span sections(reinterpret_cast<const Section*>(bytes + sections_offset), count);
  const auto found = std::ranges::find(sections, kind, &Section::kind);
  return found == sections.end() ? std::span<const std::byte>()
                                 : std::span(bytes + found->offset, found->size);
}

std::vector<shim::Bank> banks_of(const axlf* xclbin) {
  auto topology = section(xclbin, section_memory_groups);
  if (topology.empty()) {
    topology = section(xclbin, section_memories);
  }
  std::vector<shim::Bank> banks;
  for (std::size_t at = 8; at + sizeof(MemoryBank) <= topology.size(); at += sizeof(MemoryBank)) {
    MemoryBank bank{};
    std::memcpy(&bank, topology.data() + at, sizeof bank);
    const bool host = std::strncmp(bank.name.data(), "HOST", 4) == 0;
    banks.push_back(
        {.address = bank.address, .bytes = bank.kibibytes << 10U, .host = host, .next = 0});
  }
  return banks;
}

shim::Place place_of(unsigned flags) {
  if ((flags & flag_command) != 0) {
    return shim::Place::command;
  }
  if ((flags & flag_p2p) != 0) {
    return shim::Place::card_mapped;
  }
  return (flags & flag_host_only) != 0 ? shim::Place::host : shim::Place::card;
}

/// Makes the command that a packet requests.
shim::Command command_of(Packet& packet, const shim::Buffer& buffer) {
  constexpr unsigned units_of_a_mask = 32;
  const std::size_t masks = 1 + further_masks_of(packet.header);
  const std::span words(packet.words.data(), words_of(packet.header));
  shim::Command command;
  command.header = &packet.header;
  command.packet = buffer.own;
  for (std::size_t mask = 0; mask < masks; ++mask) {
    for (unsigned bit = 0; bit < units_of_a_mask; ++bit) {
      if ((words[mask] >> bit & 1U) != 0) {
        command.units.push_back(units_of_a_mask * mask + bit);
      }
    }
  }
  const auto registers = std::as_bytes(words.subspan(masks));
  command.registers.assign(registers.begin(), registers.end());
  return command;
}

int load(void* handle, const axlf* xclbin) {
  const auto bits = section(xclbin, section_bitstream);
  if (bits.empty()) {
    return EINVAL;
  }
  device_of(handle).register_axlf(xclbin);
  shim::Design design;
  std::memcpy(design.uuid.data(), reinterpret_cast<const std::byte*>(xclbin) + uuid_offset,
              design.uuid.size());
  design.description.assign(reinterpret_cast<const char*>(bits.data()), bits.size());
  design.banks = banks_of(xclbin);
  design.units = device_of(handle).get_cus();
  return card_of(handle).load(std::move(design));
}

int execute(void* handle, unsigned bo) {
  const auto* buffer = card_of(handle).buffer(bo);
  if (buffer == nullptr || buffer->place != shim::Place::command) {
    return EINVAL;
  }
  auto& packet = *reinterpret_cast<Packet*>(buffer->host);
  const std::size_t words = words_of(packet.header);
  if (words <= further_masks_of(packet.header) ||
      (1 + words) * sizeof packet.header > buffer->bytes) {
    return EINVAL;
  }
  // Configures a part of a board that this card lacks.
  if (opcode_of(packet.header) != opcode_start) {
    packet.header = (packet.header & ~shim::state_mask) | shim::state_completed;
    return 0;
  }
  return card_of(handle).submit(command_of(packet, *buffer));
}

/// Returns a part of a buffer's host memory; null if the buffer has no such part.
std::byte* part_of(void* handle, unsigned bo, std::size_t size, std::size_t offset) {
  const auto* buffer = card_of(handle).buffer(bo);
  const bool has = buffer != nullptr && offset <= buffer->bytes && size <= buffer->bytes - offset;
  return has ? buffer->host + offset : nullptr;
}

int properties(void* handle, unsigned bo, xrt_core::BufferProperties* to) {
  const auto* buffer = card_of(handle).buffer(bo);
  if (buffer == nullptr) {
    return EINVAL;
  }
  *to = {.handle = bo,
         .flags = buffer->flags,
         .size = buffer->bytes,
         .address = buffer->address,
         .reserved = 0};
  return 0;
}

void read_at(void* handle, int space, std::uint64_t address, void* to, std::size_t size) {
  const std::span data(static_cast<std::byte*>(to), size);
  if (space == space_memory) {
    card_of(handle).read_memory(address, data);
  } else {
    card_of(handle).read_registers(address, data);
  }
}

void write_at(void* handle, int space, std::uint64_t address, const void* from, std::size_t size) {
  const std::span data(static_cast<const std::byte*>(from), size);
  if (space == space_memory) {
    card_of(handle).write_memory(address, data);
  } else {
    card_of(handle).write_registers(address, data);
  }
}

void* open_card(unsigned index) {
  if (const unsigned count = shim::count_of_cards(); index >= count) {
    shim::say("there is no device " + std::to_string(index) + "; the number of cards is " +
              std::to_string(count) + ", the first is device 0");
    return nullptr;
  }
  return new Opened(index);
}

void close_card(void* handle) { delete static_cast<Opened*>(handle); }

// The functions from here take a buffer's number and throw if the card refuses the call.

/// Makes a buffer and returns its number.
unsigned allocate(void* handle, void* user, std::size_t size, unsigned flags) {
  const unsigned bo =
      card_of(handle).allocate(size, flags, flags & flag_bank, place_of(flags), user);
  if (bo == Card::no_buffer) {
    throw std::bad_alloc();
  }
  return bo;
}

int share(void* handle, unsigned bo) {
  const int file = card_of(handle).share(bo);
  check(file < 0 ? EINVAL : 0, "unable to export a buffer that is not P2P");
  return file;
}

unsigned import(void* handle, int file) {
  const unsigned bo = card_of(handle).import(file);
  check(bo == Card::no_buffer ? EINVAL : 0, "unable to import a buffer");
  return bo;
}

void* map(void* handle, unsigned bo) {
  void* const memory = card_of(handle).map(bo);
  check(memory == nullptr ? EINVAL : 0, "could not map a buffer");
  return memory;
}

void start(void* handle, unsigned bo) {
  check(execute(handle, bo), "failed to launch execution buffer");
}

void describe(void* handle, DeviceInfo& info) {
  const Card& card = card_of(handle);
  info = {};
  card.name().copy(info.name.data(), info.name.size() - 1);
  info.major_version = 2;
  info.dma_threads = 2;
  info.alignment = 4096;
  info.banks = static_cast<unsigned short>(card.banks());
  info.memory_bytes = card.bytes();
  info.free_bytes = card.bytes();
  info.megahertz[0] = kernel_megahertz;
}

std::size_t nanoseconds(void* handle) {
  constexpr std::uint64_t femtoseconds_of_a_nanosecond = 1'000'000;
  return card_of(handle).now_fs() / femtoseconds_of_a_nanosecond;
}

xrt_core::Place place_on_bus(unsigned index) {
  return {0, 0, static_cast<std::uint16_t>(index), 0};
}

std::string address_on_bus(unsigned index) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0000:00:%02x.0", index);
  return text.data();
}

// NOLINTBEGIN(modernize-use-nodiscard): the functions are XRT's choice
#if ISTHMUS_BUFFERS_ARE_OBJECTS
using BufferPointer = std::unique_ptr<xrt_core::buffer_handle>;

class SharedFile final : public xrt_core::shared_handle {
 public:
  explicit SharedFile(int file) : file_(file) {}
  ~SharedFile() override { ::close(file_); }
  int get_export_handle() const override { return file_; }

 private:
  int file_;
};

class BufferObject final : public xrt_core::buffer_handle {
 public:
  BufferObject(void* handle, unsigned bo) : handle_(handle), card_(while_open(handle)), bo_(bo) {}
  ~BufferObject() override { free_if_open(card_, bo_); }
  std::unique_ptr<xrt_core::shared_handle> share() const override {
    return std::make_unique<SharedFile>(::share(handle_, bo_));
  }
  void* map(int /*kind*/) override { return ::map(handle_, bo_); }
  void unmap(void* /*address*/) override {}
  void sync(int direction, std::size_t size, std::size_t offset) override {
    check(card_of(handle_).synchronise(bo_, direction == to_device, size, offset),
          "unable to sync a buffer");
  }
  void copy(const xrt_core::buffer_handle* from, std::size_t size, std::size_t to_offset,
            std::size_t from_offset) override {
    check(card_of(handle_).copy(bo_, from->get_xcl_handle(), size, to_offset, from_offset),
          "unable to copy a buffer");
  }
  Properties get_properties() const override {
    xrt_core::BufferProperties of_buffer{};
    check(properties(handle_, bo_, &of_buffer), "failed to get a buffer's properties");
    Properties all{};
    all.flags = of_buffer.flags;
    all.size = of_buffer.size;
    all.address = of_buffer.address;
    return all;
  }
  unsigned get_xcl_handle() const override { return bo_; }

 private:
  void* handle_;
  std::weak_ptr<Card> card_;
  unsigned bo_;
};

BufferPointer allocated(void* handle, void* user, std::size_t size, std::uint64_t flags) {
  return std::make_unique<BufferObject>(handle,
                                        allocate(handle, user, size, static_cast<unsigned>(flags)));
}

BufferPointer imported(void* handle, int process, int file) {
  if (process != 0 && process != ::getpid()) {
    xrt_core::lacking("buffers of processes");
  }
  return std::make_unique<BufferObject>(handle, import(handle, file));
}

void start(void* handle, const xrt_core::buffer_handle* command) {
  start(handle, command->get_xcl_handle());
}

class Context final : public xrt_core::hwctx_handle {
 public:
  explicit Context(void* handle) : handle_(handle), card_(while_open(handle)) {}
  BufferPointer alloc_bo(void* user, std::size_t size, std::uint64_t flags) override {
    return allocated(handle_, user, size, flags);
  }
  BufferPointer alloc_bo(std::size_t size, std::uint64_t flags) override {
    return allocated(handle_, nullptr, size, flags);
  }
  BufferPointer import_bo(int process, int file) override {
    return imported(handle_, process, file);
  }
  xrt_core::cuidx_type open_cu_context(const std::string& name) override {
    const auto unit = device_of(handle_).get_cuidx(get_slotidx(), name);
    card_of(handle_).open_kernel();
    return unit;
  }
  void close_cu_context(xrt_core::cuidx_type /*unit*/) override { close_kernel_if_open(card_); }
  void exec_buf(xrt_core::buffer_handle* command) override { start(handle_, command); }

 private:
  void* handle_;
  std::weak_ptr<Card> card_;
};
#endif

/// A query of XRT about a card, which the function `get` of the constructor answers.
class Query : public xrt_core::query::request {
 public:
  using Get = xrt_core::query::Answer (*)(const xrt_core::device& of);
  explicit Query(Get get) : get_(get) {}
  xrt_core::query::Answer get(const xrt_core::device* of) const override { return get_(*of); }

 private:
  Get get_;
};

class Device : public xrt_core::device {
 public:
  Device(void* handle, unsigned index)
      : xrt_core::device(index),
        handle_(handle),
        card_(while_open(handle)),
        index_(static_cast<std::uint16_t>(index)) {}

  void* get_device_handle() const override { return handle_; }
  [[nodiscard]] std::uint16_t index() const { return index_; }

  void close_device() override { close_card(handle_); }
  void open_context(const unsigned char* /*uuid*/, unsigned /*unit*/, bool /*shared*/) override {
    card().open_kernel();
  }
  void close_context(const unsigned char* /*uuid*/, unsigned /*unit*/) override {
    close_kernel_if_open(card_);
  }
#if ISTHMUS_BUFFERS_ARE_OBJECTS
  BufferPointer alloc_bo(std::size_t size, std::uint64_t flags) override {
    return alloc_bo(nullptr, size, flags);
  }
  BufferPointer alloc_bo(void* user, std::size_t size, std::uint64_t flags) override {
    return allocated(handle_, user, size, flags);
  }
  BufferPointer import_bo(int process, int file) override {
    return imported(handle_, process, file);
  }
  std::unique_ptr<xrt_core::hwctx_handle> create_hw_context(const unsigned char* /*uuid*/,
                                                            const void* /*settings*/,
                                                            int /*mode*/) const override {
    return std::make_unique<Context>(handle_);
  }
  void exec_buf(xrt_core::buffer_handle* command) override { start(handle_, command); }
#else
  unsigned alloc_bo(std::size_t size, unsigned flags) override {
    return allocate(handle_, nullptr, size, flags);
  }
  unsigned alloc_user_bo(void* user, std::size_t size, unsigned flags) override {
    return allocate(handle_, user, size, flags);
  }
  void free_bo(unsigned bo) override { free_if_open(card_, bo); }
  int export_bo(unsigned bo) const override { return share(handle_, bo); }
  unsigned import_bo(int file) override { return import(handle_, file); }
  void close_export_handle(int file) override { ::close(file); }
  void copy_bo(unsigned to, unsigned from, std::size_t size, std::size_t to_offset,
               std::size_t from_offset) override {
    check(card().copy(to, from, size, to_offset, from_offset), "unable to copy a buffer");
  }
  void sync_bo(unsigned bo, int direction, std::size_t size, std::size_t offset) override {
    check(card().synchronise(bo, direction == to_device, size, offset), "unable to sync a buffer");
  }
  void* map_bo(unsigned bo, bool /*write*/) override { return map(handle_, bo); }
  void unmap_bo(unsigned /*bo*/, void* /*address*/) override {}
  void get_bo_properties(unsigned bo, xrt_core::BufferProperties* to) const override {
    check(properties(handle_, bo, to), "failed to get a buffer's properties");
  }
  void exec_buf(unsigned bo) override { start(handle_, bo); }
#endif
  void reg_read(std::uint32_t unit, std::uint32_t offset, std::uint32_t* value) const override {
    check(card().read_register(unit, offset, *value), "failed to read a register");
  }
  void reg_write(std::uint32_t unit, std::uint32_t offset, std::uint32_t value) override {
    check(card().write_register(unit, offset, value), "failed to write a register");
  }
  void xread(int space, std::uint64_t address, void* to, std::size_t size) const override {
    read_at(handle_, space, address, to, size);
  }
  void xwrite(int space, std::uint64_t address, const void* from, std::size_t size) override {
    write_at(handle_, space, address, from, size);
  }
  void unmgd_pread(void* to, std::size_t size, std::uint64_t address) override {
    read_at(handle_, space_memory, address, to, size);
  }
  void unmgd_pwrite(const void* from, std::size_t size, std::uint64_t address) override {
    write_at(handle_, space_memory, address, from, size);
  }
  int exec_wait(int milliseconds) const override { return card().wait(milliseconds); }
  void load_axlf(const axlf* xclbin) override {
    check(load(handle_, xclbin), "failed to load xclbin");
  }
  void reclock(const std::uint16_t* /*megahertz*/) override {}
  void p2p_enable(bool /*force*/) override {}
  void p2p_disable(bool /*force*/) override {}
#if ISTHMUS_XRT >= 18
  void get_device_info(DeviceInfo* info) override { describe(handle_, *info); }
  std::size_t get_device_timestamp() override { return nanoseconds(handle_); }
#endif

 private:
  [[nodiscard]] Card& card() const { return card_of(handle_); }
  const xrt_core::query::request& lookup_query(key_type key) const override;

  void* handle_;
  std::weak_ptr<Card> card_;
  std::uint16_t index_;
};

const xrt_core::query::request& Device::lookup_query(key_type key) const {
  using xrt_core::query::Answer;
  using Of = const xrt_core::device&;
  using Texts = std::vector<std::string>;
  static const std::map<key_type, Query> queries = [] {
    std::map<key_type, Query> all;
    all.try_emplace(key_type::rom_vbnv,
                    [](Of device) { return Answer(card_of(device.get_device_handle()).name()); });
    all.try_emplace(key_type::pcie_bdf, [](Of device) {
      // XRT passes a device that `System` made. NOLINTNEXTLINE(*-pro-type-static-cast-downcast)
      const auto index = static_cast<const Device&>(device).index();
      return Answer(place_on_bus(index));
    });
    all.try_emplace(key_type::m2m, [](Of) { return Answer(std::uint32_t{1}); });
    all.try_emplace(key_type::nodma, [](Of) { return Answer(std::uint32_t{0}); });
    all.try_emplace(key_type::kds_numcdmas, [](Of) { return Answer(std::uint32_t{0}); });
    all.try_emplace(key_type::interface_uuids, [](Of) { return Answer(Texts()); });
    all.try_emplace(key_type::clock_freqs_mhz,
                    [](Of) { return Answer(Texts(4, std::to_string(kernel_megahertz))); });
    return all;
  }();
  const auto found = queries.find(key);
  if (found == queries.end()) {
    throw xrt_core::query::no_such_key(key);
  }
  return found->second;
}

class System final : public xrt_core::system {
 public:
  std::pair<unsigned, unsigned> get_total_devices(bool /*user*/) const override {
    return {shim::count_of_cards(), shim::count_of_cards()};
  }
#if ISTHMUS_XRT >= 16
  xrt_core::Place get_bdf_info(unsigned index, bool /*user*/) const override {
    return place_on_bus(index);
  }
#endif
  /// Returns a card's number by that number as text, or by the card's address on the bus.
  unsigned get_device_id(const std::string& name) const override {
    for (unsigned index = 0; index < shim::count_of_cards(); ++index) {
      if (name == address_on_bus(index)) {
        return index;
      }
    }
    return xrt_core::system::get_device_id(name);
  }
  std::shared_ptr<xrt_core::device> open_userpf_device(unsigned index) const override {
    auto* const card = static_cast<Opened*>(open_card(index));
    return card == nullptr ? nullptr : card->device;
  }
  std::shared_ptr<xrt_core::device> make_userpf_device(void* handle,
                                                       unsigned index) const override {
    // XRT itself keeps only a weak pointer to the device.
    return std::shared_ptr<xrt_core::device>(new Device(handle, index));
  }
  std::shared_ptr<xrt_core::device> make_mgmtpf_device(unsigned index) const override {
    return std::shared_ptr<xrt_core::device>(new Device(nullptr, index));
  }
};

// NOLINTEND(modernize-use-nodiscard)

// The constructor registers the shim with libxrt_coreutil.
System the_system;  // NOLINT(bugprone-throwing-static-initialization,cert-err58-cpp)

Opened::Opened(unsigned index)
    : card(shared_card(index)), device(xrt_core::get_userpf_device(this, index)) {}

}  // namespace

#define ISTHMUS_OF_XRT extern "C" __attribute__((visibility("default")))

/// The virtual clock recognises this shim by this symbol, which XRT's own shims lack.
ISTHMUS_OF_XRT const int isthmus_shim = 1;

ISTHMUS_OF_XRT unsigned xclProbe() { return shim::count_of_cards(); }
ISTHMUS_OF_XRT unsigned xclVersion() { return 2; }
ISTHMUS_OF_XRT void* xclOpen(unsigned index, const char* /*log*/, int /*level*/) {
  return open_card(index);
}
ISTHMUS_OF_XRT void xclClose(void* handle) { close_card(handle); }

ISTHMUS_OF_XRT int xclGetDeviceInfo2(void* handle, DeviceInfo* info) {
  describe(handle, *info);
  return 0;
}

ISTHMUS_OF_XRT int xclLoadXclBin(void* handle, const axlf* xclbin) { return -load(handle, xclbin); }
ISTHMUS_OF_XRT int xclOpenContext(void* handle, const unsigned char* /*uuid*/, unsigned /*unit*/,
                                  bool /*shared*/) {
  card_of(handle).open_kernel();
  return 0;
}
ISTHMUS_OF_XRT int xclCloseContext(void* handle, const unsigned char* /*uuid*/, unsigned /*unit*/) {
  card_of(handle).close_kernel();
  return 0;
}

ISTHMUS_OF_XRT unsigned xclAllocUserPtrBO(void* handle, void* user, std::size_t size,
                                          unsigned flags) {
  return card_of(handle).allocate(size, flags, flags & flag_bank, place_of(flags), user);
}
ISTHMUS_OF_XRT unsigned xclAllocBO(void* handle, std::size_t size, int /*unused*/, unsigned flags) {
  return xclAllocUserPtrBO(handle, nullptr, size, flags);
}
ISTHMUS_OF_XRT void xclFreeBO(void* handle, unsigned bo) { card_of(handle).free(bo); }
ISTHMUS_OF_XRT void* xclMapBO(void* handle, unsigned bo, bool /*write*/) {
  return card_of(handle).map(bo);
}
ISTHMUS_OF_XRT int xclUnmapBO(void* /*handle*/, unsigned /*bo*/, void* /*address*/) { return 0; }
ISTHMUS_OF_XRT int xclGetBOProperties(void* handle, unsigned bo, xrt_core::BufferProperties* to) {
  return -properties(handle, bo, to);
}
ISTHMUS_OF_XRT int xclSyncBO(void* handle, unsigned bo, int direction, std::size_t size,
                             std::size_t offset) {
  return -card_of(handle).synchronise(bo, direction == to_device, size, offset);
}
ISTHMUS_OF_XRT std::size_t xclWriteBO(void* handle, unsigned bo, const void* from, std::size_t size,
                                      std::size_t offset) {
  std::byte* const to = part_of(handle, bo, size, offset);
  if (to == nullptr) {
    return -EINVAL;
  }
  std::memcpy(to, from, size);
  return 0;
}
ISTHMUS_OF_XRT std::size_t xclReadBO(void* handle, unsigned bo, void* to, std::size_t size,
                                     std::size_t offset) {
  const std::byte* const from = part_of(handle, bo, size, offset);
  if (from == nullptr) {
    return -EINVAL;
  }
  std::memcpy(to, from, size);
  return 0;
}
ISTHMUS_OF_XRT int xclCopyBO(void* handle, unsigned to, unsigned from, std::size_t size,
                             std::size_t to_offset, std::size_t from_offset) {
  return -card_of(handle).copy(to, from, size, to_offset, from_offset);
}
ISTHMUS_OF_XRT int xclExportBO(void* handle, unsigned bo) { return card_of(handle).share(bo); }
ISTHMUS_OF_XRT unsigned xclImportBO(void* handle, int file, unsigned /*flags*/) {
  return card_of(handle).import(file);
}

ISTHMUS_OF_XRT int xclExecBuf(void* handle, unsigned bo) { return -execute(handle, bo); }
ISTHMUS_OF_XRT int xclExecWait(void* handle, int milliseconds) {
  return card_of(handle).wait(milliseconds);
}
ISTHMUS_OF_XRT int xclRegWrite(void* handle, std::uint32_t unit, std::uint32_t offset,
                               std::uint32_t value) {
  return -card_of(handle).write_register(unit, offset, value);
}
ISTHMUS_OF_XRT int xclRegRead(void* handle, std::uint32_t unit, std::uint32_t offset,
                              std::uint32_t* value) {
  return -card_of(handle).read_register(unit, offset, *value);
}
ISTHMUS_OF_XRT std::size_t xclRead(void* handle, int space, std::uint64_t address, void* to,
                                   std::size_t size) {
  read_at(handle, space, address, to, size);
  return size;
}
ISTHMUS_OF_XRT std::size_t xclWrite(void* handle, int space, std::uint64_t address,
                                    const void* from, std::size_t size) {
  write_at(handle, space, address, from, size);
  return size;
}
ISTHMUS_OF_XRT ssize_t xclUnmgdPread(void* handle, unsigned /*flags*/, void* to, std::size_t size,
                                     std::uint64_t address) {
  read_at(handle, space_memory, address, to, size);
  return 0;
}
ISTHMUS_OF_XRT ssize_t xclUnmgdPwrite(void* handle, unsigned /*flags*/, const void* from,
                                      std::size_t size, std::uint64_t address) {
  write_at(handle, space_memory, address, from, size);
  return 0;
}

ISTHMUS_OF_XRT int xclIPName2Index(void* handle, const char* name) {
  return card_of(handle).unit_named(name);
}

ISTHMUS_OF_XRT std::size_t xclGetDeviceTimestamp(void* handle) { return nanoseconds(handle); }
ISTHMUS_OF_XRT int xclReClock2(void* /*handle*/, unsigned short /*region*/,
                               const unsigned short* /*megahertz*/) {
  return 0;
}
ISTHMUS_OF_XRT int xclP2pEnable(void* /*handle*/, bool /*enable*/, bool /*force*/) { return 0; }
ISTHMUS_OF_XRT int xclLockDevice(void* /*handle*/) { return 0; }
ISTHMUS_OF_XRT int xclUnlockDevice(void* /*handle*/) { return 0; }
