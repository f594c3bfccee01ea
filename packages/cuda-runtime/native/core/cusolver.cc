#include "cusolver.h"

#include <dlfcn.h>

#include <atomic>

#include "exit.h"
#include "stream.h"

namespace mercer {
namespace {

struct State {
  Library library;
  cusolver::Table table;
  std::atomic<bool> ready{false};
  int version = 0;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

using namespace cusolver;

std::string resolve(void* handle, Table& table) {
  std::string missing;
#define MERCER_CUSOLVER(name, required, ...)                                 \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name)); \
  if (!table.name && required) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "cusolver_symbols.inc"
#undef MERCER_CUSOLVER
  return missing;
}

std::string statusName(Status status) {
  static const char* const names[] = {"SUCCESS",          "NOT_INITIALIZED", "ALLOC_FAILED",
                                      "INVALID_VALUE",    "ARCH_MISMATCH",   "MAPPING_ERROR",
                                      "EXECUTION_FAILED", "INTERNAL_ERROR",  "MATRIX_TYPE_NOT_SUPPORTED",
                                      "NOT_SUPPORTED",    "ZERO_PIVOT",      "INVALID_LICENSE"};
  const bool known = status >= 0 && status < static_cast<int>(std::size(names));
  if (status == 31) return "CUSOLVER_STATUS_INVALID_WORKSPACE";
  return "CUSOLVER_STATUS_" + (known ? std::string(names[status]) : std::to_string(status));
}

}  // namespace

OpenResult openCusolver(const std::vector<Candidate>& candidates) {
  State& s = state();
  return s.library.open(
      candidates, "cusolverGetVersion", [&s](void* handle, const std::string& path) -> std::string {
        if (path.find("/stubs/") != std::string::npos)
          return "it is a stub for linking (" + path + "), not the library";
        const auto ask = reinterpret_cast<Status (*)(int*)>(dlsym(handle, "cusolverGetVersion"));
        int number = 0;
        if (ask(&number)) return "it does not tell its version";
        const int major = number / 1000;
        if (major != 11 && major != 12)
          return "WRONG_MAJOR: it is cuSOLVER " + std::to_string(major) +
                 ", but 11 (CUDA 12) or 12 (CUDA 13) is needed";
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        s.version = number;
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

namespace cusolver {

const Table& table() {
  if (!state().ready.load(std::memory_order_acquire))
    misuse("CUSOLVER_NOT_LOADED", "cuSOLVER is not open");
  return state().table;
}

int version() {
  table();
  return state().version;
}

void check(Status status, const char* call, Stream& stream) {
  if (status == kSuccess) return;
  Device& device = stream.use->device;
  stream.checkHealth();
  Failure failure;
  failure.kind = FailureKind::Cusolver;
  failure.code = status;
  failure.name = statusName(status);
  failure.call = call;
  failure.device = device.ordinal;
  throw failure;
}

}  // namespace cusolver
}  // namespace mercer
