#include "offload.hpp"

namespace isthmus {
namespace {

/// The vector addition by a program without a device: it allocates and populates, then the host
/// adds.
class HostOffload final : public Offload {
 public:
  using Offload::Offload;

  void prepare(Phases& /*phases*/) override {}
  void run(Phases& phases, std::uint64_t seed) override {
    phases("allocate", [this] { vectors_.emplace(memory(), elements(), relative_offset()); });
    phases("populate", [&] { populate(vectors_->get(), seed); });
  }
  [[nodiscard]] bool computes() const override { return false; }
  std::optional<Vectors> result() override { return vectors_.value().get(); }
  void release() override { vectors_.reset(); }

 private:
  std::optional<HostVectors> vectors_;
};

}  // namespace

OperationInfo host_offload() {
  OperationInfo info = user_offload({"allocate", "populate"});
  std::erase_if(info.parts, [](const PartInfo& part) {
    // without an offload, a sum of phases has no meaning
    return part.name == "total" || part.name == "remainder";
  });
  return info;
}

std::unique_ptr<Offload> make_host_offload(const OperationSpec& spec) {
  return std::make_unique<HostOffload>(spec);
}

}  // namespace isthmus
