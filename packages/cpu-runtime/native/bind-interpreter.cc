// Tile programs: made once, launched like compiled kernels.
#include "binding.h"
#include "cpu-info.h"
#include "handles.h"
#include "interpreter/program-value.h"

namespace mercer::cpu {

namespace {

napi_value makeProgram(napi_env env, napi_callback_info info) {
  const Arguments<4> arguments(env, info);
  const ByteSpan words = bytesOf(env, arguments.at[0]);
  const ByteSpan constants = bytesOf(env, arguments.at[1]);
  if (words.bytes % sizeof(int32_t) != 0 || constants.bytes % sizeof(double) != 0)
    throw RuntimeError("INVALID_ARGUMENT",
                       "a tile program is an Int32Array of words and a Float64Array of constants.");
  const std::string name = arguments.text(2);
  const interpreter::Level* level = interpreter::levelOf(name.c_str());
  if (level == nullptr)
    throw RuntimeError("UNSUPPORTED_CPU", "the interpreter has no level named " + name + ".");
  auto program = interpreter::Program::make(
      reinterpret_cast<const int32_t*>(words.data), words.bytes / sizeof(int32_t),
      reinterpret_cast<const double*>(constants.data), constants.bytes / sizeof(double));
  const auto paramBytes = static_cast<size_t>(arguments.integer(3));
  if (program->argBytes() != paramBytes)
    throw RuntimeError("INVALID_ARGUMENT", "a program takes " + std::to_string(program->argBytes()) +
                                               " bytes of parameters, and its kernel declares " +
                                               std::to_string(paramBytes) + ".");
  auto function = std::make_shared<Function>();
  function->kernel = interpreter::runProgram;
  function->program = std::move(program);
  function->level = level;
  function->argBytes = paramBytes;
  return makeHandle<Function>(env, std::move(function));
}

}  // namespace

void bindInterpreter(napi_env env, napi_value exports) {
  define<makeProgram>(env, exports, "makeProgram");
}

}  // namespace mercer::cpu
