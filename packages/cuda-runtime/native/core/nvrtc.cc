#include "nvrtc.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <csignal>
#include <memory>

#include "exit.h"
#include "failure.h"
#include "imports.h"

namespace mercer {
namespace {

struct State {
  Library library;
  NvrtcTable table;
  std::atomic<bool> ready{false};
  int major = 0, minor = 0;
  std::string identity;
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

const NvrtcTable& nvrtc() {
  if (!state().ready.load(std::memory_order_acquire))
    misuse("NVRTC_NOT_LOADED", "NVRTC is not open");
  return state().table;
}

std::string resolve(void* handle, NvrtcTable& table) {
  std::string missing;
#define MERCER_NVRTC(name, required, ...)                                             \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(handle, #name));          \
  if (!table.name && required) missing += (missing.empty() ? "" : ", ") + std::string(#name);
#include "nvrtc_symbols.inc"
#undef MERCER_NVRTC
  return missing;
}

/// NVRTC looks for its builtins by soname only when it compiles; loading the file beside it by full
/// path makes that succeed wherever it lies. Returns its identity, or nothing if it is elsewhere.
std::string openBuiltins(const std::string& path, int major, int minor) {
  const std::string name = "libnvrtc-builtins.so." + std::to_string(major) + "." + std::to_string(minor);
  const std::string file = path.substr(0, path.rfind('/') + 1) + name;
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return "-";
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) || !map || !map->l_ld) return "-";
  return fileIdentity(map->l_ld);
}

using SignalHandler = void (*)(int);

/// What NVRTC calls in place of `signal`. While it parses, it would take SIGINT and SIGTERM and end the process with status 4. Afterwards
/// it would put Node's handlers back without their flags: without SA_RESETHAND such a handler raises its signal for ever. A process keeps
/// its handlers instead.
SignalHandler keepSignals(int, SignalHandler) { return SIG_DFL; }

Failure nvrtcFailure(int result, const char* call) {
  Failure failure;
  failure.kind = FailureKind::Nvrtc;
  failure.code = result;
  failure.name = state().table.nvrtcGetErrorString(result);
  failure.call = call;
  return failure;
}

void check(int result, const char* call) {
  if (result) throw nvrtcFailure(result, call);
}

struct Destroy {
  void operator()(NvrtcProgram program) const { state().table.nvrtcDestroyProgram(&program); }
};
using Program = std::unique_ptr<NvrtcProgramObject, Destroy>;

std::string logOf(NvrtcProgram program) {
  size_t size = 0;
  if (nvrtc().nvrtcGetProgramLogSize(program, &size) || size <= 1) return {};
  std::string log(size, '\0');
  if (nvrtc().nvrtcGetProgramLog(program, log.data())) return {};
  log.resize(log.find('\0'));
  return log;
}

std::vector<char> binaryOf(NvrtcProgram program, bool ptx) {
  size_t size = 0;
  if (ptx) {
    check(nvrtc().nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
    std::vector<char> text(size);
    check(nvrtc().nvrtcGetPTX(program, text.data()), "nvrtcGetPTX");
    return text;
  }
  check(nvrtc().nvrtcGetCUBINSize(program, &size), "nvrtcGetCUBINSize");
  if (size == 0)
    misuse("INVALID_ARGUMENT",
           "no cubin was made: it needs an option like --gpu-architecture=sm_90a with a real architecture");
  std::vector<char> binary(size);
  check(nvrtc().nvrtcGetCUBIN(program, binary.data()), "nvrtcGetCUBIN");
  return binary;
}

}  // namespace

OpenResult openNvrtc(const std::vector<Candidate>& candidates, int wantedMajor) {
  State& s = state();
  return s.library.open(
      candidates, "nvrtcVersion", [&](void* handle, const std::string& path) -> std::string {
        int major = 0, minor = 0;
        const auto version = reinterpret_cast<int (*)(int*, int*)>(dlsym(handle, "nvrtcVersion"));
        if (version(&major, &minor)) return "it does not tell its version";
        const std::string found = std::to_string(major) + "." + std::to_string(minor);
        if (major != 12 && major != 13)
          return "WRONG_MAJOR: it is NVRTC " + found + ", but CUDA 12 or 13 is needed";
        if (wantedMajor && major != wantedMajor)
          return "WRONG_MAJOR: it is NVRTC " + found + ", but this process uses CUDA " +
                 std::to_string(wantedMajor);
        const std::string missing = resolve(handle, s.table);
        if (!missing.empty()) return "it lacks " + missing;
        s.major = major;
        s.minor = minor;
        s.identity = "nvrtc-" + found + "-" +
                     fileIdentity(reinterpret_cast<const void*>(s.table.nvrtcVersion)) + "-" +
                     openBuiltins(path, major, minor);
        replaceImport(handle, "signal", reinterpret_cast<void*>(&keepSignals));
        atProcessExit([] {});
        s.ready.store(true, std::memory_order_release);
        return {};
      });
}

NvrtcInfo nvrtcInfo() {
  const NvrtcTable& table = nvrtc();
  NvrtcInfo info{state().major, state().minor, state().identity, {}};
  int count = 0;
  check(table.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
  info.archs.resize(count);
  check(table.nvrtcGetSupportedArchs(info.archs.data()), "nvrtcGetSupportedArchs");
  return info;
}

CompileOutput compile(const CompileJob& job) {
  const NvrtcTable& table = nvrtc();
  NvrtcProgram raw = nullptr;
  check(table.nvrtcCreateProgram(&raw, job.source.c_str(), job.fileName.c_str(), 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const Program program(raw);
  for (const auto& expression : job.nameExpressions)
    check(table.nvrtcAddNameExpression(raw, expression.c_str()), "nvrtcAddNameExpression");
  std::vector<const char*> options;
  for (const auto& option : job.options) options.push_back(option.c_str());
  const int result = table.nvrtcCompileProgram(raw, static_cast<int>(options.size()), options.data());
  CompileOutput output;
  output.log = logOf(raw);
  if (result) {
    Failure failure = nvrtcFailure(result, "nvrtcCompileProgram");
    failure.log = output.log;
    failure.source = job.source;
    throw failure;
  }
  output.binary = binaryOf(raw, job.ptx);
  for (const auto& expression : job.nameExpressions) {
    const char* lowered = nullptr;
    check(table.nvrtcGetLoweredName(raw, expression.c_str(), &lowered), "nvrtcGetLoweredName");
    output.loweredNames.emplace_back(expression, lowered);
  }
  return output;
}

}  // namespace mercer
