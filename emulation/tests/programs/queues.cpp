// Transfers that a queue of OpenCL has at once on an emulated card. Prints one JSON object.
#include <string>
#include <vector>

#include "on_card.hpp"
#include "on_opencl.hpp"

namespace {

/// So many buffers of so many bytes, migrated to the card, back, and as many each way at once:
/// bytes a second.
void queued(const Arguments& arguments) {
  OpenCl card(arguments[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const std::size_t bytes = std::stoul(arguments[1]);
  const std::size_t count = std::stoul(arguments[2]);
  std::vector<cl_mem> first;
  std::vector<cl_mem> second;
  for (std::size_t i = 0; i < count; ++i) {
    first.push_back(card.buffer(bytes));
    second.push_back(card.buffer(bytes));
  }
  const auto migrate = [&](const std::vector<cl_mem>& buffers, cl_mem_migration_flags flags) {
    check(clEnqueueMigrateMemObjects(card.queue, static_cast<cl_uint>(buffers.size()),
                                     buffers.data(), flags, 0, nullptr, nullptr));
  };
  const auto finished = [&](const std::string& name, double times, const auto& what) {
    const double took = lasted([&] {
      what();
      check(clFinish(card.queue));
    });
    tell(name, times * static_cast<double>(bytes * count) / took);
  };
  migrate(first, 0);
  migrate(second, 0);
  check(clFinish(card.queue));
  finished("h2d", 1, [&] { migrate(first, 0); });
  finished("d2h", 1, [&] { migrate(first, CL_MIGRATE_MEM_OBJECT_HOST); });
  finished("both", 2, [&] {
    migrate(first, 0);
    migrate(second, CL_MIGRATE_MEM_OBJECT_HOST);
  });
}

}  // namespace

int main(int count, char** given) { return act(count, given, {{"queued", queued}}); }
