#include "cublaslt.h"

#include <dlfcn.h>

#include <atomic>

#include "exit.h"
#include "stream.h"

namespace mercer {
namespace {

struct State {
  Library library;
  cublaslt::Table table;
  std::atomic<bool> ready{false};
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

std::string resolve(void* handle, cublaslt::Table& table) {
  using namespace cublaslt;
  std::string missing;
#define MERCER_CUBLASLT(name, required, ...)                                 \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name)); \
  if (!table.name && required) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "cublaslt_symbols.inc"
#undef MERCER_CUBLASLT
  return missing;
}

}  // namespace

OpenResult openCublasLt(const std::vector<Candidate>& candidates) {
  State& s = state();
  return s.library.open(
      candidates, "cublasLtGetVersion", [&s](void* handle, const std::string& path) -> std::string {
        if (path.find("/stubs/") != std::string::npos)
          return "it is a stub for linking (" + path + "), not the library";
        const auto ask = reinterpret_cast<size_t (*)()>(dlsym(handle, "cublasLtGetVersion"));
        const size_t major = ask() / 10000;
        if (major != 12 && major != 13)
          return "WRONG_MAJOR: it is cuBLASLt " + std::to_string(major) + ", but 12 or 13 is needed";
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

namespace cublaslt {

const Table& table() {
  if (!state().ready.load(std::memory_order_acquire))
    misuse("CUBLASLT_NOT_LOADED", "cuBLASLt is not open");
  return state().table;
}

int version() { return static_cast<int>(table().cublasLtGetVersion()); }

void check(Status status, const char* call, Stream& stream) {
  if (status == kSuccess) return;
  stream.checkHealth();
  Failure failure;
  failure.kind = FailureKind::Cublas;
  failure.code = status;
  failure.name = table().cublasLtGetStatusName(status);
  failure.what = table().cublasLtGetStatusString(status);
  failure.call = call;
  failure.device = stream.use->device.ordinal;
  throw failure;
}

}  // namespace cublaslt
}  // namespace mercer
