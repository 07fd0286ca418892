// Cables between the emulated FPGA cards of several ranks on one machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "isthmus/communicator.hpp"

namespace isthmus::cl {

/// Intel's emulator takes a channel's io name for that of a file, so each rank's card has a folder
/// with the ports of a 520N in it: its outputs are FIFOs, its inputs links to its neighbours'
/// outputs. The files stay open here, lest the emulator waits for its neighbour when it opens one.
class Cables {
 public:
  /// Collective; what one rank throws all throw. A FIFO holds `packets` of 32 bytes, or what fills
  /// a page. UsageError where the ranks are on different machines.
  Cables(const std::string& topology, std::uint64_t packets, Communicator& communicator);
  ~Cables();
  Cables(const Cables&) = delete;
  Cables& operator=(const Cables&) = delete;

  /// This rank's ports.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Takes the names away once all is open: what all ranks leave behind is nothing, however they
  /// end. To be called when this rank has got and sent a message through each of its ports.
  void hide();

 private:
  void open_ports(std::uint64_t packets);

  std::filesystem::path folder_;
  std::vector<int> open_;
  bool hidden_ = false;
};

/// Collective: UsageError on all ranks unless either none has an emulated card or all have, on one
/// machine.
void check_places(bool emulated, Communicator& communicator);

}  // namespace isthmus::cl
