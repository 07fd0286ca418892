// A vector addition with a chosen cost of every phase and a chosen result.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "isthmus/offload.hpp"

namespace isthmus {

enum class Adds : std::uint8_t { nothing, wrongly, rightly };

/// Creates the offload. Without `simulated` times each phase calls `pay`, and `pay_offset` in
/// addition for operands that begin within a page. With them the phases report these times.
std::unique_ptr<Offload> make_null_offload(const OperationSpec& spec, Adds adds,
                                           std::function<void()> pay,
                                           std::function<void()> pay_offset,
                                           std::optional<std::int64_t> simulated_fs);

}  // namespace isthmus
