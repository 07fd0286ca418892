#include "isthmus/access.hpp"

namespace isthmus {
namespace {

struct Instruction {
  const char* name;
  std::vector<unsigned> widths;
};

AxisInfo only(const std::string& name, const std::string& value) {
  return {.name = name, .usual = value, .values = {value}};
}

}  // namespace

Access access_of(const OperationSpec& spec) {
  const Access usual;
  return {.operation = spec.name,
          .instruction = spec.word("instruction", "mov"),
          .width = static_cast<unsigned>(spec.count("width", usual.width)),
          .fence = spec.word("fence", usual.fence),
          .pipelined = spec.word("pipelined", "no") == "yes"};
}

OperationInfo describe(const Access& access, const std::string& memory, std::uint64_t most_bytes) {
  const char* const one_way = access.stores() ? "h2d" : "d2h";
  const char* const direction = access.operation == "poll" ? "both" : one_way;
  return {
      .name = access.operation,
      .parts = {{access.operation, direction, "cpu"}},
      .axes = {only("width", std::to_string(access.width)), only("instruction", access.instruction),
               only("fence", access.fence), only("pipelined", access.pipelined ? "yes" : "no")},
      .memory_kinds = {memory},
      .most_bytes = most_bytes,
      .unit_bytes = access.width};
}

std::vector<Access> loads_of(const std::string& operation, bool vectors) {
  std::vector<Instruction> instructions = {{"mov", {1, 2, 4, 8}}};
  if (vectors) {
    instructions.push_back({"movdqa", {16, 32, 64}});
    instructions.push_back({"movntdqa", {16, 32, 64}});
  }
  std::vector<Access> all;
  for (const auto& [name, widths] : instructions) {
    for (const unsigned width : widths) {
      for (const char* fence : {"none", "lfence", "mfence"}) {
        all.push_back({operation, name, width, fence, false});
      }
      all.push_back({operation, name, width, "none", true});
    }
  }
  return all;
}

std::vector<Access> all_stores() {
  static const std::vector<Instruction> instructions = {{"mov", {1, 2, 4, 8}},
                                                        {"movdqa", {16, 32, 64}},
                                                        {"movnti", {4, 8}},
                                                        {"movntdq", {16, 32, 64}},
                                                        {"movdir64b", {64}}};
  std::vector<Access> all;
  for (const auto& [name, widths] : instructions) {
    for (const unsigned width : widths) {
      all.push_back({"store", name, width, "none", true});
      all.push_back({"store", name, width, "sfence", true});
      all.push_back({"store", name, width, "sfence", false});
      all.push_back({"store", name, width, "mfence", false});
    }
  }
  return all;
}

std::uint64_t most_block(const Access& access, std::uint64_t block) {
  constexpr unsigned narrowest = 8;  // narrower ones are for registers, not for blocks
  return access.pipelined && access.width >= narrowest ? block : access.width;
}

}  // namespace isthmus
