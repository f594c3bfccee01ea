#include "nccl.h"

#include <dlfcn.h>

#include <atomic>

#include "exit.h"

namespace mercer {
namespace {

struct State {
  Library library;
  nccl::Table table;
  std::atomic<bool> ready{false};
  int version = 0;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

std::string resolve(void* handle, nccl::Table& table) {
  using namespace nccl;
  std::string missing;
#define MERCER_NCCL(name, required, ...)                                     \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name)); \
  if (!table.name && required) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "nccl_symbols.inc"
#undef MERCER_NCCL
  return missing;
}

std::string textOfVersion(int version) {
  const int scale = version < 10000 ? 1000 : 10000;
  return std::to_string(version / scale) + '.' + std::to_string(version % scale / 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace

OpenResult openNccl(const std::vector<Candidate>& candidates) {
  State& s = state();
  return s.library.open(
      candidates, "ncclGetVersion", [&s](void* handle, const std::string& path) -> std::string {
        if (path.find("/stubs/") != std::string::npos)
          return "it is a stub for linking (" + path + "), not the library";
        const auto ask = reinterpret_cast<nccl::Result (*)(int*)>(dlsym(handle, "ncclGetVersion"));
        if (ask(&s.version)) return "it does not tell its version";
        if (s.version < 21400) return "it is NCCL " + textOfVersion(s.version) + ", but 2.14 or newer is needed";
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

namespace nccl {

const Table& table() {
  if (!state().ready.load(std::memory_order_acquire)) misuse("NCCL_NOT_LOADED", "NCCL is not open");
  return state().table;
}

int version() {
  table();
  return state().version;
}

namespace {

/// The library tells sentences alone.
const char* nameOf(Result result) {
  static const char* const names[] = {"SUCCESS",       "UNHANDLED_CUDA_ERROR", "SYSTEM_ERROR", "INTERNAL_ERROR",
                                      "INVALID_ARGUMENT", "INVALID_USAGE",     "REMOTE_ERROR", "IN_PROGRESS"};
  const bool known = result >= 0 && result < static_cast<Result>(sizeof names / sizeof *names);
  return known ? names[result] : "UNKNOWN_ERROR";
}

}  // namespace

Failure failureOf(Result result, const char* call, int device, Comm comm) {
  Failure failure;
  failure.kind = FailureKind::Nccl;
  failure.code = result;
  failure.name = std::string("NCCL_") + nameOf(result);
  failure.what = table().ncclGetErrorString(result);
  const char* last = table().ncclGetLastError ? table().ncclGetLastError(comm) : nullptr;
  if (last && *last) failure.what += std::string(": ") + last;
  failure.call = call;
  failure.device = device;
  return failure;
}

}  // namespace nccl
}  // namespace mercer
