#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "isthmus/backend.hpp"
#include "isthmus/communicator.hpp"

namespace isthmus {

void Communicator::barrier() {
  const Doing waits(*this, Activity::waiting);
  meet();
}

void Communicator::all_gather(std::span<const std::byte> own, std::span<std::byte> all) {
  const Doing waits(*this, Activity::waiting);
  gather(own, all);
}

void Communicator::broadcast(std::span<std::byte> data, unsigned root) {
  const Doing waits(*this, Activity::waiting);
  spread(data, root);
}

void Communicator::begin_sends(std::span<const Message> messages) {
  for (const Message& message : messages) {
    begin_send(message.data, message.peer, message.tag);
  }
}

void Communicator::begin_receives(std::span<const Message> messages) {
  for (const Message& message : messages) {
    begin_receive(message.data, message.peer, message.tag);
  }
}

void Communicator::send(std::span<const std::byte> data, unsigned to, int tag) {
  begin_send(data, to, tag);
  wait_all();
}

void Communicator::receive(std::span<std::byte> data, unsigned from, int tag) {
  begin_receive(data, from, tag);
  wait_all();
}

namespace {

/// A communicator of one rank, which sends to itself: `wait_all` copies each message.
class SingleProcess final : public Communicator {
 public:
  [[nodiscard]] unsigned rank() const noexcept override { return 0; }
  [[nodiscard]] unsigned size() const noexcept override { return 1; }
  void begin_send(std::span<const std::byte> data, unsigned /*to*/, int tag) override {
    sent_.push_back({data, tag});
  }
  void begin_receive(std::span<std::byte> data, unsigned /*from*/, int tag) override {
    awaited_.push_back({data, tag});
  }
  void wait_all() override {
    for (const Awaited& awaited : awaited_) {
      const auto sent = std::ranges::find(sent_, awaited.tag, &Sent::tag);
      if (sent == sent_.end() || sent->data.size() != awaited.data.size()) {
        awaited_.clear();
        sent_.clear();
        throw BackendError("a single rank waits for a message that it did not send");
      }
      std::memcpy(awaited.data.data(), sent->data.data(), sent->data.size());
      sent_.erase(sent);
    }
    awaited_.clear();
  }

 protected:
  void meet() override {}
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    std::ranges::copy(own, all.begin());
  }
  void spread(std::span<std::byte> /*data*/, unsigned /*root*/) override {}

 private:
  struct Sent {
    std::span<const std::byte> data;
    int tag;
  };
  struct Awaited {
    std::span<std::byte> data;
    int tag;
  };
  std::deque<Sent> sent_;
  std::vector<Awaited> awaited_;
};

}  // namespace

std::unique_ptr<Communicator> single_process_communicator() {
  return std::make_unique<SingleProcess>();
}

}  // namespace isthmus
