#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "device.h"
#include "exit.h"

namespace mercer {
namespace {

constexpr int kOldestDriver = 12000;

struct State {
  Library library;
  cu::DriverTable table;
  std::atomic<bool> ready{false};
  std::atomic<bool> forked{false};
  int version = 0;
  cu::CUresult initResult = 0;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

// cuGetProcAddress itself changed between 11 and 12, so both are asked by exact name.
using GetProcAddress2 = cu::CUresult(const char*, void**, int, cu::cuuint64_t, int*);

std::string resolve(void* handle, cu::DriverTable& table) {
  const auto ask = reinterpret_cast<GetProcAddress2*>(dlsym(handle, "cuGetProcAddress_v2"));
  std::string missing;
  const auto find = [&](const char* base, const char* exported, int version, bool required) {
    void* found = nullptr;
    int status = 0;
    if (ask && ask(base, &found, version, 0, &status) == cu::kSuccess && found) return found;
    found = dlsym(handle, exported);
    if (!found && required) missing += (missing.empty() ? "" : ", ") + std::string(exported);
    return found;
  };
#define MERCER_DRIVER(name, exported, version, required, ...) \
  table.name = reinterpret_cast<decltype(table.name)>(find(#name, exported, version, required));
#include "driver_symbols.inc"
#undef MERCER_DRIVER
  return missing;
}

std::string major(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace

OpenResult openDriver(const std::vector<Candidate>& candidates) {
  State& s = state();
  return s.library.open(
      candidates, "cuInit", [&s](void* handle, const std::string& path) -> std::string {
        if (path.find("/stubs/") != std::string::npos)
          return "it is a stub for linking (" + path + "), not a driver";
        const auto version =
            reinterpret_cast<cu::CUresult (*)(int*)>(dlsym(handle, "cuDriverGetVersion"));
        int number = 0;
        if (!version || version(&number)) return "it does not tell its version";
        if (number < kOldestDriver)
          return "DRIVER_TOO_OLD: it supports CUDA " + major(number) + ", at least 12.0 is needed";
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        s.version = number;
        s.initResult = s.table.cuInit(0);
        pthread_atfork(nullptr, nullptr, [] { state().forked.store(true); });
        // Registered after cuInit, hence run before the driver's own exit handlers.
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

const cu::DriverTable& driver() {
  State& s = state();
  if (!s.ready.load(std::memory_order_acquire))
    misuse("DRIVER_NOT_LOADED", "the CUDA driver is not open");
  if (s.forked.load(std::memory_order_relaxed))
    misuse("FORKED", "CUDA was initialised before this process was forked and cannot be used here");
  return s.table;
}

bool driverUsable() noexcept {
  State& s = state();
  return !exiting() && s.ready.load() && !s.forked.load();
}

int driverVersion() {
  driver();
  return state().version;
}

cu::CUresult driverInitResult() {
  driver();
  return state().initResult;
}

std::string resultName(cu::CUresult result) {
  const char* text = nullptr;
  if (state().ready && !state().table.cuGetErrorName(result, &text) && text) return text;
  return "CUDA_ERROR_" + std::to_string(result);
}

std::string resultText(cu::CUresult result) {
  const char* text = nullptr;
  if (state().ready && !state().table.cuGetErrorString(result, &text) && text) return text;
  return "unknown error " + std::to_string(result);
}

bool isFatal(cu::CUresult result) noexcept {
  switch (result) {
    case 214:  // ECC_UNCORRECTABLE
    case 220:  // NVLINK_UNCORRECTABLE
    case 226:  // CONTAINED
    case 700:  // ILLEGAL_ADDRESS
    case 702:  // LAUNCH_TIMEOUT
    case 709:  // CONTEXT_IS_DESTROYED
    case 710:  // ASSERT
    case 714:  // HARDWARE_STACK_ERROR
    case 715:  // ILLEGAL_INSTRUCTION
    case 716:  // MISALIGNED_ADDRESS
    case 717:  // INVALID_ADDRESS_SPACE
    case 718:  // INVALID_PC
    case 719:  // LAUNCH_FAILED
    case 721:  // TENSOR_MEMORY_LEAK
    case 810:  // MPS_CLIENT_TERMINATED
    case 911:  // EXTERNAL_DEVICE
      return true;
    default:
      return false;
  }
}

Failure cudaFailure(cu::CUresult result, const char* call, int device) {
  Failure failure;
  failure.kind = FailureKind::Cuda;
  failure.code = result;
  failure.name = resultName(result);
  failure.what = resultText(result);
  failure.call = call;
  failure.device = device;
  return failure;
}

void check(cu::CUresult result, const char* call, Device* device) {
  if (result == cu::kSuccess) return;
  Failure failure = cudaFailure(result, call, device ? device->ordinal : -1);
  if (device && isFatal(result)) {
    device->kill(failure);
    throw *device->cause();
  }
  throw failure;
}

}  // namespace mercer
