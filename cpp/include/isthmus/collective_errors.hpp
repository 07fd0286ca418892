// Errors of ranks: all ranks throw the errors of each rank, so that no rank waits in a collective
// forever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isthmus/communicator.hpp"

namespace isthmus {

/// The text of every rank, in the order of ranks. Collective.
std::vector<std::string> gathered_texts(Communicator& communicator, const std::string& own);
/// Name of the calling rank in messages, with its host; empty for a single rank.
std::string rank_and_host(const Communicator& communicator);

/// Kind and text of an exception, for other ranks.
struct Trouble {
  enum class Kind : std::uint8_t { none, usage, failed, lost, memory };
  Kind kind = Kind::none;
  std::string text;  ///< names the rank and its host

  explicit operator bool() const noexcept { return kind != Kind::none; }
};

/// Executes an action without collectives and catches its exception.
Trouble trouble_of(const Communicator& communicator, const std::function<void()>& action);

/// Collective: if any rank has trouble, throws on all ranks, with a line for each trouble.
void throw_on_all(Communicator& communicator, const Trouble& trouble);

}  // namespace isthmus
