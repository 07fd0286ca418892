// An offload that costs what it is told in every phase, and adds as it is told.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isthmus/offload.hpp"

namespace isthmus {

enum class Adds : std::uint8_t { nothing, wrongly, rightly };

/// Without times of its own: each phase pays, and `pay_offset` sends operands that begin within a
/// page. With them, it says that it took so long.
std::unique_ptr<Offload> make_null_offload(const OperationSpec& spec, Adds adds,
                                           std::function<void()> pay,
                                           std::function<void()> pay_offset,
                                           std::optional<std::int64_t> simulated_fs);

}  // namespace isthmus
