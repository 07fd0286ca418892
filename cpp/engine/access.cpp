#include "isthmus/access.hpp"

#include <charconv>

namespace isthmus {
namespace {

struct Instruction {
  const char* name;
  std::vector<unsigned> widths;
};

constexpr std::uint64_t register_bytes = 4;

NamedRange parse_range(const std::string& text, std::uint64_t usual_bytes,
                       const std::string& name) {
  const std::size_t colon = text.rfind(':');
  const std::string numbers = colon == std::string::npos ? "" : text.substr(colon + 1);
  const std::size_t plus = numbers.find('+');
  const auto offset = parse_number(numbers.substr(0, plus));
  const auto bytes = plus == std::string::npos ? std::optional(usual_bytes)
                                               : parse_number(numbers.substr(plus + 1));
  if (!offset || !bytes) {
    throw UsageError("'" + text + "': write " + name + ":OFFSET or " + name +
                     ":OFFSET+BYTES, e.g. ...:0x1000+4Ki");
  }
  if (*bytes == 0) {
    throw UsageError("'" + text + "': say how many bytes, e.g. " + text + "+4Ki");
  }
  return {text.substr(0, colon), *offset, *bytes, text};
}

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
  constexpr unsigned narrowest = 8;  // bytes: narrower accesses are for registers
  return access.pipelined && access.width >= narrowest ? block : access.width;
}

std::optional<std::uint64_t> parse_number(const std::string& text) {
  const bool hexadecimal = text.starts_with("0x");
  const char* const begin = text.data() + (hexadecimal ? 2 : 0);
  const char* const end = text.data() + text.size();
  std::uint64_t value = 0;
  auto [rest, failure] = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
  static const std::string powers = "KMG";
  if (failure == std::errc{} && end - rest == 2 && rest[1] == 'i' &&
      powers.find(*rest) != std::string::npos) {
    const auto shift = 10U * static_cast<unsigned>(powers.find(*rest) + 1);
    if (value >> (64U - shift) != 0) {
      return std::nullopt;
    }
    value <<= shift;
    rest = end;
  }
  return failure == std::errc{} && rest == end ? std::optional(value) : std::nullopt;
}

bool is_yes(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  if (found != options.end() && found->second != "yes" && found->second != "no") {
    throw UsageError(name + "=" + found->second + ": choose yes or no");
  }
  return found != options.end() && found->second == "yes";
}

std::vector<std::string> permission_options() {
  return {"registers", "memory", "allow_loads", "allow_writes"};
}

Permission permission_of(const Options& options, const std::string& name) {
  const auto named = [&](const char* option, std::uint64_t usual) -> std::optional<NamedRange> {
    const auto found = options.find(option);
    return found == options.end() ? std::nullopt
                                  : std::optional(parse_range(found->second, usual, name));
  };
  const Permission permission{.registers = named("registers", register_bytes),
                              .memory = named("memory", 0),
                              .loads = is_yes(options, "allow_loads"),
                              .stores = is_yes(options, "allow_writes")};
  const bool any = permission.registers || permission.memory;
  if (any && !permission.loads && !permission.stores) {
    throw UsageError("a range alone permits nothing: add --allow-loads or --allow-writes");
  }
  if ((permission.loads || permission.stores) && !any) {
    throw UsageError("name the range to access: --registers " + name + ":OFFSET, --memory " + name +
                     ":OFFSET+BYTES");
  }
  if (permission.stores && !permission.memory) {
    throw UsageError("stores go to memory only: name it with --memory " + name + ":OFFSET+BYTES");
  }
  return permission;
}

}  // namespace isthmus
