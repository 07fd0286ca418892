// NVLink as the management library reports it: 18 links, of which one is down; an older one, that
// knows the speed of all links alone. The clock is low for what STAND_IN_SLOWED_BY says.
#include <cstdlib>
#include <cstring>

namespace {

constexpr int ok = 0;
constexpr int wrong_argument = 2;
constexpr int not_supported = 3;
constexpr unsigned links = 18;
constexpr unsigned link_down = 5;
constexpr unsigned common_speed = 90;

int gpu;

struct Value {  // nvmlFieldValue_t
  unsigned field, scope;
  long long timestamp, latency;
  int type, status;
  unsigned long long number;
};

}  // namespace

extern "C" {
int nvmlInit_v2() { return ok; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  *device = &gpu;
  return std::strncmp(address, "0000:", 5) == 0 ? ok : wrong_argument;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  *active = link != link_down ? 1 : 0;
  return device == &gpu && link < links ? ok : wrong_argument;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  const char* planted = std::getenv("STAND_IN_SLOWED_BY");
  *reasons = 1 | (planted != nullptr ? std::strtoull(planted, nullptr, 0) : 0);
  return device == &gpu ? ok : wrong_argument;
}
int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* replays) {
  *replays = 3;
  return device == &gpu ? ok : wrong_argument;
}
int nvmlDeviceGetFieldValues(void* device, int count, Value* values) {
  for (int i = 0; i < count; ++i) {
    values[i].status = values[i].field == common_speed ? ok : not_supported;
    values[i].number = 26562;
  }
  return device == &gpu ? ok : wrong_argument;
}
}
