#include "isthmus/card/process/host_fault.hpp"

namespace isthmus::card::process {
namespace {

/// Returns "argument in (number 0)".
std::string named(const NamedArgument& argument) {
  return "argument " + argument.name + " (number " + std::to_string(argument.index) + ')';
}

std::string place(const HostFault& fault) {
  return named(fault.argument) + ", buffer of " + std::to_string(fault.buffer_bytes) + " bytes";
}

std::string reads_unwritten(const HostFault& fault) {
  const std::string text = "reads byte " + std::to_string(fault.offset) + " of " + place(fault) +
                           ", which nobody wrote on the card; ";
  if (fault.exchanged) {
    return text + "the program sent the buffer of " + named(*fault.exchanged) +
           ", which the kernel may write: exchange the two in the calls that set arguments";
  }
  return text + "before the run starts, add " + fault.argument.name +
         ".sync(XCL_BO_SYNC_BO_TO_DEVICE), in OpenCL clEnqueueMigrateMemObjects or "
         "clEnqueueWriteBuffer";
}

std::string never_waited(const HostFault& fault) {
  return "writes to " + place(fault) +
         ", and the program reads that without a wait for the run's end, so that on a board it may "
         "get old data; before " +
         fault.argument.name + ".sync(XCL_BO_SYNC_BO_FROM_DEVICE), add run.wait()";
}

std::string never_taken(const HostFault& fault) {
  return "wrote to " + place(fault) +
         ", which neither the program nor another run read; after the run, add " +
         fault.argument.name +
         ".sync(XCL_BO_SYNC_BO_FROM_DEVICE), in OpenCL clEnqueueMigrateMemObjects with "
         "CL_MIGRATE_MEM_OBJECT_HOST or clEnqueueReadBuffer";
}

std::string writes_constant(const HostFault& fault) {
  return "writes byte " + std::to_string(fault.offset) + " of " + place(fault) +
         ", which is declared const; exchange the buffers in the calls that set arguments, or "
         "remove const from the kernel's prototype";
}

}  // namespace

std::string HostFault::key() const {
  return std::to_string(static_cast<int>(kind)) + '/' + argument.instance + '/' + argument.name;
}

std::string HostFault::sentence() const {
  std::string who = "kernel " + argument.instance + ' ';
  switch (kind) {
    case HostFaultKind::reads_unwritten:
      return who + reads_unwritten(*this);
    case HostFaultKind::never_waited:
      return who + never_waited(*this);
    case HostFaultKind::never_taken:
      return who + never_taken(*this);
    case HostFaultKind::writes_constant:
      return who + writes_constant(*this);
    case HostFaultKind::started_while_busy:
      return who +
             "is started while it runs, and that start is lost; before it, wait until bit 1 of "
             "the register at 0 is set";
  }
  return who;
}

}  // namespace isthmus::card::process
