// The runtime as a WebAssembly module of one thread: what TypeScript (src/wasm) calls. Work runs during the call that launches it.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "../builtin.h"
#include "../cpu-info.h"
#include "../error.h"
#include "../interpreter/program-value.h"
#include "../linalg/lapack.h"
#include "../share.h"

#define MERCER_EXPORT(name) extern "C" __attribute__((export_name(#name), visibility("default")))
#define MERCER_IMPORT(name) extern "C" __attribute__((import_module("mercer"), import_name(#name)))

// Throws in JavaScript; the frames of this module that it leaves run no destructor.
MERCER_IMPORT(fail)
[[noreturn]] void mercerFail(const char* code, size_t codeBytes, const char* message, size_t messageBytes);

namespace mercer::cpu {

void fail(const char* code, const std::string& message) {
  mercerFail(code, std::strlen(code), message.data(), message.size());
}

CpuInfo cpuInfo() { return {"wasm128", "wasm128", "", 0, 0, 0}; }

size_t sharingThreads() { return 1; }

void share(KernelFn kernel, const void* context, int64_t tasks, size_t, void* scratch) {
  for (int64_t i = 0; i < tasks; ++i) kernel(context, i, i + 1, scratch);
}

// No library can be opened from here.
const Lapack* Lapack::get() { return nullptr; }
template <>
const LapackFunctions<float>& Lapack::functions<float>() const {
  return single_;
}
template <>
const LapackFunctions<double>& Lapack::functions<double>() const {
  return double_;
}

namespace {

constexpr size_t kAlign = 64;

size_t roundUp(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// Memory that grows, for the parameters and the scratch memory of the launch that runs.
struct Staging {
  void* data = nullptr;
  size_t bytes = 0;

  // Null when it cannot be had.
  void* reserve(size_t wanted) {
    if (wanted <= bytes && data != nullptr) return data;
    std::free(data);
    bytes = roundUp(std::max<size_t>(wanted, 1));
    data = std::aligned_alloc(kAlign, bytes);
    if (data == nullptr) bytes = 0;
    return data;
  }
};

Staging params, scratch;

enum Status : int32_t { kDone, kTooLarge, kOutOfMemory };

}  // namespace

}  // namespace mercer::cpu

using namespace mercer::cpu;

MERCER_EXPORT(initialize) void initialize() {
  std::set_new_handler([] { fail("OUT_OF_MEMORY", "the WebAssembly memory of 4 GiB is used up."); });
}

// Zeroed, aligned to 64 bytes; null when it cannot be had.
MERCER_EXPORT(allocate) void* allocateMemory(size_t bytes) {
  if (bytes > SIZE_MAX - 2 * kAlign) return nullptr;
  const size_t length = roundUp(std::max<size_t>(bytes, 1));
  void* const data = std::aligned_alloc(kAlign, length);
  if (data != nullptr) std::memset(data, 0, length);
  return data;
}

MERCER_EXPORT(release) void releaseMemory(void* data) { std::free(data); }

// Where the parameters of the next launch go, aligned to 64 bytes; null when it cannot be had.
MERCER_EXPORT(params) void* paramsMemory(size_t bytes) { return params.reserve(bytes); }

// A program or a built-in function.
struct Function {
  std::shared_ptr<const interpreter::Program> program;
  const Builtin* builtin = nullptr;
};

MERCER_EXPORT(make_program)
Function* makeProgram(const int32_t* words, size_t wordCount, const double* constants, size_t constantCount) {
  auto program = interpreter::Program::make(words, wordCount, constants, constantCount);
  return new Function{std::move(program), nullptr};
}

// Null where there is none of this name.
MERCER_EXPORT(find_builtin) Function* findByName(const char* name, size_t length) {
  const Builtin* const found = findBuiltin(std::string(name, length), "wasm128");
  return found == nullptr ? nullptr : new Function{nullptr, found};
}

MERCER_EXPORT(needs_lapack) int32_t needsLapack(const Function* function) { return function->builtin->needsLapack; }

// Bytes of the packed parameters of a launch.
MERCER_EXPORT(arg_bytes) size_t argBytes(const Function* function) {
  return function->program ? function->program->argBytes() : function->builtin->argBytes;
}

MERCER_EXPORT(release_function) void releaseFunction(Function* function) { delete function; }

// Runs a launch of a function with the parameters in `paramsMemory`. A program knows itself how it is cut.
MERCER_EXPORT(launch) Status launch(const Function* function, int64_t tasks, int64_t chunk) {
  const void* const args = params.data;
  if (const Builtin* const builtin = function->builtin) {
    void* const memory = scratch.reserve(builtin->scratchBytes(args));
    if (memory == nullptr) return kOutOfMemory;
    for (int64_t begin = 0; begin < tasks; begin += chunk)
      builtin->run(args, begin, std::min(begin + chunk, tasks), memory);
    return kDone;
  }
  const interpreter::View& view = function->program->view();
  static const interpreter::Level* const level = interpreter::levelOf("wasm128");
  const interpreter::Cut cut = level->cut(view, args, 1);
  if (cut.tasks < 0) return kTooLarge;
  void* const memory = scratch.reserve(cut.scratchBytes);
  if (memory == nullptr) return kOutOfMemory;
  const int64_t step = std::max<int64_t>(1, cut.chunk);
  for (int64_t begin = 0; begin < cut.tasks; begin += step)
    level->run(view, args, cut.block, begin, std::min(begin + step, cut.tasks), memory);
  return kDone;
}
