// An offload with a chosen cost in every phase and a chosen result of the addition.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isthmus/offload.hpp"

namespace isthmus {

enum class Adds : std::uint8_t { nothing, wrongly, rightly };

/// Without simulated times, each phase calls `pay`, and `pay_offset` sends operands that begin
/// within a page. With simulated times, it reports these.
std::unique_ptr<Offload> make_null_offload(const OperationSpec& spec, Adds adds,
                                           std::function<void()> pay,
                                           std::function<void()> pay_offset,
                                           std::optional<std::int64_t> simulated_fs);

}  // namespace isthmus
