// Errors under several ranks: if one rank fails, all ranks throw, so that no rank waits forever for
// another in a collective call.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isthmus/communicator.hpp"

namespace isthmus {

/// Returns the texts of all ranks, in the order of ranks. Collective.
std::vector<std::string> gathered_texts(Communicator& communicator, const std::string& own);
/// Returns the calling rank and its host as "rank 1 (HOST): ", the start of messages; "" if there
/// is one rank.
std::string rank_and_host(const Communicator& communicator);

/// Kind and text of a rank's exception, which other ranks receive; false if there was none.
struct Trouble {
  enum class Kind : std::uint8_t { none, usage, failed, lost, memory };
  Kind kind = Kind::none;
  std::string text;  ///< names the rank and its host

  explicit operator bool() const noexcept { return kind != Kind::none; }
};

/// Executes `action`, which must not be collective, and returns the exception that it throws.
Trouble trouble_of(const Communicator& communicator, const std::function<void()>& action);

/// Throws on all ranks, with a line for each rank that has trouble, if any rank has. Collective.
void throw_on_all(Communicator& communicator, const Trouble& trouble);

}  // namespace isthmus
