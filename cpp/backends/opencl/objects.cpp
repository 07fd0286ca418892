#include "objects.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "isthmus/backend.hpp"
#include "kernels.hpp"

namespace isthmus::cl {
namespace {

template <class Query>
std::string text(Query query, const char* call) {
  std::size_t size = 0;
  check(query(0, nullptr, &size), call);
  std::string value(size, '\0');
  check(query(size, value.data(), nullptr), call);
  value.resize(std::min(value.find('\0'), value.size()));
  return value;
}

Owned<Program> program_of_source(Context context, const char* source) {
  Int code = success;
  Owned<Program> program(api().clCreateProgramWithSource(context, 1, &source, nullptr, &code));
  check(code, "clCreateProgramWithSource");
  return program;
}

Owned<Program> program_of_binary(Context context, DeviceId device, const std::string& binary) {
  std::ifstream file(binary, std::ios::binary);
  if (!file) {
    throw UsageError("no file " + binary);
  }
  const std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(file), {});
  const std::size_t size = bytes.size();
  const unsigned char* data = bytes.data();
  Int accepted = success;
  Int code = success;
  Owned<Program> program(
      api().clCreateProgramWithBinary(context, 1, &device, &size, &data, &accepted, &code));
  if (code != success || accepted != success) {
    throw BackendError("the device does not accept " + binary + ": " +
                       error_name(code != success ? code : accepted));
  }
  return program;
}

/// A rectangle that consists of one word per page: rows of 8 bytes, which lie a page apart.
struct Rows {
  Rows(std::size_t offset, std::size_t count)
      : device_origin{offset % page_bytes, offset / page_bytes, 0},
        region{sizeof(std::uint64_t), count, 1} {}
  std::array<std::size_t, 3> device_origin;
  std::array<std::size_t, 3> host_origin{0, 0, 0};
  std::array<std::size_t, 3> region;
};

}  // namespace

std::string text_info(DeviceId device, Uint what) {
  return text(
      [&](std::size_t size, void* to, std::size_t* needed) {
        return api().clGetDeviceInfo(device, what, size, to, needed);
      },
      "clGetDeviceInfo");
}

std::string text_info(Platform platform, Uint what) {
  return text(
      [&](std::size_t size, void* to, std::size_t* needed) {
        return api().clGetPlatformInfo(platform, what, size, to, needed);
      },
      "clGetPlatformInfo");
}

Owned<Program> built_program(Context context, DeviceId device, const char* source,
                             const std::string& binary, const char* options) {
  Owned<Program> program = binary.empty() ? program_of_source(context, source)
                                          : program_of_binary(context, device, binary);
  const Int code = api().clBuildProgram(program.get(), 1, &device, options, nullptr, nullptr);
  if (code != success) {
    const std::string log = text(
        [&](std::size_t size, void* to, std::size_t* needed) {
          return api().clGetProgramBuildInfo(program.get(), device, program_build_log, size, to,
                                             needed);
        },
        "clGetProgramBuildInfo");
    throw BackendError(std::string("clBuildProgram: ") + error_name(code) + "\n" + log);
  }
  return program;
}

