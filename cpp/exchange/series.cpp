#include "isthmus/backend.hpp"
#include "isthmus/joint.hpp"

namespace isthmus {

class JointSeries::Impl {
 public:
  std::string state = "open";
};

JointSeries::JointSeries(Device& /*device*/, OperationSpec /*spec*/, SeriesOptions /*options*/,
                         Communicator& /*communicator*/)
    : impl_(std::make_unique<Impl>()) {}
JointSeries::~JointSeries() = default;
Block JointSeries::measure(double /*most_seconds*/) { throw BackendError("not yet"); }
const std::string& JointSeries::state() const noexcept { return impl_->state; }

std::unique_ptr<Communicator> mpi_communicator(const std::string& /*vendor*/,
                                               std::uintptr_t /*handle*/) {
  throw BackendError("not yet");
}

}  // namespace isthmus
