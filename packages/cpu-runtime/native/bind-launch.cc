// Work: kernels and host copies.
#include <algorithm>
#include <utility>

#include "binding.h"
#include "env-state.h"
#include "handles.h"
#include "pool.h"

namespace mercer::cpu {

namespace {

constexpr int64_t kCopyChunkBytes = 1 << 20;

struct CopyArguments {
  uint8_t* target;
  const uint8_t* source;
  int64_t bytes;
};

// One task is one piece of kCopyChunkBytes. Both sides may overlap only when there is one piece.
void copyKernel(const void* packed, int64_t begin, int64_t end, void*) {
  const auto& copy = *static_cast<const CopyArguments*>(packed);
  const int64_t from = begin * kCopyChunkBytes;
  const int64_t to = std::min(end * kCopyChunkBytes, copy.bytes);
  std::memmove(copy.target + from, copy.source + from, static_cast<size_t>(to - from));
}

// A buffer is kept natively, so that it outlives dispose(); any other object by a JS reference.
void keep(napi_env env, napi_value object, Launch& launch) {
  napi_valuetype type;
  napi_typeof(env, object, &type);
  if (type == napi_external) {
    launch.memory.push_back(handleOf<HostMemory>(env, object));
    return;
  }
  if (type != napi_object && type != napi_function)
    throw RuntimeError("INVALID_ARGUMENT", "keepAlive must be a list of objects.");
  napi_ref reference;
  if (napi_create_reference(env, object, 1, &reference) != napi_ok)
    throw RuntimeError("INTERNAL", "keeping an object for a launch failed.");
  launch.references.push_back(reference);
}

void keepAll(napi_env env, napi_value list, Launch& launch) {
  bool isArray = false;
  if (napi_is_array(env, list, &isArray) != napi_ok || !isArray) return;
  uint32_t length = 0;
  napi_get_array_length(env, list, &length);
  for (uint32_t i = 0; i < length; ++i) {
    napi_value object;
    napi_get_element(env, list, i, &object);
    keep(env, object, launch);
  }
}

void submit(napi_env env, const std::shared_ptr<Stream>& stream, std::unique_ptr<Launch> launch) {
  if (stream->capture) {
    stream->capture->launches.push_back(std::move(launch));
    return;
  }
  Op op{Op::Kind::kLaunch, std::move(launch), nullptr, nullptr};
  try {
    Pool::get().enqueue(stream, std::move(op));
  } catch (...) {
    if (op.launch)
      for (napi_ref reference : op.launch->references) napi_delete_reference(env, reference);
    throw;
  }
}

// A program that is interpreted knows itself how a launch is cut.
void cutProgram(const Function& function, const ByteSpan& params, Launch& launch) {
  if (params.bytes != function.argBytes)
    throw RuntimeError("INVALID_ARGUMENT",
                       "the program takes " + std::to_string(function.argBytes) +
                           " bytes of parameters, got " + std::to_string(params.bytes) + ".");
  const interpreter::View& view = function.program->view();
  launch.program = function.program;
  interpreter::LaunchHeader header{&view, function.level, 0};
  // Packed parameters are aligned to 8 bytes at least, and the levels read no more than argBytes of them.
  const auto cut = function.level->cut(view, params.data, static_cast<int64_t>(Pool::get().threads()));
  if (cut.tasks < 0)
    throw RuntimeError("INVALID_ARGUMENT", "the launch has larger blocks than the program runs.");
  launch.tasks = cut.tasks;
  launch.chunk = std::max<int64_t>(1, cut.chunk);
  launch.scratchBytes = cut.scratchBytes;
  header.block = cut.block;
  launch.params.assign(&header, sizeof header, params.data, params.bytes);
}

napi_value launch(napi_env env, napi_callback_info info) {
  const Arguments<7> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  const auto& function = handleOf<Function>(env, arguments.at[1]);
  auto launch = std::make_unique<Launch>();
  launch->kernel = function->kernel;
  launch->image = function->image;
  launch->tasks = arguments.integer(2);
  launch->chunk = std::clamp<int64_t>(arguments.integer(3), 1, std::max<int64_t>(1, launch->tasks));
  launch->scratchBytes = static_cast<size_t>(arguments.integer(4));
  const ByteSpan params = bytesOf(env, arguments.at[5]);
  if (function->program) {
    cutProgram(*function, params, *launch);
  } else {
    launch->params.assign(params.data, params.bytes);
  }
  if (function->scratchBytes != nullptr) {
    if (params.bytes != function->argBytes)
      throw RuntimeError("INVALID_ARGUMENT",
                         "a built-in function takes " + std::to_string(function->argBytes) +
                             " bytes of parameters, got " + std::to_string(params.bytes) + ".");
    launch->scratchBytes = function->scratchBytes(launch->params.data());
  }

  EnvState& state = EnvState::of(env);
  state.dropReferences();
  try {
    keepAll(env, arguments.at[6], *launch);
  } catch (...) {
    for (napi_ref reference : launch->references) napi_delete_reference(env, reference);
    throw;
  }
  submit(env, stream, std::move(launch));
  return undefinedValue(env);
}

struct Side {
  uint8_t* data;
  uint64_t bytes;
};

// A buffer's handle, kept by the launch, or a view, which the caller keeps with its owner.
Side sideOf(napi_env env, napi_value value, Launch& launch) {
  if (findSlot<HostMemory>(env, value) != nullptr) {
    const auto& memory = handleOf<HostMemory>(env, value);
    launch.memory.push_back(memory);
    return {static_cast<uint8_t*>(memory->data()), memory->bytes()};
  }
  const ByteSpan span = bytesOf(env, value);
  return {span.data, span.bytes};
}

napi_value copy(napi_env env, napi_callback_info info) {
  const Arguments<7> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  const auto targetOffset = static_cast<uint64_t>(arguments.integer(2));
  const auto sourceOffset = static_cast<uint64_t>(arguments.integer(4));
  const auto bytes = static_cast<uint64_t>(arguments.integer(5));
  auto launch = std::make_unique<Launch>();
  try {
    const Side target = sideOf(env, arguments.at[1], *launch);
    const Side source = sideOf(env, arguments.at[3], *launch);
    keepAll(env, arguments.at[6], *launch);
    if (targetOffset > target.bytes || bytes > target.bytes - targetOffset)
      throw RuntimeError("OUT_OF_RANGE", "copying failed: the target has " +
                                             std::to_string(target.bytes) + " bytes, offset " +
                                             std::to_string(targetOffset) + " plus " +
                                             std::to_string(bytes) + " is beyond its end.");
    if (sourceOffset > source.bytes || bytes > source.bytes - sourceOffset)
      throw RuntimeError("OUT_OF_RANGE", "copying failed: the source has " +
                                             std::to_string(source.bytes) + " bytes, offset " +
                                             std::to_string(sourceOffset) + " plus " +
                                             std::to_string(bytes) + " is beyond its end.");
    const CopyArguments packed{target.data + targetOffset, source.data + sourceOffset,
                               static_cast<int64_t>(bytes)};
    launch->params.assign(&packed, sizeof packed);
    launch->kernel = copyKernel;
    const auto distance = packed.target > packed.source ? packed.target - packed.source
                                                        : packed.source - packed.target;
    launch->tasks = (packed.bytes + kCopyChunkBytes - 1) / kCopyChunkBytes;
    // Pieces of an overlapping copy must not run side by side.
    launch->chunk = distance < packed.bytes ? std::max<int64_t>(1, launch->tasks) : 1;
  } catch (...) {
    for (napi_ref reference : launch->references) napi_delete_reference(env, reference);
    throw;
  }
  EnvState::of(env).dropReferences();
  submit(env, stream, std::move(launch));
  return undefinedValue(env);
}

napi_value beginCapture(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  if (stream->capture)
    throw RuntimeError("CAPTURING", "beginning a capture failed: the stream captures already. End that capture first.");
  stream->capture = std::make_shared<Graph>(EnvState::of(env).shared_from_this());
  return undefinedValue(env);
}

napi_value endCapture(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  if (!stream->capture)
    throw RuntimeError("INVALID_ARGUMENT", "ending a capture failed: the stream captures nothing. Begin a capture first.");
  return makeHandle<Graph>(env, std::exchange(stream->capture, nullptr));
}

napi_value capturing(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  napi_value yes;
  napi_get_boolean(env, handleOf<Stream>(env, arguments.at[0])->capture != nullptr, &yes);
  return yes;
}

napi_value graphNodeCount(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  napi_value count;
  napi_create_double(env, static_cast<double>(handleOf<Graph>(env, arguments.at[0])->launches.size()), &count);
  return count;
}

napi_value launchGraph(napi_env env, napi_callback_info info) {
  const Arguments<6> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  const auto& graph = handleOf<Graph>(env, arguments.at[1]);
  assertNoCapture(*stream, "launching a graph");
  napi_valuetype type;
  napi_typeof(env, arguments.at[3], &type);
  const std::shared_ptr<Graph> between = type == napi_external ? handleOf<Graph>(env, arguments.at[3]) : nullptr;
  const Rests rests{reinterpret_cast<const double*>(arguments.integer(4)), static_cast<size_t>(arguments.integer(5))};
  auto passes = std::make_unique<Passes>(graph, between, arguments.integer(2), rests);
  EnvState::of(env).dropReferences();
  Pool::get().enqueue(stream, Op{Op::Kind::kPasses, nullptr, nullptr, nullptr, std::move(passes)});
  return undefinedValue(env);
}

napi_value stopGraph(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  handleOf<Graph>(env, arguments.at[0])->stops.fetch_add(1);
  return undefinedValue(env);
}

napi_value disposeGraph(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  slotOf<Graph>(env, arguments.at[0]).value.reset();
  return undefinedValue(env);
}

}  // namespace

void bindLaunch(napi_env env, napi_value exports) {
  define<launch>(env, exports, "launch");
  define<copy>(env, exports, "copy");
  define<beginCapture>(env, exports, "beginCapture");
  define<endCapture>(env, exports, "endCapture");
  define<capturing>(env, exports, "capturing");
  define<graphNodeCount>(env, exports, "graphNodeCount");
  define<launchGraph>(env, exports, "launchGraph");
  define<stopGraph>(env, exports, "stopGraph");
  define<disposeGraph>(env, exports, "disposeGraph");
}

}  // namespace mercer::cpu
