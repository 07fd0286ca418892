#include "isthmus/together.hpp"

#include <unistd.h>

#include <array>
#include <new>
#include <vector>

#include "isthmus/backend.hpp"

namespace isthmus {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

/// What is sent first, so that everybody knows how much text comes.
struct Head {
  Trouble::Kind kind;
  std::uint64_t bytes;
};

[[noreturn]] void raise(Trouble::Kind kind, const std::string& text) {
  switch (kind) {
    case Trouble::Kind::usage:
      throw UsageError(text);
    case Trouble::Kind::lost:
      throw DeviceLostError(text);
    case Trouble::Kind::memory:
      throw MemoryLimitError(text);
    default:
      throw BackendError(text);
  }
}

}  // namespace

Trouble trouble_of(const Communicator& communicator, const std::function<void()>& action) {
  const auto trouble = [&communicator](Trouble::Kind kind, const std::string& text) -> Trouble {
    std::string where;
    if (communicator.size() > 1) {
      where = "rank " + std::to_string(communicator.rank()) + " (" + host_name() + "): ";
    }
    return {.kind = kind, .text = where + text};
  };
  try {
    action();
    return {};
  } catch (const UsageError& error) {
    return trouble(Trouble::Kind::usage, error.what());
  } catch (const DeviceLostError& error) {
    return trouble(Trouble::Kind::lost, error.what());
  } catch (const MemoryLimitError& error) {
    return trouble(Trouble::Kind::memory, error.what());
  } catch (const std::bad_alloc&) {
    return trouble(Trouble::Kind::memory, "not enough host memory");
  } catch (const std::exception& error) {
    return trouble(Trouble::Kind::failed, error.what());
  }
}

void throw_on_all(Communicator& communicator, const Trouble& trouble) {
  const std::vector<Head> heads =
      communicator.gathered(Head{.kind = trouble.kind, .bytes = trouble.text.size()});
  std::string all;
  Trouble::Kind worst = Trouble::Kind::none;
  for (unsigned rank = 0; rank < communicator.size(); ++rank) {
    if (heads[rank].kind == Trouble::Kind::none) {
      continue;
    }
    std::string text(heads[rank].bytes, ' ');
    if (rank == communicator.rank()) {
      text = trouble.text;
    }
    communicator.broadcast(std::as_writable_bytes(std::span(text)), rank);
    all += all.empty() ? text : "\n" + text;
    // A lost device ends its process, whatever else there is.
    worst = worst == Trouble::Kind::none || heads[rank].kind == Trouble::Kind::lost
                ? heads[rank].kind
                : worst;
  }
  if (worst != Trouble::Kind::none) {
    raise(worst, all);
  }
}

}  // namespace isthmus
