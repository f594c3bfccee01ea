// SQLite for JS: five functions over two kinds of handles. See docs/adr/0022.
#include <node_api.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "connection.h"

namespace {

using mercer::sqlite::Connection;
using mercer::sqlite::SqliteError;
using mercer::sqlite::Statement;

constexpr int64_t kMaxSafeInteger = 9007199254740991;

// A misuse that TypeScript's types exclude, or a value that JS cannot hold.
struct CallError {
  const char* code;
  std::string message;
  bool range = false;
};

// An N-API call failed: an exception is pending, or the environment is being ended and no JS may run any more.
struct Interrupted {};

void check(napi_status status) {
  if (status != napi_ok) throw Interrupted{};
}

// Node aborts when a scope is left open, also by an exception.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) { check(napi_open_handle_scope(env, &scope_)); }
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_;
};

// Handles: externals that own a value; the tag tells them from those of others. Node runs the finalisers of all handles
// when an environment ends, in whatever state its JS was stopped, so a connection is closed then at the latest.
template <class T>
struct HandleType;
template <>
struct HandleType<Connection> {
  static constexpr const char* name = "connection";
  static constexpr napi_type_tag tag = {0x6d65726365720101ull, 0x2f8c5b1e9d3a7460ull};
};
template <>
struct HandleType<Statement> {
  static constexpr const char* name = "statement";
  static constexpr napi_type_tag tag = {0x6d65726365720102ull, 0x71d4a96e3c0b5f82ull};
};

template <class T>
napi_value makeHandle(napi_env env, std::shared_ptr<T> value) {
  auto owned = std::make_unique<std::shared_ptr<T>>(std::move(value));
  const auto finalize = [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<T>*>(data); };
  napi_value handle;
  check(napi_create_external(env, owned.get(), finalize, nullptr, &handle));
  owned.release();
  check(napi_type_tag_object(env, handle, &HandleType<T>::tag));
  return handle;
}

template <class T>
const std::shared_ptr<T>& handleOf(napi_env env, napi_value value) {
  bool same = false;
  void* data = nullptr;
  napi_valuetype type;
  // Asking null or undefined for its tag would leave a pending TypeError.
  if (napi_typeof(env, value, &type) != napi_ok || type != napi_external ||
      napi_check_object_type_tag(env, value, &HandleType<T>::tag, &same) != napi_ok || !same ||
      napi_get_value_external(env, value, &data) != napi_ok)
    throw CallError{"ERR_INVALID_ARG_TYPE",
                    std::string("the argument is not a ") + HandleType<T>::name + " of this addon"};
  const auto& shared = *static_cast<std::shared_ptr<T>*>(data);
  if (!shared->isOpen()) throw CallError{"ERR_INVALID_STATE", "the database is not open"};
  return shared;
}

template <size_t N>
struct Arguments {
  napi_value at[N];
  Arguments(napi_env env, napi_callback_info info) {
    size_t count = N;
    check(napi_get_cb_info(env, info, &count, at, nullptr, nullptr));
  }
};

std::string textOf(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok)
    throw CallError{"ERR_INVALID_ARG_TYPE", "the argument must be a string"};
  std::string text(length, '\0');
  check(napi_get_value_string_utf8(env, value, text.data(), length + 1, &length));
  return text;
}

// Calls of JS into C++; no exception crosses back.
template <napi_value (*Body)(napi_env, napi_callback_info)>
napi_value guarded(napi_env env, napi_callback_info info) {
  const auto raise = [env](const char* code, const char* message, bool range, const int* errcode) {
    napi_value texts[2], error, number;
    if (napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &texts[0]) != napi_ok ||
        napi_create_string_utf8(env, message, NAPI_AUTO_LENGTH, &texts[1]) != napi_ok ||
        (range ? napi_create_range_error : napi_create_error)(env, texts[0], texts[1], &error) != napi_ok)
      return;
    if (errcode != nullptr && napi_create_int32(env, *errcode, &number) == napi_ok)
      napi_set_named_property(env, error, "errcode", number);
    napi_throw(env, error);
  };
  try {
    return Body(env, info);
  } catch (const SqliteError& error) {
    const int code = error.code();
    raise("ERR_SQLITE_ERROR", error.what(), false, &code);
  } catch (const CallError& error) {
    raise(error.code, error.message.c_str(), error.range, nullptr);
  } catch (const Interrupted&) {
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && !pending)
      raise("ERR_INVALID_STATE", "a call of N-API failed", false, nullptr);
  } catch (const std::exception& error) {
    raise("ERR_INVALID_STATE", error.what(), false, nullptr);
  }
  return nullptr;
}

// open(location, readOnly): a connection.
napi_value open(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const std::string location = textOf(env, arguments.at[0]);
  bool readOnly = true;
  check(napi_get_value_bool(env, arguments.at[1], &readOnly));
  return makeHandle<Connection>(env, std::make_shared<Connection>(location.c_str(), readOnly));
}

// close(connection)
napi_value close(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  handleOf<Connection>(env, arguments.at[0])->close();
  return nullptr;
}

// execute(connection, sql)
napi_value execute(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  handleOf<Connection>(env, arguments.at[0])->execute(textOf(env, arguments.at[1]).c_str());
  return nullptr;
}

// prepare(connection, sql): a statement.
napi_value prepare(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto& connection = handleOf<Connection>(env, arguments.at[0]);
  return makeHandle<Statement>(env, std::make_shared<Statement>(connection, textOf(env, arguments.at[1])));
}

