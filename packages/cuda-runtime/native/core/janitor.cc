#include "janitor.h"

#include "serial_thread.h"
#include "stream.h"

namespace mercer {
namespace {

SerialThread& janitor() {
  static auto* thread = new SerialThread;
  return *thread;
}

SerialThread& loader() {
  static auto* thread = new SerialThread;
  return *thread;
}

constexpr int kPauses = 6000;  // of 5 ms

}  // namespace

void sweep(Device& device, std::function<void()> task) {
  janitor().run([&device, task = std::move(task)] {
    for (int i = 0; i < kPauses; i++) {
      if (!device.tryEnter()) return;
      if (Stream::settleIdle(device)) break;
      if (!janitor().pause(std::chrono::milliseconds(5))) return;
    }
    if (device.tryEnter()) task();
  });
}

void runOnLoader(std::function<void()> task) { loader().run(std::move(task)); }

}  // namespace mercer