Session::Session(DeviceId device) : device_(device) {
  Int code = success;
  context_.reset(api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  queue_ = make_queue();
}

Session::Session(DeviceId device, const std::string& binary) : Session(device) {
  program_ = built_program(context_.get(), device_, nullptr, binary);
  binary_ = true;
  if (api().extended_pointers) {
    choose_memory();
  }
  probe();
}

/// Chooses the first memory in which a page can be allocated: a bitstream may leave memories
/// unused.
void Session::choose_memory() {
  constexpr Uint most_memories = 64;
  for (Uint index = 0; index < most_memories; ++index) {
    memory_ = index;
    try {
      static_cast<void>(create(page_bytes, mem_read_write, nullptr));
      return;
    } catch (const BackendError&) {
      continue;
    }
  }
  throw BackendError("no memory of the card takes a buffer");
}

Owned<Mem> Session::create(std::size_t bytes, Bitfield flags, void* host) const {
  if (memory_) {
    return create_in(*memory_ | memory_by_index, bytes, flags, host);
  }
  Int code = success;
  Owned<Mem> buffer(api().clCreateBuffer(context_.get(), flags, bytes, host, &code));
  check(code, "clCreateBuffer");
  return buffer;
}

Owned<Mem> Session::create_in(Uint memory, std::size_t bytes, Bitfield flags, void* host) const {
  ExtendedPointer extended{memory, host, nullptr};
  Int code = success;
  Owned<Mem> buffer(
      api().clCreateBuffer(context_.get(), flags | mem_extended_pointer, bytes, &extended, &code));
  check(code, "clCreateBuffer");
  return buffer;
}

/// Finds by trial where the runtime deviates from the specification; for devices that need a
/// binary.
void Session::probe() {
  keeps_data_ = comes_back();
  writes_rectangles_ = rectangle_arrives();
}

/// Returns whether a page goes to the device and comes back after the host overwrote its own copy.
/// Only for devices with their own memory: the result would be wrong if the host shares it.
bool Session::comes_back() const {
  HostBuffer host("aligned", page_bytes);
  const Owned<Mem> buffer = create(host.bytes(), mem_read_write | mem_use_host_ptr, host.data());
  const auto migrate = [&](Bitfield flags) {
    const Mem handle = buffer.get();
    check(api().clEnqueueMigrateMemObjects(queue(), 1, &handle, flags, 0, nullptr, nullptr),
          "clEnqueueMigrateMemObjects");
    finish(queue());
  };
  const std::span bytes(host.data(), host.bytes());
  fill_pattern(bytes, fresh_stamp());
  migrate(0);
  std::ranges::fill(bytes, std::byte{0});
  migrate(migrate_to_host);
  return std::ranges::any_of(bytes, [](std::byte value) { return value != std::byte{0}; });
}

bool Session::rectangle_arrives() const {
  constexpr std::array<std::uint64_t, 2> words = {1, 2};
  DeviceMemory memory(*this, words.size() * page_bytes);
  poison(memory, memory.bytes(), fresh_stamp());
  memory.put_words(0, words);
  std::array<std::uint64_t, 2> found{};
  for (std::size_t page = 0; page < found.size(); ++page) {
    memory.get(page * page_bytes, std::as_writable_bytes(std::span(&found[page], 1)));
  }
  return found == words;
}

bool Session::is_cpu() const {
  return (value_info<Bitfield>(device_, device_type) & device_type_cpu) != 0;
}

Owned<Queue> Session::make_queue(Bitfield properties) const {
  Int code = success;
  Owned<Queue> queue(api().clCreateCommandQueue(context_.get(), device_, properties, &code));
  check(code, "clCreateCommandQueue");
  return queue;
}

Owned<Mem> Session::make_buffer(std::size_t bytes, Bitfield flags) const {
  Owned<Mem> buffer = create(bytes, flags, nullptr);
  make_resident(buffer.get());
  return buffer;
}

Owned<Mem> Session::make_buffer_in(Uint memory, std::size_t bytes) const {
  if (!api().extended_pointers) {
    throw BackendError("this OpenCL places no buffers");
  }
  Owned<Mem> buffer = create_in(memory | memory_by_index, bytes, mem_read_write, nullptr);
  make_resident(buffer.get());
  return buffer;
}

Owned<Mem> Session::make_host_only(std::size_t bytes) const {
  if (!api().extended_pointers) {
    throw BackendError("this OpenCL has no host-only buffers");
  }
  Owned<Mem> buffer = create_in(memory_of_host, bytes, mem_read_write, nullptr);
  make_resident(buffer.get());
  return buffer;
}

void Session::make_resident(Mem buffer) const {
  check(api().clEnqueueMigrateMemObjects(queue(), 1, &buffer, migrate_content_undefined, 0, nullptr,
                                         nullptr),
        "clEnqueueMigrateMemObjects");
  finish(queue());
}

Owned<Kernel> Session::make_kernel(const char* name) {
  Int code = success;
  if (!program_) {
    program_ =
        built_program(context_.get(), device_, kernel_source, "", is_cpu() ? "-DCONTIGUOUS" : "");
  }
  Owned<Kernel> kernel(api().clCreateKernel(program_.get(), name, &code));
  check(code, "clCreateKernel");
  return kernel;
}

bool Session::has_kernel(const char* name) const {
  if (!program_) {
    return true;  // our source has all kernels
  }
  const std::string names = text(
      [this](std::size_t size, void* to, std::size_t* needed) {
        return api().clGetProgramInfo(program_.get(), program_kernel_names, size, to, needed);
      },
      "clGetProgramInfo");
  std::istringstream listed(names);
  for (std::string known; std::getline(listed, known, ';');) {
    if (known == name) {
      return true;
    }
  }
  return false;
}

bool Session::shares() const {
  void* page = api().clSVMAlloc(context(), mem_read_write, page_bytes, 0);
  if (page == nullptr) {
    return false;
  }
  api().clSVMFree(context(), page);
  return true;
}

void DeviceMemory::put(std::size_t offset, std::span<const std::byte> from) {
  check(api().clEnqueueWriteBuffer(session_->queue(), handle(), yes, offset, from.size(),
                                   from.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  // Some runtimes return from small blocking writes before the data have arrived.
  finish(session_->queue());
}

void DeviceMemory::get(std::size_t offset, std::span<std::byte> to) {
  check(api().clEnqueueReadBuffer(session_->queue(), handle(), yes, offset, to.size(), to.data(), 0,
                                  nullptr, nullptr),
        "clEnqueueReadBuffer");
}

bool DeviceMemory::in_place(std::size_t bytes, Access access,
                            const std::function<void(std::byte*)>& work) {
  constexpr std::size_t worth_mapping = std::size_t{1} << 20U;
  if (bytes < worth_mapping || !session_->is_cpu()) {
    return false;
  }
  Int code = success;
  void* const mapped = api().clEnqueueMapBuffer(session_->queue(), handle(), yes,
                                                access == Access::read ? map_read : map_write_all,
                                                0, bytes, 0, nullptr, nullptr, &code);
  if (code != success) {
    return false;
  }
  const auto unmap = [&] {
    return api().clEnqueueUnmapMemObject(session_->queue(), handle(), mapped, 0, nullptr, nullptr);
  };
  try {
    work(static_cast<std::byte*>(mapped));
  } catch (...) {
    unmap();
    throw;
  }
  check(unmap(), "clEnqueueUnmapMemObject");
  finish(session_->queue());
  return true;
}

void DeviceMemory::put_words(std::size_t offset, std::span<const std::uint64_t> words) {
  if (words.size() == 1) {  // one row needs no rectangle, whose pitch could exceed the memory
    put(offset, std::as_bytes(words));
    return;
  }
  if (!session_->writes_rectangles()) {
    patch_words(offset, words);
    return;
  }
  const Rows rows(offset, words.size());
  check(api().clEnqueueWriteBufferRect(session_->queue(), handle(), yes, rows.device_origin.data(),
                                       rows.host_origin.data(), rows.region.data(), page_bytes, 0,
                                       sizeof(std::uint64_t), 0, words.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBufferRect");
  finish(session_->queue());
}

/// Reads the pages, a few MiB at once, puts the words in them and writes them back.
void DeviceMemory::patch_words(std::size_t offset, std::span<const std::uint64_t> words) {
  constexpr std::size_t at_once = 1024;
  while (!words.empty()) {
    const auto piece = words.first(std::min(words.size(), at_once));
    std::vector<std::byte> pages((piece.size() - 1) * page_bytes + sizeof(std::uint64_t));
    get(offset, pages);
    for (std::size_t page = 0; page < piece.size(); ++page) {
      std::memcpy(pages.data() + page * page_bytes, &piece[page], sizeof(std::uint64_t));
    }
    put(offset, pages);
    offset += piece.size() * page_bytes;
    words = words.subspan(piece.size());
  }
}

void DeviceMemory::get_words(std::size_t offset, std::span<std::uint64_t> words) {
  if (words.size() == 1) {
    get(offset, std::as_writable_bytes(words));
    return;
  }
  const Rows rows(offset, words.size());
  check(api().clEnqueueReadBufferRect(session_->queue(), handle(), yes, rows.device_origin.data(),
                                      rows.host_origin.data(), rows.region.data(), page_bytes, 0,
                                      sizeof(std::uint64_t), 0, words.data(), 0, nullptr, nullptr),
        "clEnqueueReadBufferRect");
  // AMD's runtime maps the buffer for this call and gives it back later: it must do so before the
  // buffer is freed.
  finish(session_->queue());
}

OpaqueZero::OpaqueZero(const Session& session) : memory_(session, sizeof(std::uint64_t)) {
  constexpr std::uint64_t zero = 0;
  memory_.put(0, std::as_bytes(std::span(&zero, 1)));
}

void OpaqueZero::set_argument(Kernel kernel, Uint index) const {
  const Mem handle = memory_.handle();
  check(api().clSetKernelArg(kernel, index, sizeof(handle), &handle), "clSetKernelArg");
}

HostEnd::HostEnd(const Session& session, const std::string& kind, std::size_t bytes)
    : session_(&session) {
  if (kind != "alloc_host") {
    auto buffer = std::make_unique<HostBuffer>(kind, bytes);
    data_ = buffer->data();
    memory_ = std::move(buffer);
    return;
  }
  mapped_ = session.make_buffer(bytes, mem_read_write | mem_alloc_host_ptr);
  Int code = success;
  data_ = static_cast<std::byte*>(api().clEnqueueMapBuffer(session.queue(), mapped_.get(), yes,
                                                           map_read | map_write, 0, bytes, 0,
                                                           nullptr, nullptr, &code));
  check(code, "clEnqueueMapBuffer");
  memory_ = std::make_unique<HostView>(data_, bytes);
}

HostEnd::~HostEnd() {
  if (mapped_) {
    api().clEnqueueUnmapMemObject(session_->queue(), mapped_.get(), data_, 0, nullptr, nullptr);
    api().clFinish(session_->queue());
  }
}

}  // namespace isthmus::cl
