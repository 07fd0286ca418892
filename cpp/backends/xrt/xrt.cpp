// The backend `xrt`: AMD's cards through XRT's native C++ API.
#include <dlfcn.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <numeric>

#include "buffers.hpp"
#include "isthmus/emulated_card.hpp"
#include "kernels.hpp"
#include "offload.hpp"
#include "operations.hpp"
#include "registers.hpp"

namespace isthmus {
namespace {

using xrt_native::Bank;
using xrt_native::BoardId;
using xrt_native::Contents;
using xrt_native::property_of;
using xrt_native::Session;
using xrt_native::through_xrt;

/// Returns the path of XRT's library in this process, with links followed.
std::filesystem::path runtime() {
  Dl_info found{};
  auto* function = reinterpret_cast<void*>(&xrt::system::enumerate_devices);
  if (dladdr(function, &found) == 0 || found.dli_fname == nullptr) {
    return {};
  }
  std::error_code failed;
  return std::filesystem::canonical(found.dli_fname, failed);
}

/// Returns the version in a library's name such as libxrt_coreutil.so.2.13.0.
std::string version_of(const std::filesystem::path& library) {
  const std::string name = library.filename().string();
  const std::size_t at = name.find(".so.");
  return at == std::string::npos ? "" : name.substr(at + 4);
}

std::string listed(const std::vector<Bank>& banks) {
  std::string text;
  for (const Bank& bank : banks) {
    text += (text.empty() ? "" : " ") + bank.tag;
  }
  return text;
}

DeviceInfo describe(const Session& session, unsigned index) {
  const std::filesystem::path library = runtime();
  const std::string mode = xrt_native::emulation_mode();
  const Contents& contents = session.contents();
  const std::string name = property_of<xrt::info::device::name>(session.device());
  const std::string place = property_of<xrt::info::device::bdf>(session.device());
  DeviceInfo info{.id = BoardId{index, place}.text(),
                  .name = name.empty() ? "device " + std::to_string(index) : name,
                  .platform = "XRT " + version_of(library) + (mode.empty() ? "" : " " + mode),
                  .api = "xrt",
                  .memory_kinds = xrt_native::memory_kinds(contents),
                  .operations = xrt_native::operations(contents),
                  .properties = {{"pci_address", place},
                                 {"runtime", library.string()},
                                 {"runtime_version", version_of(library)},
                                 {"emulation", mode.empty() ? "no" : mode},
                                 {"xclbin", contents.file},
                                 {"xclbin_uuid", contents.uuid.to_string()},
                                 {"banks", listed(contents.banks)},
                                 {"keeps_data", session.keeps_data() ? "yes" : "no"},
                                 {"starts_transfers", session.starts_transfers() ? "yes" : "no"}}};
  std::ranges::move(xrt_native::sweep_operations(contents, emulated_card::present()),
                    std::back_inserter(info.operations));
  info.lacks = xrt_native::unreached(contents);
  std::ranges::move(xrt_native::offload_lacks(contents), std::back_inserter(info.lacks));
  info.offloads = xrt_native::offloads(contents);
  // Sizes are planned before a bank is chosen, so the smallest bank counts.
  for (const Bank& bank : contents.banks) {
    info.max_buffer_bytes =
        std::min(info.max_buffer_bytes == 0 ? bank.bytes : info.max_buffer_bytes, bank.bytes);
  }
  info.memory_bytes = info.max_buffer_bytes;
  if (emulated_card::present()) {
    emulated_card::describe(info);
  } else {
    // Exchanges do not read an emulated card's clock, so an emulated card has none.
    info.operations.push_back(xrt_native::exchange_through_host(contents));
  }
  return info;
}

/// Returns how many devices can be opened: at least one without hardware, where some shims count
/// none.
unsigned count() {
  const unsigned counted = xrt::system::enumerate_devices();
  return counted == 0 && !xrt_native::emulation_mode().empty() ? 1 : counted;
}

class XrtDevice final : public Device {
 public:
  XrtDevice(const BoardId& board, const Options& options)
      : permission_(permission_of(options, "KERNEL")), session_(board) {
    session_.prepare(options);
    xrt_native::check_registers(session_, permission_);
    info_ = describe(session_, board.index);
    std::ranges::move(xrt_native::register_operations(permission_),
                      std::back_inserter(info_.operations));
  }
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  std::unique_ptr<Operation> make(const OperationSpec& spec) override {
    static_cast<void>(find_operation(info_.operations, spec, "XRT"));
    return through_xrt([&] {
      auto operation = xrt_native::make_register_operation(session_, permission_, spec);
      return emulated_card::timed(operation ? std::move(operation)
                                            : xrt_native::make_operation(session_, spec));
    });
  }
  std::unique_ptr<Staging> stage(const std::string& memory, std::size_t bytes) override {
    return through_xrt([&] { return xrt_native::make_staging(session_, memory, bytes); });
  }

 private:
  Permission permission_;
  Session session_;
  DeviceInfo info_;
};

std::vector<std::string> known_options() {
  std::vector<std::string> known = permission_options();
  known.insert(known.end(), {"xclbin", "allow_program"});
  return known;
}

class XrtBackend final : public Backend {
 public:
  std::vector<DeviceInfo> devices() override {
    return through_xrt([] {
      std::vector<DeviceInfo> found;
      for (unsigned index = 0; index < count(); ++index) {
        Session session({index, {}});
        session.look();
        found.push_back(describe(session, index));
      }
      return found;
    });
  }

  std::unique_ptr<Device> open(const std::string& id, const Options& options) override {
    check_options(options, known_options());
    return through_xrt([&]() -> std::unique_ptr<Device> {
      const BoardId board = BoardId::parse(id);
      if (board.index >= count()) {
        throw UsageError("XRT has no device '" + id + "'");
      }
      return std::make_unique<XrtDevice>(board, options);
    });
  }

  std::unique_ptr<Offload> offload(const std::string& id, const Options& options,
                                   const OperationSpec& spec) override {
    check_options(options, known_options());
    return emulated_card::timed(xrt_native::make_offload(spec, BoardId::parse(id), options));
  }
};

}  // namespace
}  // namespace isthmus

ISTHMUS_BACKEND(isthmus::XrtBackend)
