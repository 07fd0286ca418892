// Stands in front of functions of OpenCL and notes the program's last call.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "last_call.hpp"
#include "library.hpp"
#include "opencl_order.hpp"

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
using CreateQueue = void*(void*, void*, std::uint64_t, int*);
using CreateQueueWithProperties = void*(void*, void*, const std::uint64_t*, int*);
using CreateKernel = void*(void*, const char*, int*);
using Barrier = int(void*, unsigned, const void*, void*);
using EventInfo = int(void*, unsigned, std::size_t, void*, std::size_t*);
using EventCallback = int(void*, int, void*, void*);

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
constinit OfOpenCl<CreateQueue> real_create_queue("clCreateCommandQueue");
constinit OfOpenCl<CreateQueueWithProperties> real_create_queue_with(
    "clCreateCommandQueueWithProperties");
constinit OfOpenCl<CreateKernel> real_create_kernel("clCreateKernel");
constinit OfOpenCl<Barrier> real_barrier("clEnqueueBarrierWithWaitList");
constinit OfOpenCl<Finish> real_old_barrier("clEnqueueBarrier");
constinit OfOpenCl<EventInfo> real_event_info("clGetEventInfo");
constinit OfOpenCl<EventCallback> real_event_callback("clSetEventCallback");

// Of cl.h: properties of queues, and flags of migrations.
constexpr std::uint64_t out_of_order = 1;
constexpr std::uint64_t queue_properties = 0x1093;
constexpr std::uint64_t to_host = 1;
constexpr std::uint64_t content_undefined = 2;

}  // namespace
}  // namespace isthmus::card::clock

using namespace isthmus::card::clock;

ISTHMUS_INTERPOSED void* clCreateBuffer(void* context, std::uint64_t flags, std::size_t bytes,
                                        void* host, int* status) {
  note_call(ApiCall::cl_create_buffer, {}, flags, bytes);
  void* const buffer = real_create_buffer(context, flags, bytes, host, status);
  know_cl_buffer(buffer, flags, bytes);
  return buffer;
}

ISTHMUS_INTERPOSED int clSetKernelArg(void* kernel, unsigned index, std::size_t bytes,
                                      const void* value) {
  note_call(ApiCall::cl_set_kernel_arg, {}, index, bytes);
  const bool may_be_buffer = bytes == sizeof(void*) && value != nullptr;
  void* buffer = nullptr;
  if (may_be_buffer) {
    std::memcpy(&buffer, value, sizeof(buffer));  // a value of 8 bytes may lie anywhere
  }
  note_cl_argument(kernel, index, buffer);
  return real_set_kernel_arg(kernel, index, bytes, value);
}

