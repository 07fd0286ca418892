// Messages by the MPI library that the process has loaded. Isthmus is built without MPI: it finds
// the functions by name, in the binary interface of Open MPI or of MPICH.
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/communicator.hpp"

namespace isthmus {
namespace {

constexpr int success = 0;  // MPI_SUCCESS in both interfaces

/// A handle of dlopen: a loaded library, or null for the program itself.
using Library = void*;

template <class Function>
Function find(Library library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

template <class Function>
Function need(Library library, const char* name) {
  auto found = find<Function>(library, name);
  if (found == nullptr) {
    throw BackendError(std::string("the MPI of this process has no ") + name);
  }
  return found;
}

/// Returns the pointer with these bits; GCC 10 lacks the standard bit cast.
void* pointer_of(std::uintptr_t value) {
  void* pointer = nullptr;
  std::memcpy(&pointer, &value, sizeof pointer);
  return pointer;
}

/// Open MPI's interface: handles are pointers; constants are addresses of exported objects.
struct OpenMpi {
  using Handle = void*;
  static constexpr std::uintptr_t status_ignore = 0;

  static Handle handle(std::uintptr_t value) { return pointer_of(value); }
  static Handle byte(Library library) { return need<Handle>(library, "ompi_mpi_byte"); }
  static Handle no_request(Library library) { return need<Handle>(library, "ompi_request_null"); }
  static Handle errors_return(Library library) {
    return need<Handle>(library, "ompi_mpi_errors_return");
  }
};

/// The interface of MPICH and of Intel's, Cray's and MVAPICH's libraries: handles and constants are
/// integers.
struct Mpich {
  using Handle = int;
  static constexpr std::uintptr_t status_ignore = 1;

  static Handle handle(std::uintptr_t value) { return static_cast<Handle>(value); }
  static Handle byte(Library /*library*/) { return 0x4c00010d; }
  static Handle no_request(Library /*library*/) { return 0x2c000000; }
  static Handle errors_return(Library /*library*/) { return 0x54000001; }
};

/// Pointers to the MPI functions that Isthmus calls, for one type of handle.
template <class Abi>
struct Functions {
  using Handle = Abi::Handle;

  explicit Functions(Library library) {
    const auto bind = [library](auto& function, const char* name) {
      function = need<std::remove_reference_t<decltype(function)>>(library, name);
    };
    bind(comm_dup, "MPI_Comm_dup");
    bind(comm_set_errhandler, "MPI_Comm_set_errhandler");
    bind(comm_rank, "MPI_Comm_rank");
    bind(comm_size, "MPI_Comm_size");
    bind(barrier, "MPI_Barrier");
    bind(all_gather, "MPI_Allgather");
    bind(broadcast, "MPI_Bcast");
    bind(send, "MPI_Send");
    bind(receive, "MPI_Recv");
    bind(begin_send, "MPI_Isend");
    bind(begin_receive, "MPI_Irecv");
    bind(wait_all, "MPI_Waitall");
    bind(cancel, "MPI_Cancel");
    bind(error_string, "MPI_Error_string");
  }

  int (*comm_dup)(Handle, Handle*) = nullptr;
  int (*comm_set_errhandler)(Handle, Handle) = nullptr;
  int (*comm_rank)(Handle, int*) = nullptr;
  int (*comm_size)(Handle, int*) = nullptr;
  int (*barrier)(Handle) = nullptr;
  int (*all_gather)(const void*, int, Handle, void*, int, Handle, Handle) = nullptr;
  int (*broadcast)(void*, int, Handle, int, Handle) = nullptr;
  int (*send)(const void*, int, Handle, int, int, Handle) = nullptr;
  int (*receive)(void*, int, Handle, int, int, Handle, void*) = nullptr;
  int (*begin_send)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*begin_receive)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*wait_all)(int, Handle*, void*) = nullptr;
  int (*cancel)(Handle*) = nullptr;
  int (*error_string)(int, char*, int*) = nullptr;
};

int count_of(std::size_t bytes) {
  if (bytes > INT_MAX) {
    throw BackendError("MPI sends no more than 2 GiB - 1 at once");
  }
  return static_cast<int>(bytes);
}

template <class Abi>
class MpiCommunicator final : public Communicator {
 public:
  /// Duplicates the communicator `handle`. The duplicate is never freed: MPI_Comm_free is
  /// collective, and ranks destroy their objects at different times.
  MpiCommunicator(Library library, std::string vendor, std::uintptr_t handle)
      : mpi_(library),
        vendor_(std::move(vendor)),
        byte_(Abi::byte(library)),
        no_request_(Abi::no_request(library)) {
    check(mpi_.comm_dup(Abi::handle(handle), &comm_), "MPI_Comm_dup");
    check(mpi_.comm_set_errhandler(comm_, Abi::errors_return(library)), "MPI_Comm_set_errhandler");
    check(mpi_.comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(mpi_.comm_size(comm_, &size_), "MPI_Comm_size");
  }

  [[nodiscard]] unsigned rank() const noexcept override { return static_cast<unsigned>(rank_); }
  [[nodiscard]] unsigned size() const noexcept override { return static_cast<unsigned>(size_); }

  void send(std::span<const std::byte> data, unsigned to, int tag) override {
    check(mpi_.send(data.data(), count_of(data.size()), byte_, static_cast<int>(to), tag, comm_),
          "MPI_Send");
  }
  void receive(std::span<std::byte> data, unsigned from, int tag) override {
    check(mpi_.receive(data.data(), count_of(data.size()), byte_, static_cast<int>(from), tag,
                       comm_, ignored()),
          "MPI_Recv");
  }
  void begin_send(std::span<const std::byte> data, unsigned to, int tag) override {
    or_abandon([&] {
      check(mpi_.begin_send(data.data(), count_of(data.size()), byte_, static_cast<int>(to), tag,
                            comm_, &pending_.emplace_back(no_request_)),
            "MPI_Isend");
    });
  }
  void begin_receive(std::span<std::byte> data, unsigned from, int tag) override {
    or_abandon([&] {
      check(mpi_.begin_receive(data.data(), count_of(data.size()), byte_, static_cast<int>(from),
                               tag, comm_, &pending_.emplace_back(no_request_)),
            "MPI_Irecv");
    });
  }
  void begin_sends(std::span<const Message> messages) override {
    or_abandon([&] { begin(messages, mpi_.begin_send, "MPI_Isend"); });
  }
  void begin_receives(std::span<const Message> messages) override {
    or_abandon([&] { begin(messages, mpi_.begin_receive, "MPI_Irecv"); });
  }
  void wait_all() override {
    or_abandon([&] {
      check(mpi_.wait_all(static_cast<int>(pending_.size()), pending_.data(), ignored()),
            "MPI_Waitall");
    });
    pending_.clear();
  }

 protected:
  void meet() override { check(mpi_.barrier(comm_), "MPI_Barrier"); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    const int count = count_of(own.size());
    check(mpi_.all_gather(own.data(), count, byte_, all.data(), count, byte_, comm_),
          "MPI_Allgather");
  }
  void spread(std::span<std::byte> data, unsigned root) override {
    check(mpi_.broadcast(data.data(), count_of(data.size()), byte_, static_cast<int>(root), comm_),
          "MPI_Bcast");
  }

 private:
  using Handle = Abi::Handle;

  template <class Begin>
  void begin(std::span<const Message> messages, Begin begin_one, const char* function) {
    const std::size_t before = pending_.size();
    pending_.resize(before + messages.size(), no_request_);
    Handle* request = pending_.data() + before;
    for (const Message& message : messages) {
      check(begin_one(message.data.data(), count_of(message.data.size()), byte_,
                      static_cast<int>(message.peer), message.tag, comm_, request++),
            function);
    }
  }

  /// Executes `action`. If it throws, cancels the messages in `pending_` and waits for them, so
  /// that MPI does not access their memory later.
  template <class Action>
  void or_abandon(const Action& action) {
    try {
      action();
    } catch (...) {
      std::erase(pending_, no_request_);
      for (Handle& request : pending_) {
        mpi_.cancel(&request);
      }
      mpi_.wait_all(static_cast<int>(pending_.size()), pending_.data(), ignored());
      pending_.clear();
      throw;
    }
  }

  static void* ignored() { return pointer_of(Abi::status_ignore); }

  void check(int code, const char* function) {
    if (code == success) {
      return;
    }
    std::array<char, 4096> text{};  // longer than the longest error text of both libraries
    int length = 0;
    mpi_.error_string(code, text.data(), &length);
    throw BackendError(vendor_ + ": " + function + ": " + text.data());
  }

  Functions<Abi> mpi_;
  std::string vendor_;
  Handle byte_;
  Handle no_request_;
  Handle comm_{};
  int rank_ = 0;
  int size_ = 0;
  std::vector<Handle> pending_;
};

/// Returns whether this library has been initialised and not finalised.
bool in_use(Library library) {
  const auto is_set = [library](const char* name) {
    int answer = 0;
    auto* function = find<int (*)(int*)>(library, name);
    return function != nullptr && function(&answer) == success && answer != 0;
  };
  return is_set("MPI_Initialized") && !is_set("MPI_Finalized");
}

/// Returns the program and each loaded library named libmpi*: Python loads extension modules with
/// local symbols, so a search of the program alone may miss MPI.
std::vector<Library> mpi_libraries() {
  std::vector<std::string> names;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libmpi")) {
          static_cast<std::vector<std::string>*>(found)->emplace_back(path);
        }
        return 0;
      },
      &names);
  std::vector<Library> libraries = {RTLD_DEFAULT};
  for (const std::string& name : names) {
    if (Library library = dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY); library != nullptr) {
      libraries.push_back(library);
    }
  }
  return libraries;
}

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(const std::string& vendor, std::uintptr_t handle) {
  for (Library library : mpi_libraries()) {
    if (!in_use(library)) {
      continue;
    }
    if (find<void*>(library, "ompi_mpi_byte") != nullptr) {
      return std::make_unique<MpiCommunicator<OpenMpi>>(library, vendor, handle);
    }
    return std::make_unique<MpiCommunicator<Mpich>>(library, vendor, handle);
  }
  throw BackendError("no MPI is in use in this process: mpi4py loads and initialises one (" +
                     vendor + ")");
}

}  // namespace isthmus
