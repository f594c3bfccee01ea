#include "cublas.h"

#include <dlfcn.h>

#include <atomic>

#include "exit.h"
#include "stream.h"

namespace mercer {
namespace {

struct State {
  Library library;
  cublas::Table table;
  std::atomic<bool> ready{false};
  int version = 0;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

std::string resolve(void* handle, cublas::Table& table) {
  using namespace cublas;
  std::string missing;
#define MERCER_CUBLAS(name, required, ...)                                   \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name)); \
  if (!table.name && required) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "cublas_symbols.inc"
#undef MERCER_CUBLAS
  return missing;
}

}  // namespace

OpenResult openCublas(const std::vector<Candidate>& candidates) {
  State& s = state();
  return s.library.open(
      candidates, "cublasGetProperty", [&s](void* handle, const std::string& path) -> std::string {
        if (path.find("/stubs/") != std::string::npos)
          return "it is a stub for linking (" + path + "), not the library";
        // Needs no handle, which cublasGetVersion does.
        const auto ask = reinterpret_cast<cublas::Status (*)(int, int*)>(dlsym(handle, "cublasGetProperty"));
        int major = 0, minor = 0, patch = 0;
        if (ask(cublas::kMajorVersion, &major) || ask(cublas::kMinorVersion, &minor) ||
            ask(cublas::kPatchLevel, &patch))
          return "it does not tell its version";
        if (major != 12 && major != 13)
          return "WRONG_MAJOR: it is cuBLAS " + std::to_string(major) + ", but 12 or 13 is needed";
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        s.version = major * 10000 + minor * 100 + patch;
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

namespace cublas {

const Table& table() {
  if (!state().ready.load(std::memory_order_acquire))
    misuse("CUBLAS_NOT_LOADED", "cuBLAS is not open");
  return state().table;
}

int version() {
  table();
  return state().version;
}

void check(Status status, const char* call, Stream& stream, int info) {
  if (status == kSuccess && info >= 0) return;
  stream.checkHealth();
  Failure failure;
  failure.kind = FailureKind::Cublas;
  failure.code = status == kSuccess ? kInvalidValue : status;
  failure.name = table().cublasGetStatusName(failure.code);
  failure.what = table().cublasGetStatusString(failure.code);
  if (info < 0) failure.what += ": argument " + std::to_string(-info) + " is wrong";
  failure.call = call;
  failure.device = stream.use->device.ordinal;
  throw failure;
}

}  // namespace cublas
}  // namespace mercer
