#include "offload.hpp"

#include <string_view>
#include <utility>

namespace isthmus {
namespace {

class NullOffload final : public Offload {
 public:
  NullOffload(const OperationSpec& spec, Adds adds, std::function<void()> pay,
              std::function<void()> pay_offset, std::optional<std::int64_t> simulated_fs)
      : Offload(spec),
        adds_(adds),
        pay_(std::move(pay)),
        pay_offset_(std::move(pay_offset)),
        simulated_fs_(simulated_fs) {}

  void prepare(Phases& phases) override {
    spend(phases, "initialise");
    spend(phases, "program_device");
  }
  void run(Phases& phases, std::uint64_t seed) override {
    const auto address = reinterpret_cast<std::uintptr_t>(HostBuffer(memory(), bytes()).data());
    within_page_ = address % page_bytes != 0;
    for (const std::string& name : device_phases(true)) {
      if (name != "initialise" && name != "program_device") {
        spend(phases, name.c_str());
      }
    }
    if (adds_ == Adds::nothing) {
      return;
    }
    vectors_.emplace(memory(), elements(), relative_offset());
    populate(vectors_->get(), seed);
    software_vadd(vectors_->get());
    if (adds_ == Adds::wrongly) {
      vectors_->get().c[elements() / 2] ^= 1;
    }
  }
  std::optional<Vectors> result() override {
    return vectors_ ? std::optional(vectors_->get()) : std::nullopt;
  }
  bool simulate_adds(Phases& phases) override {
    if (simulated_fs_) {
      spend(phases, "software_vadd");
      spend(phases, "software_vadd_simd");
    }
    return simulated_fs_.has_value();
  }
  void release() override { vectors_.reset(); }

 private:
  void spend(Phases& phases, const char* name) {
    if (simulated_fs_) {
      phases.simulated(name, *simulated_fs_);
    } else if (within_page_ && std::string_view(name) == "migrate_to_device") {
      phases(name, pay_offset_);
    } else {
      phases(name, pay_);
    }
  }

  Adds adds_;
  std::function<void()> pay_;
  std::function<void()> pay_offset_;
  bool within_page_ = false;
  std::optional<std::int64_t> simulated_fs_;
  std::optional<HostVectors> vectors_;
};

}  // namespace

std::unique_ptr<Offload> make_null_offload(const OperationSpec& spec, Adds adds,
                                           std::function<void()> pay,
                                           std::function<void()> pay_offset,
                                           std::optional<std::int64_t> simulated_fs) {
  return std::make_unique<NullOffload>(spec, adds, std::move(pay), std::move(pay_offset),
                                       simulated_fs);
}

}  // namespace isthmus
