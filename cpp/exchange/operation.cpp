#include <algorithm>
#include <stdexcept>

#include "isthmus/joint.hpp"
#include "isthmus/topology.hpp"

namespace isthmus {

std::int64_t JointOperation::simulated_femtoseconds() const {
  throw std::logic_error("this operation's device has a simulated clock but reports no time");
}

std::uint64_t MessageName::label(unsigned ranks) const {
  return (turn * ranks + sender) * lanes + lane;
}

JointOperation::NamedMessage JointOperation::named(Memory& memory, std::size_t bytes,
                                                   const MessageName& name, unsigned ranks) {
  return {
      .memory = &memory, .bytes = bytes, .label = name.label(ranks), .first_turn = name.turn == 0};
}

void JointOperation::sends(Memory& from, std::size_t bytes, const MessageName& name,
                           unsigned ranks) {
  sent_.push_back(named(from, bytes, name, ranks));
}

void JointOperation::receives(Memory& to, std::size_t bytes, const MessageName& name,
                              unsigned ranks) {
  received_.push_back(named(to, bytes, name, ranks));
}

void JointOperation::arm_fully(std::uint64_t seed) {
  fully_armed_ = true;
  for (const NamedMessage& message : sent_) {
    put_pattern(*message.memory, message.bytes, seed + seed_of(message.label));
  }
  for (const NamedMessage& message : received_) {
    poison(*message.memory, message.bytes, seed + seed_of(message.label));
  }
}

bool JointOperation::arrived_fully(std::uint64_t seed) {
  return std::ranges::all_of(received_, [seed](const NamedMessage& message) {
    return holds_pattern(*message.memory, message.bytes, seed + seed_of(message.label));
  });
}

void JointOperation::arm(std::uint64_t stamp) {
  fully_armed_ = false;
  for (const NamedMessage& message : sent_) {
    if (message.first_turn) {
      put_stamp(*message.memory, message.bytes, stamp + message.label);
    }
  }
}

bool JointOperation::arrived(std::uint64_t stamp) {
  return std::ranges::all_of(received_, [stamp](const NamedMessage& message) {
    return !message.first_turn ||
           holds_stamp(*message.memory, message.bytes, stamp + message.label);
  });
}

}  // namespace isthmus
