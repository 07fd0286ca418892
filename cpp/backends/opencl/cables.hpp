// Cables between the emulated FPGA cards of several ranks on one machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "isthmus/communicator.hpp"

namespace isthmus::cl {

/// Intel's emulator opens the file with a channel's io name, so that each rank's card has a folder
/// with the ports of a 520N: its outputs are FIFOs, its inputs links to its neighbours' outputs.
/// The files stay open here, because the emulator would otherwise wait for its neighbour when it
/// opens one.
class Cables {
 public:
  /// Collective; all ranks throw the exception of any rank. A FIFO holds `packets` of 32 bytes, or
  /// at least a page. Throws UsageError if the ranks are on different machines.
  Cables(const std::string& topology, std::uint64_t packets, Communicator& communicator);
  ~Cables();
  Cables(const Cables&) = delete;
  Cables& operator=(const Cables&) = delete;

  /// This rank's ports.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Deletes the files' names after all are open, so that nothing remains however the ranks end.
  /// Call it after this rank has received and sent a message through each of its ports.
  void hide();

 private:
  void open_ports(std::uint64_t packets);

  std::filesystem::path folder_;
  std::vector<int> open_;
  bool hidden_ = false;
};

/// Collective: throws UsageError on all ranks unless either none has an emulated card or all have
/// one, on the same machine.
void check_places(bool emulated, Communicator& communicator);

}  // namespace isthmus::cl
