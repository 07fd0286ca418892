#include "objects.hpp"

#include <array>

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

/// The words of consecutive pages as a strided rectangle: rows of 8 bytes, a page apart.
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

Session::Session(DeviceId device) : device_(device) {
  Int code = success;
  context_.reset(api().clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code));
  check(code, "clCreateContext");
  queue_ = make_queue();
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
  Int code = success;
  Owned<Mem> buffer(api().clCreateBuffer(context_.get(), flags, bytes, nullptr, &code));
  check(code, "clCreateBuffer");
  return buffer;
}

Owned<Kernel> Session::make_kernel(const char* name) {
  Int code = success;
  if (!program_) {
    const char* source = kernel_source;
    Owned<Program> program(
        api().clCreateProgramWithSource(context_.get(), 1, &source, nullptr, &code));
    check(code, "clCreateProgramWithSource");
    const char* options = is_cpu() ? "-DCONTIGUOUS" : "";
    code = api().clBuildProgram(program.get(), 1, &device_, options, nullptr, nullptr);
    if (code != success) {
      const std::string log = text(
          [&](std::size_t size, void* to, std::size_t* needed) {
            return api().clGetProgramBuildInfo(program.get(), device_, program_build_log, size, to,
                                               needed);
          },
          "clGetProgramBuildInfo");
      throw BackendError(std::string("clBuildProgram: ") + error_name(code) + "\n" + log);
    }
    program_ = std::move(program);
  }
  Owned<Kernel> kernel(api().clCreateKernel(program_.get(), name, &code));
  check(code, "clCreateKernel");
  return kernel;
}

void DeviceMemory::put(std::size_t offset, std::span<const std::byte> from) {
  check(api().clEnqueueWriteBuffer(session_->queue(), handle(), yes, offset, from.size(),
                                   from.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
  // Some runtimes return early from small blocking writes.
  check(api().clFinish(session_->queue()), "clFinish");
}

void DeviceMemory::get(std::size_t offset, std::span<std::byte> to) {
  check(api().clEnqueueReadBuffer(session_->queue(), handle(), yes, offset, to.size(), to.data(), 0,
                                  nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void DeviceMemory::put_words(std::size_t offset, std::span<const std::uint64_t> words) {
  if (words.size() == 1) {  // one row needs no rectangle, and fits where a whole pitch would not
    put(offset, std::as_bytes(words));
    return;
  }
  const Rows rows(offset, words.size());
  check(api().clEnqueueWriteBufferRect(session_->queue(), handle(), yes, rows.device_origin.data(),
                                       rows.host_origin.data(), rows.region.data(), page_bytes, 0,
                                       sizeof(std::uint64_t), 0, words.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBufferRect");
  check(api().clFinish(session_->queue()), "clFinish");
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
