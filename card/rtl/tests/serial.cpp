// The serial pair: throughput, integrity, and that the receiver sees every kind of damage.
#include <functional>

#include "watched.hpp"

using isthmus::card::make_rtl_kernel;
using isthmus::card::RtlKernel;
using isthmus::card::SerialChannel;
using isthmus::card::StreamBeat;
using isthmus::card::StreamPort;
using isthmus::card::Time;
using namespace isthmus::card::testing;

namespace {

/// A channel that refuses at random and does something to the beats.
class Tampering final : public StreamPort {
 public:
  using Change = std::function<void(std::uint64_t, StreamBeat&)>;
  Tampering(Time latency, unsigned stalls, Change change = {})
      : channel_(latency, 0), stalls_(stalls), change_(std::move(change)) {}
  bool put(const StreamBeat& beat, Time now) override {
    if (refused_) {
      CHECK(now == refused_at_ + period);
      CHECK((beat == offered_));
    }
    offered_ = beat;
    refused_at_ = now;
    refused_ = random_() % 256 < stalls_;
    if (refused_) {
      return false;
    }
    StreamBeat sent = beat;
    if (change_) {
      change_(index_, sent);
    }
    ++index_;
    return channel_.put(sent, now);
  }
  std::optional<StreamBeat> get(Time now) override {
    return random_() % 256 < stalls_ ? std::nullopt : channel_.get(now);
  }

 private:
  SerialChannel channel_;
  unsigned stalls_;
  Change change_;
  std::mt19937 random_{5};
  std::uint64_t index_ = 0;
  bool refused_ = false;
  Time refused_at_ = 0;
  StreamBeat offered_;
};

struct Pair {
  std::unique_ptr<RtlKernel> sender = make_rtl_kernel("serial_send", period);
  std::unique_ptr<RtlKernel> receiver = make_rtl_kernel("serial_receive", period);

  void run(StreamPort& channel, std::uint64_t bytes, std::uint64_t messages) const {
    for (RtlKernel* kernel : {receiver.get(), sender.get()}) {
      kernel->connect(channel);
      kernel->set_argument(0, bytes);
      kernel->set_argument(1, messages);
    }
    receiver->start();
    sender->start();
    receiver->skip_to(sender->now());
    for (int n = 0; !(sender->done() && receiver->done()); ++n) {
      REQUIRE(n < 1'000'000);
      sender->clock();
      receiver->clock();
    }
  }
};

}  // namespace

TEST_CASE("rtl: a beat goes out every clock, and all of it comes in", "[rtl]") {
  const auto bytes = GENERATE(as<std::uint64_t>{}, 1, 31, 32, 33, 4096, 10'000);
  const auto messages = GENERATE(as<std::uint64_t>{}, 1, 7);
  const std::uint64_t beats = (bytes + 31) / 32 * messages;
  SerialChannel channel(130 * period, 0);
  Pair pair;
  pair.run(channel, bytes, messages);
  CAPTURE(bytes, messages);
  CHECK(pair.sender->cycles() == beats + 1);  // clock 1 sees `start`, then a beat each
  CHECK(pair.sender->result(0) == beats);
  CHECK(pair.receiver->result(0) == beats);
  CHECK(pair.receiver->result(1) == 0);
}

TEST_CASE("rtl: a slower channel sets the pace of the sender", "[rtl]") {
  constexpr std::uint64_t beats = 1000;
  SerialChannel channel(0, period * 8 / 5);
  Pair pair;
  pair.run(channel, beats * 32, 1);
  // The first beat goes at clock 2. The last is taken once the one before it has begun to cross,
  // 998 x 1.6 = 1596.8 clocks later: at the next whole one.
  CHECK(pair.sender->cycles() == 2 + 1597);
  CHECK(pair.receiver->result(1) == 0);
}

TEST_CASE("rtl: a full channel holds the sender back and loses nothing", "[rtl]") {
  SerialChannel channel(20 * period, 0, 4);
  Pair pair;
  pair.run(channel, 3200, 3);
  CHECK(pair.receiver->result(0) == 300);
  CHECK(pair.receiver->result(1) == 0);
}

TEST_CASE("rtl: stalls on both sides change no byte of a message", "[rtl]") {
  const auto stalls = GENERATE(20U, 128U, 230U);
  Tampering channel(10 * period, stalls);
  Pair pair;
  pair.run(channel, 1001, 20);
  CHECK(pair.receiver->result(0) == 640);
  CHECK(pair.receiver->result(1) == 0);
}

TEST_CASE("rtl: the receiver counts every damaged beat", "[rtl]") {
  const Tampering::Change bit = [](std::uint64_t n, StreamBeat& beat) {
    if (n == 3 || n == 70) {
      beat.data[n % 32] ^= std::byte{1};
    }
  };
  const Tampering::Change keep = [](std::uint64_t n, StreamBeat& beat) {
    beat.keep = n == 5 || n == 6 ? beat.keep >> 1U : beat.keep;
  };
  const Tampering::Change last = [](std::uint64_t n, StreamBeat& beat) {
    beat.last = n == 30 || n == 31 ? !beat.last : beat.last;
  };
  Tampering channel(0, 0, GENERATE_COPY(bit, keep, last));
  Pair pair;
  pair.run(channel, 1024, 4);
  CHECK(pair.receiver->result(0) == 128);
  CHECK(pair.receiver->result(1) == 2);
}
