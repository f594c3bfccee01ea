// A failure on its way to JS: becomes the class given to setErrorClass, with this code.
#pragma once

#include <stdexcept>
#include <string>

namespace mercer::cpu {

class RuntimeError : public std::runtime_error {
 public:
  RuntimeError(const char* code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  const char* code() const { return code_; }

 private:
  const char* code_;
};

// Ends a call from code that is also built without exceptions (native/wasm).
[[noreturn]] void fail(const char* code, const std::string& message);

}  // namespace mercer::cpu