ISTHMUS_INTERPOSED int clEnqueueTask(void* queue, void* kernel, unsigned count, const void* events,
                                     void* event) {
  note_call(ApiCall::cl_enqueue_task, {});
  note_cl_kernel(queue, kernel, count);
  return real_enqueue_task(queue, kernel, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueNDRangeKernel(void* queue, void* kernel, unsigned dimensions,
                                              const void* offset, const void* global,
                                              const void* local, unsigned count, const void* events,
                                              void* event) {
  note_call(ApiCall::cl_enqueue_ndrange, {}, dimensions);
  note_cl_kernel(queue, kernel, count);
  return real_enqueue_kernel(queue, kernel, dimensions, offset, global, local, count, events,
                             event);
}

ISTHMUS_INTERPOSED int clEnqueueMigrateMemObjects(void* queue, unsigned buffers,
                                                  const void* objects, std::uint64_t flags,
                                                  unsigned count, const void* events, void* event) {
  note_call(ApiCall::cl_migrate, {}, buffers, flags);
  for (unsigned index = 0; objects != nullptr && index < buffers; ++index) {
    const void* const buffer = static_cast<const void* const*>(objects)[index];
    if ((flags & to_host) != 0) {
      note_cl_read("clEnqueueMigrateMemObjects", queue, buffer, 0, whole_buffer, count);
    } else {
      note_cl_migration(queue, buffer, (flags & content_undefined) == 0);
    }
  }
  return real_migrate(queue, buffers, objects, flags, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueWriteBuffer(void* queue, void* buffer, unsigned blocking,
                                            std::size_t offset, std::size_t bytes,
                                            const void* source, unsigned count, const void* events,
                                            void* event) {
  note_call(ApiCall::cl_write_buffer, {}, blocking, offset, bytes);
  if (blocking == 0) {
    note_cl_send(queue, buffer);
  } else if (count != 0) {
    note_cl_wait();
  }
  return real_write_buffer(queue, buffer, blocking, offset, bytes, source, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueReadBuffer(void* queue, void* buffer, unsigned blocking,
                                           std::size_t offset, std::size_t bytes, void* target,
                                           unsigned count, const void* events, void* event) {
  note_call(ApiCall::cl_read_buffer, {}, blocking, offset, bytes);
  note_cl_read("clEnqueueReadBuffer", queue, buffer, offset, bytes, count);
  if (blocking != 0 && count != 0) {
    note_cl_wait();
  }
  return real_read_buffer(queue, buffer, blocking, offset, bytes, target, count, events, event);
}

ISTHMUS_INTERPOSED void* clEnqueueMapBuffer(void* queue, void* buffer, unsigned blocking,
                                            std::uint64_t flags, std::size_t offset,
                                            std::size_t bytes, unsigned count, const void* events,
                                            void* event, int* status) {
  note_call(ApiCall::cl_map_buffer, {}, blocking, offset, bytes);
  if (blocking != 0 && count != 0) {
    note_cl_wait();
  }
  return real_map_buffer(queue, buffer, blocking, flags, offset, bytes, count, events, event,
                         status);
}

ISTHMUS_INTERPOSED int clFinish(void* queue) {
  note_call(ApiCall::cl_finish, {});
  const int status = real_finish(queue);
  note_cl_wait();
  return status;
}

ISTHMUS_INTERPOSED int clWaitForEvents(unsigned count, const void* events) {
  note_call(ApiCall::cl_wait, {}, count);
  const int status = real_wait_for_events(count, events);
  note_cl_wait();
  return status;
}

ISTHMUS_INTERPOSED void* clCreateCommandQueue(void* context, void* device, std::uint64_t properties,
                                              int* status) {
  void* const queue = real_create_queue(context, device, properties, status);
  know_queue(queue, (properties & out_of_order) != 0);
  return queue;
}

ISTHMUS_INTERPOSED void* clCreateCommandQueueWithProperties(void* context, void* device,
                                                            const std::uint64_t* properties,
                                                            int* status) {
  void* const queue = real_create_queue_with(context, device, properties, status);
  bool is_out_of_order = false;
  for (const std::uint64_t* each = properties; each != nullptr && *each != 0; each += 2) {
    is_out_of_order |= each[0] == queue_properties && (each[1] & out_of_order) != 0;
  }
  know_queue(queue, is_out_of_order);
  return queue;
}

ISTHMUS_INTERPOSED void* clCreateKernel(void* program, const char* name, int* status) {
  void* const kernel = real_create_kernel(program, name, status);
  know_cl_kernel(kernel, name);
  return kernel;
}

ISTHMUS_INTERPOSED int clEnqueueBarrierWithWaitList(void* queue, unsigned count, const void* events,
                                                    void* event) {
  note_cl_wait();
  return real_barrier(queue, count, events, event);
}

ISTHMUS_INTERPOSED int clEnqueueBarrier(void* queue) {
  note_cl_wait();
  return real_old_barrier(queue);
}

/// A program that looks at events may learn of commands' ends, and so may one with callbacks.
ISTHMUS_INTERPOSED int clGetEventInfo(void* event, unsigned what, std::size_t bytes, void* value,
                                      std::size_t* needed) {
  note_cl_wait();
  return real_event_info(event, what, bytes, value, needed);
}

ISTHMUS_INTERPOSED int clSetEventCallback(void* event, int state, void* function, void* data) {
  note_cl_wait();
  return real_event_callback(event, state, function, data);
}
