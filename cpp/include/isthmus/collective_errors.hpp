// Errors among ranks: what one throws all throw, so that none is left waiting in a collective.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isthmus/communicator.hpp"

namespace isthmus {

/// The text of every rank, in their order. Collective.
std::vector<std::string> gathered_texts(Communicator& communicator, const std::string& own);
/// How messages name the calling rank: with its host, and not at all where it is alone.
std::string rank_and_host(const Communicator& communicator);

/// What an action threw, so far as other ranks need to know it.
struct Trouble {
  enum class Kind : std::uint8_t { none, usage, failed, lost, memory };
  Kind kind = Kind::none;
  std::string text;  ///< names the rank and its host

  explicit operator bool() const noexcept { return kind != Kind::none; }
};

/// Does something that is no collective; what it throws is kept for later.
Trouble trouble_of(const Communicator& communicator, const std::function<void()>& action);

/// Collective: throws on all ranks what any of them has, with a line for each; else returns.
void throw_on_all(Communicator& communicator, const Trouble& trouble);

}  // namespace isthmus