void bind(napi_env env, Statement::Run& run, int parameter, napi_value value) {
  napi_valuetype type;
  check(napi_typeof(env, value, &type));
  if (type == napi_null) return run.bindNull(parameter);
  if (type == napi_number) {
    double number = 0;
    check(napi_get_value_double(env, value, &number));
    return run.bind(parameter, number);
  }
  if (type == napi_string) return run.bind(parameter, textOf(env, value));
  if (type == napi_bigint) {
    int64_t integer = 0;
    bool lossless = false;
    check(napi_get_value_bigint_int64(env, value, &integer, &lossless));
    if (!lossless) throw CallError{"ERR_OUT_OF_RANGE", "the bigint has more than 64 bits", true};
    return run.bind(parameter, integer);
  }
  bool bytes = false;
  check(napi_is_typedarray(env, value, &bytes));
  napi_typedarray_type element = napi_float64_array;
  size_t length = 0;
  void* data = nullptr;
  if (bytes) check(napi_get_typedarray_info(env, value, &element, &length, &data, nullptr, nullptr));
  if (element != napi_uint8_array)
    throw CallError{"ERR_INVALID_ARG_TYPE", "a value must be null, a number, a bigint, a string or a Uint8Array"};
  run.bind(parameter, data, length);
}

napi_value columnValue(napi_env env, sqlite3_stmt* row, int column) {
  napi_value value = nullptr;
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: {
      const int64_t integer = sqlite3_column_int64(row, column);
      if (integer > kMaxSafeInteger || integer < -kMaxSafeInteger)
        throw CallError{"ERR_OUT_OF_RANGE", "an integer of the database is beyond 2^53", true};
      check(napi_create_int64(env, integer, &value));
      break;
    }
    case SQLITE_FLOAT:
      check(napi_create_double(env, sqlite3_column_double(row, column), &value));
      break;
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
      if (text == nullptr) throw std::bad_alloc();
      check(napi_create_string_utf8(env, text, static_cast<size_t>(sqlite3_column_bytes(row, column)), &value));
      break;
    }
    case SQLITE_BLOB: {
      const void* blob = sqlite3_column_blob(row, column);
      const auto bytes = static_cast<size_t>(sqlite3_column_bytes(row, column));
      if (blob == nullptr && bytes > 0) throw std::bad_alloc();
      napi_value buffer;
      void* data = nullptr;
      check(napi_create_arraybuffer(env, bytes, &data, &buffer));
      if (bytes > 0) std::memcpy(data, blob, bytes);
      check(napi_create_typedarray(env, napi_uint8_array, bytes, buffer, 0, &value));
      break;
    }
    default:
      check(napi_get_null(env, &value));
  }
  return value;
}

// run(statement, values, limit): the first `limit` rows as an array of objects. The statement runs to its end when it has
// fewer rows, as everything that writes does.
napi_value run(napi_env env, napi_callback_info info) {
  const Arguments<3> arguments(env, info);
  // Kept through the call: nothing that a collection does here may end it.
  const std::shared_ptr<Statement> statement = handleOf<Statement>(env, arguments.at[0]);
  Statement::Run run(*statement);
  uint32_t count = 0;
  check(napi_get_array_length(env, arguments.at[1], &count));
  if (static_cast<int>(count) != sqlite3_bind_parameter_count(run.raw))
    throw CallError{"ERR_INVALID_ARG_VALUE", "the statement has " +
                                                 std::to_string(sqlite3_bind_parameter_count(run.raw)) +
                                                 " parameters, got " + std::to_string(count) + " values"};
  for (uint32_t i = 0; i < count; i++) {
    napi_value value;
    check(napi_get_element(env, arguments.at[1], i, &value));
    bind(env, run, static_cast<int>(i) + 1, value);
  }
  double limit = 0;
  check(napi_get_value_double(env, arguments.at[2], &limit));
  napi_value rows;
  check(napi_create_array(env, &rows));
  const int columns = sqlite3_column_count(run.raw);
  std::vector<napi_value> names(static_cast<size_t>(columns));
  for (uint32_t row = 0; row < limit && run.step(); row++) {
    for (int column = 0; row == 0 && column < columns; column++)
      check(napi_create_string_utf8(env, sqlite3_column_name(run.raw, column), NAPI_AUTO_LENGTH,
                                    &names[static_cast<size_t>(column)]));
    const HandleScope scope(env);
    napi_value object;
    check(napi_create_object(env, &object));
    for (int column = 0; column < columns; column++)
      check(napi_set_property(env, object, names[static_cast<size_t>(column)],
                              columnValue(env, run.raw, column)));
    check(napi_set_element(env, rows, row, object));
  }
  return rows;
}

template <napi_value (*Body)(napi_env, napi_callback_info)>
void define(napi_env env, napi_value exports, const char* name) {
  napi_value function;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<Body>, nullptr, &function) == napi_ok)
    napi_set_named_property(env, exports, name, function);
}

napi_value initialize(napi_env env, napi_value exports) {
  define<open>(env, exports, "open");
  define<close>(env, exports, "close");
  define<execute>(env, exports, "execute");
  define<prepare>(env, exports, "prepare");
  define<run>(env, exports, "run");
  napi_value version;
  if (napi_create_string_utf8(env, sqlite3_libversion(), NAPI_AUTO_LENGTH, &version) == napi_ok)
    napi_set_named_property(env, exports, "version", version);
  return exports;
}

}  // namespace

NAPI_MODULE(mercer_sqlite, initialize)
