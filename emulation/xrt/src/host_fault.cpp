#include "isthmus/card/process/host_fault.hpp"

#include <utility>

namespace isthmus::card::process {

std::string text_of(const NamedArgument& argument) {
  return "argument " + argument.name + " (number " + std::to_string(argument.index) + ')';
}

namespace {

std::string place(const HostFault& fault) {
  return text_of(fault.argument) + ", buffer of " + std::to_string(fault.buffer_bytes) + " bytes";
}

std::string reads_unwritten(const HostFault& fault) {
  return "reads byte " + std::to_string(fault.offset) + " of " + place(fault) +
         ", which nobody wrote on the card";
}

/// Returns the call of the program's interface; of both if it is unknown.
std::string by_api(const HostFault& fault, const std::string& native, const std::string& opencl) {
  switch (fault.api) {
    case HostApi::native:
      return native;
    case HostApi::opencl:
      return opencl;
    case HostApi::unknown:
      break;
  }
  return native + ", in OpenCL " + opencl;
}

std::string write_before(const HostFault& fault) {
  if (fault.copied_from_bytes) {
    return "the program copied them on the card from bytes that nobody wrote, in a buffer of " +
           std::to_string(*fault.copied_from_bytes) + " bytes: before the copy, call " +
           by_api(fault, "sync(XCL_BO_SYNC_BO_TO_DEVICE) of that source buffer",
                  "clEnqueueMigrateMemObjects or clEnqueueWriteBuffer for that source buffer") +
           " (the same for " + fault.argument.name + " would overwrite the copy)";
  }
  if (fault.exchanged) {
    return "the program sent the buffer of " + text_of(*fault.exchanged) +
           ", which the kernel may write: exchange the two in the calls that set arguments";
  }
  const std::string elsewhere =
      fault.sent_elsewhere
          ? "; card " + std::to_string(*fault.sent_elsewhere) +
                " has a buffer at the same address, to which the program sent data: if the kernel "
                "is to read that buffer, make the buffer on the kernel's card"
          : "";
  return "before the run starts, add " +
         by_api(fault, fault.argument.name + ".sync(XCL_BO_SYNC_BO_TO_DEVICE)",
                "clEnqueueMigrateMemObjects or clEnqueueWriteBuffer") +
         elsewhere;
}

std::string read_all(const HostFault& fault) {
  return by_api(fault, fault.argument.name + ".sync(XCL_BO_SYNC_BO_FROM_DEVICE)",
                "clEnqueueMigrateMemObjects with CL_MIGRATE_MEM_OBJECT_HOST or "
                "clEnqueueReadBuffer") +
         "; if nobody needs it, card exec has --not-needed " + fault.argument.instance + '.' +
         fault.argument.name;
}

/// Returns the wait to add before a sync in a direction, "TO" or "FROM" the device.
std::string wait_before(const HostFault& fault, const std::string& direction) {
  return fault.api == HostApi::opencl ? "give the transfer's wait list the kernel's event"
                                      : "before " + fault.argument.name + ".sync(XCL_BO_SYNC_BO_" +
                                            direction + "_DEVICE), add run.wait()";
}

/// Returns what is wrong with two runs at the same time, and how the program orders them.
std::pair<std::string, std::string> beside(const HostFault& fault) {
  const bool reads = fault.kind == HostFaultKind::reads_beside;
  const std::string does = reads || fault.other_writes ? "writes" : "reads";
  return {(reads ? "reads byte " : "writes byte ") + std::to_string(fault.offset) + " of " +
              place(fault) + ", which kernel " + fault.other.instance + ' ' + does + " by " +
              text_of(fault.other) +
              " in a run that had not ended when the program started this one, so that on a board "
              "either may be first",
          "between the two starts, add " +
              by_api(fault, "run.wait() for the first run",
                     "the first run's event to the second's wait list") +
              ", or give the two runs different buffers"};
}

/// Returns what is wrong, to follow the kernel's name, and what the user should change.
std::pair<std::string, std::string> told(const HostFault& fault) {
  switch (fault.kind) {
    case HostFaultKind::reads_unwritten:
      return {reads_unwritten(fault), write_before(fault)};
    case HostFaultKind::overwritten:
      return {"reads " + place(fault) +
                  ", and the program writes new data there without a wait for the run's end, so "
                  "that on a board the run may read either",
              wait_before(fault, "TO") + ", or send the new data to another buffer"};
    case HostFaultKind::never_waited:
      return {"writes to " + place(fault) +
                  ", and the program reads that without a wait for the run's end, so that on a "
                  "board it may get old data",
              wait_before(fault, "FROM")};
    case HostFaultKind::never_written:
      return {"wrote nothing to " + place(fault) +
                  ", nor did the program, which reads that from the card",
              "look at the counts and buffers that the program sets"};
    case HostFaultKind::reads_beside:
    case HostFaultKind::writes_beside:
      return beside(fault);
    case HostFaultKind::never_taken:
      return {"wrote to " + place(fault) + ", which neither the program nor another run read",
              fault.is_missed
                  ? "the program does not wait for the run either: add run.wait(), then " +
                        read_all(fault)
                  : "after the run, add " + read_all(fault)};
    case HostFaultKind::run_not_taken:
      return {"wrote to " + place(fault) + ", in run " + std::to_string(fault.run) +
                  " of those that did, and the program read the output of other runs alone",
              "after that run, too, add " + read_all(fault)};
    case HostFaultKind::partly_taken:
      return {"wrote " + std::to_string(fault.output_bytes) + " bytes to " + place(fault) +
                  ", and the program read only " + std::to_string(fault.taken_bytes) +
                  " of them from the card",
              "its size is in bytes; after the run, add " + read_all(fault)};
    case HostFaultKind::writes_constant:
      return {"writes byte " + std::to_string(fault.offset) + " of " + place(fault) +
                  ", which is declared const",
              "exchange the buffers in the calls that set arguments, or remove const from the "
              "kernel's prototype"};
    case HostFaultKind::started_while_busy:
      return {"is started while it runs, and that start is lost",
              "before it, wait until bit 1 of the register at 0 is set"};
  }
  return {};
}

}  // namespace

std::string HostFault::key() const {
  // A run that reads and writes the bytes of another run is one mistake.
  const HostFaultKind one =
      kind == HostFaultKind::writes_beside ? HostFaultKind::reads_beside : kind;
  return std::to_string(static_cast<int>(one)) + '/' + argument.instance + '/' + argument.name;
}

std::string HostFault::sentence() const {
  const auto [what, cure] = told(*this);
  return "kernel " + argument.instance + ' ' + what + "; " +
         (follows ? "this may follow from the warning before: mend that first" : cure);
}

}  // namespace isthmus::card::process
