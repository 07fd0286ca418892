#include "offload.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace isthmus::card {
namespace {

/// The kind of memory that the runtime allocates and pins.
constexpr const char* pinned = "pinned";

/// Which vectors in host memory begin at a page.
struct Placement {
  bool operands_aligned;  ///< operands begin at a page: the driver pins and does not copy them
  bool result_aligned;
};

Placement placement_of(const Offload& offload) {
  const bool aligned = offload.memory() == "aligned" || offload.memory() == "offset0";
  return {aligned, aligned && offload.relative_offset() == 0};
}

/// The vector addition on the emulated card. If operands do not begin at a page, the driver makes
/// copies at the mapping, fills them at sends, and copies results back.
class CardOffload final : public Offload {
 public:
  CardOffload(const Board& board, const OperationSpec& spec)
      : Offload(spec), card_(board), costs_(board.offload.value()), place_(placement_of(*this)) {}

  void prepare(Phases& phases) override {
    tell(phases, "initialise", costs_.initialise_ns);
    if (costs_.program_ns > 0) {
      tell(phases, "program_device", costs_.program_ns);
    }
  }

  void run(Phases& phases, std::uint64_t seed) override {
    card_.reset();
    allocate();
    populate(vectors_.value(), seed);
    tell(phases, "allocate",
         costs_.allocate_ns + (place_.operands_aligned ? costs_.align_ns : 0.0) +
             (own() ? 3 * pages() * (costs_.fault_ns + costs_.pin_ns) : 0.0));
    tell(phases, "populate",
         (own() ? 0.0 : 2 * pages() * costs_.fault_ns) +
             costs_.populate_ns * static_cast<double>(elements()));
    if (!own()) {
      tell(phases, "map", 2 * map_ns(place_.operands_aligned) + map_ns(place_.result_aligned));
    }
    tell(phases, "set_arguments", costs_.arguments_ns);
    const double copied = bounces(place_.operands_aligned) ? 2 * copy_ns() : 0.0;
    phases.simulated("migrate_to_device", send() + from_nanoseconds(copied));
    tell(phases, "kernel_enqueue", costs_.enqueue_ns);
    phases.simulated("kernel_run", kernel());
    // The copy is the first access to the result's pages, so it pays their faults.
    const double back =
        bounces(place_.result_aligned) ? copy_ns() + pages() * costs_.fault_ns : 0.0;
    phases.simulated("read_back", bring() + from_nanoseconds(back));
  }

  std::optional<Vectors> result() override { return vectors_; }
  bool simulate_adds(Phases& phases) override {
    tell(phases, "software_vadd",
         pages() * costs_.fault_ns + costs_.add_ns * static_cast<double>(elements()));
    return true;
  }
  void release() override {
    vectors_.reset();
    bounce_.clear();
    host_.reset();
    for (auto& buffer : buffers_) {
      buffer.reset();
    }
  }

 private:
  static void tell(Phases& phases, const char* name, double nanoseconds) {
    phases.simulated(name, from_nanoseconds(nanoseconds));
  }
  /// Returns the number of pages that one vector needs.
  [[nodiscard]] double pages() const {
    const std::size_t whole = (bytes() + page_bytes - 1) / page_bytes;
    return static_cast<double>(whole);
  }
  [[nodiscard]] double copy_ns() const {
    return static_cast<double>(bytes()) / costs_.copy_Bps * 1e9;
  }
  [[nodiscard]] double map_ns(bool aligned) const {
    const double in_place = pages() * costs_.pin_ns;
    return aligned ? in_place : in_place + pages() * costs_.fault_ns + copy_ns();
  }

  void allocate() {
    for (int i = 0; i < 3; ++i) {
      bounce_.push_back(card_.pinned(bytes()));
    }
    if (own()) {
      const auto at = [this](std::size_t i) {
        return reinterpret_cast<Element*>(bounce_[i].data());
      };
      vectors_ = {.a = at(0), .b = at(1), .c = at(2), .elements = elements()};
    } else {
      host_.emplace(memory(), elements(), relative_offset());
      vectors_ = host_->get();
    }
    for (auto& buffer : buffers_) {
      buffer = card_.allocate(0, bytes());
    }
  }

  /// Sends both operands one after the other, through the driver's copies if it made any.
  Time send() {
    Time time = 0;
    for (const std::size_t i : {0U, 1U}) {
      std::byte* from = vector(i);
      if (bounces(place_.operands_aligned)) {
        std::memcpy(bounce_[i].data(), from, bytes());
        from = bounce_[i].data();
      }
      const std::array<Transfer, 1> up = {
          {{Direction::h2d, from, buffers_.at(i).get(), 0, bytes()}}};
      time += card_.transfer(up);
    }
    return time;
  }
  Time bring() {
    const bool bounced = bounces(place_.result_aligned);
    std::byte* to = bounced ? bounce_[2].data() : vector(2);
    const std::array<Transfer, 1> down = {{{Direction::d2h, to, buffers_[2].get(), 0, bytes()}}};
    const Time time = card_.transfer(down);
    if (bounced) {
      std::memcpy(vector(2), to, bytes());
    }
    return time;
  }
  [[nodiscard]] std::byte* vector(std::size_t i) const {
    const std::array<void*, 3> all = {vectors_.value().a, vectors_.value().b, vectors_.value().c};
    return static_cast<std::byte*>(all.at(i));
  }
  [[nodiscard]] bool bounces(bool aligned) const { return !own() && !aligned; }
  [[nodiscard]] bool own() const { return memory() == pinned; }

  [[nodiscard]] Time kernel() {
    KernelCall call;
    call.kernel = Kernel::vadd;
    call.bytes = bytes();
    call.inputs = {buffers_[0].get(), buffers_[1].get()};
    call.output = buffers_[2].get();
    const KernelTime time = card_.run_kernel(call);
    const Time least = from_nanoseconds(costs_.kernel_ns * static_cast<double>(elements()));
    return time.total - time.kernel + std::max(time.kernel, least);
  }

  Card card_;
  OffloadParameters costs_;
  Placement place_;
  std::optional<HostVectors> host_;
  std::vector<Pages> bounce_;  ///< pinned pages: of the vectors, or of the driver's copies
  std::optional<Vectors> vectors_;
  std::array<std::unique_ptr<CardBuffer>, 3> buffers_;
};

/// Removes the phases that wait for queued sends, because sends block.
OperationInfo emulated(OperationInfo info, std::vector<std::string> kinds, bool programs) {
  std::erase_if(info.parts, [programs](const PartInfo& part) {
    return (part.name == "program_device" && !programs) || part.name == "migrate_to_device_wait" ||
           part.name == "software_vadd_simd";
  });
  info.memory_kinds = std::move(kinds);
  return info;
}

}  // namespace

std::vector<OperationInfo> offloads(const OffloadParameters& costs) {
  const bool programs = costs.program_ns > 0;
  return {emulated(user_offload(device_phases(true)), {"aligned", "pageable"}, programs),
          emulated(offload_of(device_phases(false)), {pinned}, programs)};
}

std::unique_ptr<Offload> make_offload(const Board& board, const OperationSpec& spec) {
  if (!board.offload) {
    throw UsageError("board '" + board.name + "' has no times of an offload's software");
  }
  return std::make_unique<CardOffload>(board, spec);
}

}  // namespace isthmus::card
