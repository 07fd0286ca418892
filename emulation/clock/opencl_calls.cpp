// Stands in front of functions of OpenCL and notes the program's last call.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "last_call.hpp"
#include "library.hpp"

namespace isthmus::card::clock {
namespace {

/// A pointer to a function of OpenCL's loader, or of AMD's OpenCL if no loader is used. It is found
/// even if the program loaded the library with RTLD_LOCAL.
template <class Function>
class OfOpenCl {
 public:
  explicit constexpr OfOpenCl(const char* name) : name_(name) {}

  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    Function* function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) {
      function = reinterpret_cast<Function*>(look());
      found_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  [[nodiscard]] void* look() const {
    void* function = dlsym(RTLD_NEXT, name_);
    for (const char* library : {"libOpenCL.so.1", "libxilinxopencl.so.2"}) {
      void* const loaded = function == nullptr ? dlopen(library, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
      function = loaded == nullptr ? function : dlsym(loaded, name_);
    }
    return function;
  }

  const char* name_;
  std::atomic<Function*> found_ = nullptr;
};

// Types of functions as in cl.h, with void* for OpenCL's objects.
using CreateBuffer = void*(void*, std::uint64_t, std::size_t, void*, int*);
using SetKernelArg = int(void*, unsigned, std::size_t, const void*);
using EnqueueTask = int(void*, void*, unsigned, const void*, void*);
using EnqueueKernel = int(void*, void*, unsigned, const void*, const void*, const void*, unsigned,
                          const void*, void*);
using Migrate = int(void*, unsigned, const void*, std::uint64_t, unsigned, const void*, void*);
using WriteBuffer = int(void*, void*, unsigned, std::size_t, std::size_t, const void*, unsigned,
                        const void*, void*);
using ReadBuffer = int(void*, void*, unsigned, std::size_t, std::size_t, void*, unsigned,
                       const void*, void*);
using MapBuffer = void*(void*, void*, unsigned, std::uint64_t, std::size_t, std::size_t, unsigned,
                        const void*, void*, int*);
using Finish = int(void*);
using WaitForEvents = int(unsigned, const void*);

constinit OfOpenCl<CreateBuffer> real_create_buffer("clCreateBuffer");
constinit OfOpenCl<SetKernelArg> real_set_kernel_arg("clSetKernelArg");
constinit OfOpenCl<EnqueueTask> real_enqueue_task("clEnqueueTask");
constinit OfOpenCl<EnqueueKernel> real_enqueue_kernel("clEnqueueNDRangeKernel");
constinit OfOpenCl<Migrate> real_migrate("clEnqueueMigrateMemObjects");
constinit OfOpenCl<WriteBuffer> real_write_buffer("clEnqueueWriteBuffer");
constinit OfOpenCl<ReadBuffer> real_read_buffer("clEnqueueReadBuffer");
constinit OfOpenCl<MapBuffer> real_map_buffer("clEnqueueMapBuffer");
constinit OfOpenCl<Finish> real_finish("clFinish");
constinit OfOpenCl<WaitForEvents> real_wait_for_events("clWaitForEvents");

}  // namespace
}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

ISTHMUS_INTERPOSED void* clCreateBuffer(void* context, std::uint64_t flags, std::size_t bytes,
                                        void* host, int* status) {
  note_call(ApiCall::cl_create_buffer, {}, flags, bytes);
  return real_create_buffer(context, flags, bytes, host, status);
}

ISTHMUS_INTERPOSED int clSetKernelArg(void* kernel, unsigned index, std::size_t bytes,
                                      const void* value) {
  note_call(ApiCall::cl_set_kernel_arg, {}, index, bytes);
  return real_set_kernel_arg(kernel, index, bytes, value);
}

ISTHMUS_INTERPOSED int clEnqueueTask(void* queue, void* kernel, unsigned count, const void* events,
                                     void* event) {
  note_call(ApiCall::cl_enqueue_task, {});
  return real_enqueue_task(queue, kernel, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueNDRangeKernel(void* queue, void* kernel, unsigned dimensions,
                                              const void* offset, const void* global,
                                              const void* local, unsigned count, const void* events,
                                              void* event) {
  note_call(ApiCall::cl_enqueue_ndrange, {}, dimensions);
  return real_enqueue_kernel(queue, kernel, dimensions, offset, global, local, count, events,
                             event);
}

ISTHMUS_INTERPOSED int clEnqueueMigrateMemObjects(void* queue, unsigned buffers,
                                                  const void* objects, std::uint64_t flags,
                                                  unsigned count, const void* events, void* event) {
  note_call(ApiCall::cl_migrate, {}, buffers, flags);
  return real_migrate(queue, buffers, objects, flags, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueWriteBuffer(void* queue, void* buffer, unsigned blocking,
                                            std::size_t offset, std::size_t bytes,
                                            const void* source, unsigned count, const void* events,
                                            void* event) {
  note_call(ApiCall::cl_write_buffer, {}, blocking, offset, bytes);
  return real_write_buffer(queue, buffer, blocking, offset, bytes, source, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueReadBuffer(void* queue, void* buffer, unsigned blocking,
                                           std::size_t offset, std::size_t bytes, void* target,
                                           unsigned count, const void* events, void* event) {
  note_call(ApiCall::cl_read_buffer, {}, blocking, offset, bytes);
  return real_read_buffer(queue, buffer, blocking, offset, bytes, target, count, events, event);
}

ISTHMUS_INTERPOSED void* clEnqueueMapBuffer(void* queue, void* buffer, unsigned blocking,
                                            std::uint64_t flags, std::size_t offset,
                                            std::size_t bytes, unsigned count, const void* events,
                                            void* event, int* status) {
  note_call(ApiCall::cl_map_buffer, {}, blocking, offset, bytes);
  return real_map_buffer(queue, buffer, blocking, flags, offset, bytes, count, events, event,
                         status);
}

ISTHMUS_INTERPOSED int clFinish(void* queue) {
  note_call(ApiCall::cl_finish, {});
  return real_finish(queue);
}

ISTHMUS_INTERPOSED int clWaitForEvents(unsigned count, const void* events) {
  note_call(ApiCall::cl_wait, {}, count);
  return real_wait_for_events(count, events);
}
