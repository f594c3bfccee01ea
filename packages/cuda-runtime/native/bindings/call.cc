#include "call.h"

namespace mercer {

namespace {

constexpr napi_type_tag kHandleTag = {0x6d65726365722d63ULL, 0x7564612d72756e31ULL};

void finalize(Napi::Env, Box* box) { delete box; }

}  // namespace

const char* kindName(Kind kind) {
  static const char* const names[] = {"device", "stream", "event",    "buffer", "pinned buffer",
                                      "module", "function", "graph", "executable graph",
                                      "communicator"};
  return names[static_cast<uint32_t>(kind)];
}

Napi::Value wrapBox(Napi::Env env, Kind kind, std::shared_ptr<void> object) {
  auto box = std::make_unique<Box>(Box{kind, std::move(object)});
  // Fails in an environment that is being terminated, and then no finaliser runs.
  auto external = Napi::External<Box>::New(env, box.get(), finalize);
  box.release();
  external.TypeTag(&kHandleTag);
  return external;
}

Box& boxOf(const Napi::Value& value, Kind kind) {
  bool ours = false;
  if (value.IsExternal())
    napi_check_object_type_tag(value.Env(), value, &kHandleTag, &ours);
  if (!ours) misuse("INVALID_HANDLE", std::string("expected the handle of a ") + kindName(kind));
  Box& box = *value.As<Napi::External<Box>>().Data();
  if (box.kind != kind)
    misuse("INVALID_HANDLE", std::string("expected the handle of a ") + kindName(kind) + ", got one of a " +
                                 kindName(box.kind));
  return box;
}

void disposedHandle(Kind kind) {
  misuse("DISPOSED", std::string("the ") + kindName(kind) + " was disposed");
}

void raise(Napi::Env env) noexcept {
  try {
    Failure failure;
    failure.name = "OUT_OF_HOST_MEMORY";
    try {
      throw;
    } catch (const Napi::Error& error) {
      if (!error.IsEmpty()) napi_throw(env, error.Value());
      return;
    } catch (const Failure& known) {
      failure = known;
    } catch (const std::exception& error) {
      failure.what = error.what();
    }
    napi_throw(env, Environment::of(env).makeError(failure).Value());
  } catch (...) {
    // The environment is ending.
  }
}

uint64_t bytesOf(const Napi::Value& value) {
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0) || number > 9007199254740991.0 || number != static_cast<double>(static_cast<uint64_t>(number)))
    misuse("INVALID_ARGUMENT", "a count of bytes must be a whole number from 0 to 2^53, got " +
                                   std::to_string(number));
  return static_cast<uint64_t>(number);
}

int64_t integerOf(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }

std::string textOf(const Napi::Value& value) { return value.As<Napi::String>().Utf8Value(); }

std::vector<std::string> textsOf(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < array.Length(); i++) texts.push_back(textOf(array[i]));
  return texts;
}

HostMemory memoryOf(const Napi::Value& value) {
  // The plain call, because node-addon-api's accessors refuse views of shared memory.
  void* data = nullptr;
  size_t bytes = 0;
  napi_typedarray_type type;
  if (napi_get_typedarray_info(value.Env(), value, &type, &bytes, &data, nullptr, nullptr) || type != napi_uint8_array)
    misuse("INVALID_ARGUMENT", "expected a Uint8Array");
  return {static_cast<uint8_t*>(data), bytes};
}

}  // namespace mercer
