// What the fake libraries were called with, and failing on demand.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace fake {

/// Appends "name argument argument" to the file MERCER_FAKE_CALLS, if that is set. Returns the status
/// MERCER_FAKE_FAIL_STATUS for the function named in MERCER_FAKE_FAIL_CALL, after as many calls of it as MERCER_FAKE_FAIL_AFTER says,
/// else 0.
template <typename... A>
int called(const char* name, A... arguments) {
  if (const char* path = std::getenv("MERCER_FAKE_CALLS")) {
    std::ostringstream line;
    line << name;
    ((line << ' ' << arguments), ...);
    line << '\n';
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    const std::string text = line.str();
    if (write(file, text.data(), text.size()) < 0) std::abort();
    close(file);
  }
  const char* failing = std::getenv("MERCER_FAKE_FAIL_CALL");
  const char* status = std::getenv("MERCER_FAKE_FAIL_STATUS");
  if (!failing || !status || std::strcmp(failing, name)) return 0;
  static std::atomic<int> calls{0};
  const char* after = std::getenv("MERCER_FAKE_FAIL_AFTER");
  if (!after) {
    calls = 0;
    return std::atoi(status);
  }
  return calls++ < std::atoi(after) ? 0 : std::atoi(status);
}

}  // namespace fake
