#include "isthmus/collective_errors.hpp"

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

std::string rank_and_host(const Communicator& communicator) {
  return communicator.size() == 1
             ? ""
             : "rank " + std::to_string(communicator.rank()) + " (" + host_name() + "): ";
}

std::vector<std::string> gathered_texts(Communicator& communicator, const std::string& own) {
  const std::vector<std::uint64_t> lengths =
      communicator.gathered(static_cast<std::uint64_t>(own.size()));
  std::vector<std::string> all(lengths.size());
  for (unsigned rank = 0; rank < communicator.size(); ++rank) {
    if (lengths[rank] > 0) {
      all[rank] = rank == communicator.rank() ? own : std::string(lengths[rank], ' ');
      communicator.broadcast(std::as_writable_bytes(std::span(all[rank])), rank);
    }
  }
  return all;
}

Trouble trouble_of(const Communicator& communicator, const std::function<void()>& action) {
  const auto trouble = [&communicator](Trouble::Kind kind, const std::string& text) -> Trouble {
    return {.kind = kind, .text = rank_and_host(communicator) + text};
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
  using Kind = Trouble::Kind;
  Kind worst = Kind::none;
  for (const Kind kind : communicator.gathered(trouble.kind)) {
    // DeviceLostError comes before other ranks' errors, because it ends the process.
    if (worst == Kind::none || kind == Kind::lost) {
      worst = kind;
    }
  }
  if (worst == Kind::none) {
    return;
  }
  std::string all;
  for (const std::string& text : gathered_texts(communicator, trouble.text)) {
    all += (all.empty() || text.empty() ? "" : "\n") + text;
  }
  raise(worst, all);
}

}  // namespace isthmus
