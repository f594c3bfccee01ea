// The runtime as a WebAssembly module: what TypeScript (src/wasm) calls. Work runs during the call that launches it, on the threads of team.h.
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
#include "exports.h"
#include "team.h"

// Throws in JavaScript; the frames of this module that it leaves run no destructor.
MERCER_IMPORT(fail)
[[noreturn]] void mercerFail(const char* code, size_t codeBytes, const char* message, size_t messageBytes);

namespace mercer::cpu {

void fail(const char* code, const std::string& message) {
  mercerFail(code, std::strlen(code), message.data(), message.size());
}

CpuInfo cpuInfo() { return {"wasm128", "wasm128", "", 0, 0, 0}; }

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

// Of the launch that runs.
wasm::Staging params, scratch;

// A launch of a program, as a kernel.
struct Run {
  const interpreter::Level* level;
  const interpreter::View* view;
  const void* args;
  int64_t block;
};

void runProgram(const void* context, int64_t begin, int64_t end, void* scratch) {
  const Run& run = *static_cast<const Run*>(context);
  run.level->run(*run.view, run.args, run.block, begin, end, scratch);
}

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
  const size_t length = wasm::roundUp(std::max<size_t>(bytes, 1));
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
  const void* const args = params.data();
  if (const Builtin* const builtin = function->builtin) {
    const size_t bytes = builtin->scratchBytes(args);
    void* const memory = scratch.reserve(bytes);
    if (memory == nullptr) return kOutOfMemory;
    wasm::runShared(builtin->run, args, tasks, chunk, bytes, memory);
    return kDone;
  }
  const interpreter::View& view = function->program->view();
  static const interpreter::Level* const level = interpreter::levelOf("wasm128");
  const interpreter::Cut cut = level->cut(view, args, static_cast<int64_t>(sharingThreads()));
  if (cut.tasks < 0) return kTooLarge;
  void* const memory = scratch.reserve(cut.scratchBytes);
  if (memory == nullptr) return kOutOfMemory;
  const Run run{level, &view, args, cut.block};
  wasm::runShared(runProgram, &run, cut.tasks, cut.chunk, cut.scratchBytes, memory);
  return kDone;
}
