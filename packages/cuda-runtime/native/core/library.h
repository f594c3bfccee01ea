// Opening a shared library from a list of candidates and remembering every attempt.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace mercer {

struct Candidate {
  std::string path;           // full path, or a soname for the system's own search
  bool onlyIfLoaded = false;  // ask only for a library that is already in the process
};

struct Attempt {
  std::string path;
  std::string error;
};

struct OpenResult {
  bool opened = false;
  std::string path;
  std::vector<Attempt> attempts;
};

/// One library of the process. The first candidate that `accept` takes stays for good; nothing is
/// ever closed, because other code may hold pointers into it.
class Library {
 public:
  /// `accept` gets the handle and the real path and returns why it refuses, or an empty string.
  using Accept = std::function<std::string(void* handle, const std::string& path)>;

  OpenResult open(const std::vector<Candidate>& candidates, const char* knownSymbol,
                  const Accept& accept);

 private:
  std::mutex mutex_;
  bool opened_ = false;
  std::string path_;
};

/// The file a loaded symbol came from, symbolic links resolved; empty if unknown.
std::string fileOfSymbol(const void* address);

/// GNU build id of a loaded library in hexadecimal, else its size and modification time.
std::string fileIdentity(const void* address);

}  // namespace mercer
