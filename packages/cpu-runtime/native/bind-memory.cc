// Host buffers and their ArrayBuffer views.
#include <utility>

#include "binding.h"
#include "env-state.h"
#include "handles.h"

namespace mercer::cpu {

ByteSpan bytesOf(napi_env env, napi_value value) {
  void* data = nullptr;
  size_t bytes = 0;
  bool yes = false;
  if (napi_is_typedarray(env, value, &yes) == napi_ok && yes) {
    napi_typedarray_type type;
    size_t length = 0;
    napi_get_typedarray_info(env, value, &type, &length, &data, nullptr, nullptr);
    // In the order of napi_typedarray_type; the last is float16, which older headers do not name.
    static constexpr size_t kSizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};
    const auto index = static_cast<size_t>(type);
    if (index >= sizeof kSizes / sizeof kSizes[0])
      throw RuntimeError("INVALID_ARGUMENT", "this kind of typed array is not known. Pass a Uint8Array.");
    bytes = length * kSizes[index];
  } else if (napi_is_arraybuffer(env, value, &yes) == napi_ok && yes) {
    napi_get_arraybuffer_info(env, value, &data, &bytes);
  } else if (napi_is_dataview(env, value, &yes) == napi_ok && yes) {
    napi_get_dataview_info(env, value, &bytes, &data, nullptr, nullptr);
  } else {
    throw RuntimeError("INVALID_ARGUMENT",
                       "the argument must be a typed array, a DataView or an ArrayBuffer.");
  }
  return {static_cast<uint8_t*>(data), bytes};
}

namespace {

napi_value allocate(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const int64_t bytes = arguments.integer(0);
  std::shared_ptr<HostMemory> memory = HostMemory::allocate(static_cast<uint64_t>(bytes));
  if (!memory)
    throw RuntimeError("OUT_OF_MEMORY", "allocating " + std::to_string(bytes) +
                                            " bytes of host memory failed.");
  return makeHandle<HostMemory>(env, std::move(memory), bytes);
}

// Where a runtime forbids external buffers: V8's memory, aligned by an offset. Returns [handle, buffer, offset].
napi_value allocateInside(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const int64_t bytes = arguments.integer(0);
  napi_value buffer;
  void* data = nullptr;
  if (napi_create_arraybuffer(env, static_cast<size_t>(bytes) + kAlignment, &data, &buffer) !=
      napi_ok)
    throw RuntimeError("OUT_OF_MEMORY", "allocating an ArrayBuffer of " + std::to_string(bytes) +
                                            " bytes failed.");
  const size_t misaligned = reinterpret_cast<uintptr_t>(data) % kAlignment;
  const size_t offset = misaligned == 0 ? 0 : kAlignment - misaligned;
  napi_ref reference;
  if (napi_create_reference(env, buffer, 1, &reference) != napi_ok)
    throw RuntimeError("INTERNAL", "keeping an ArrayBuffer failed.");
  auto state = EnvState::of(env).shared_from_this();
  auto memory = HostMemory::adopt(static_cast<uint8_t*>(data) + offset,
                                  static_cast<uint64_t>(bytes), [state, reference] {
                                    state->release(reference);
                                    state->wake();
                                  });
  napi_value result, offsetValue;
  napi_create_array_with_length(env, 3, &result);
  napi_create_double(env, static_cast<double>(offset), &offsetValue);
  napi_set_element(env, result, 0, makeHandle<HostMemory>(env, std::move(memory)));
  napi_set_element(env, result, 1, buffer);
  napi_set_element(env, result, 2, offsetValue);
  return result;
}

// The whole buffer without a copy; undefined where the runtime forbids external buffers.
napi_value externalArrayBuffer(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Slot<HostMemory>& slot = slotOf<HostMemory>(env, arguments.at[0]);
  const auto& memory = handleOf<HostMemory>(env, arguments.at[0]);
  auto cell = std::make_shared<ViewCell>(ViewCell{memory});
  auto* owner = new std::shared_ptr<ViewCell>(cell);
  const auto finalize = [](napi_env, void*, void* hint) {
    delete static_cast<std::shared_ptr<ViewCell>*>(hint);
  };
  napi_value buffer;
  const napi_status status = napi_create_external_arraybuffer(
      env, memory->data(), static_cast<size_t>(memory->bytes()), finalize, owner, &buffer);
  if (status == napi_ok) {
    // V8 counts the bytes of the ArrayBuffer itself from now on.
    reportBytes(env, -std::exchange(slot.reported, 0));
    slot.view = std::move(cell);
    return buffer;
  }
  delete owner;
  if (status == napi_no_external_buffers_allowed) return undefinedValue(env);
  throw RuntimeError("INTERNAL", "creating an external ArrayBuffer failed with N-API status " +
                                     std::to_string(static_cast<int>(status)) + ".");
}

napi_value disposeBuffer(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  Slot<HostMemory>& slot = slotOf<HostMemory>(env, arguments.at[0]);
  bool detached = true;
  // The ArrayBuffer owns native memory too: detach it, so that JS cannot see freed memory. One that was transferred keeps
  // it. Memory inside V8 must not be detached: that would free it under the work that is enqueued.
  if (slot.view && napi_is_detached_arraybuffer(env, arguments.at[1], &detached) == napi_ok &&
      !detached && napi_detach_arraybuffer(env, arguments.at[1]) == napi_ok)
    slot.view->memory.reset();
  slot.view.reset();
  slot.value.reset();
  reportBytes(env, -std::exchange(slot.reported, 0));
  return undefinedValue(env);
}

napi_value addressOfBuffer(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& memory = handleOf<HostMemory>(env, arguments.at[0]);
  napi_value address;
  napi_create_bigint_uint64(env, reinterpret_cast<uintptr_t>(memory->data()), &address);
  return address;
}

napi_value addressOfView(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const ByteSpan span = bytesOf(env, arguments.at[0]);
  napi_value address;
  napi_create_bigint_uint64(env, reinterpret_cast<uintptr_t>(span.data), &address);
  return address;
}

}  // namespace

void bindMemory(napi_env env, napi_value exports) {
  define<allocate>(env, exports, "allocate");
  define<allocateInside>(env, exports, "allocateInside");
  define<externalArrayBuffer>(env, exports, "externalArrayBuffer");
  define<disposeBuffer>(env, exports, "disposeBuffer");
  define<addressOfBuffer>(env, exports, "addressOfBuffer");
  define<addressOfView>(env, exports, "addressOfView");
}

}  // namespace mercer::cpu
