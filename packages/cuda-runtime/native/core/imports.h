// What a shared library calls in others.
#pragma once

namespace mercer {

/// Lets a loaded library call `replacement` wherever it calls the function `name` of another library. Nothing else in the process is
/// changed. Returns whether the library imports such a function.
bool replaceImport(void* library, const char* name, void* replacement);

}  // namespace mercer
