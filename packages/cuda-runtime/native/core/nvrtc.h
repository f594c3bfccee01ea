// The run-time compiler: its symbol table, and one compile.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "library.h"

namespace mercer {

using NvrtcProgram = struct NvrtcProgramObject*;

struct NvrtcTable {
#define MERCER_NVRTC(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "nvrtc_symbols.inc"
#undef MERCER_NVRTC
};

struct CompileJob {
  std::string source;
  std::string fileName;
  std::vector<std::string> options;
  std::vector<std::string> nameExpressions;
  bool ptx = false;
};

struct CompileOutput {
  std::vector<char> binary;
  std::string log;
  std::vector<std::pair<std::string, std::string>> loweredNames;
};

struct NvrtcInfo {
  int major, minor;
  std::string identity;  // version and build ids, no path
  std::vector<int> archs;
};

/// Opens NVRTC once per process; refuses majors other than 12 and 13, or other than `major` if set.
OpenResult openNvrtc(const std::vector<Candidate>& candidates, int major);
NvrtcInfo nvrtcInfo();
/// Compiles on the calling thread. Throws an Nvrtc failure with the log.
CompileOutput compile(const CompileJob& job);

}  // namespace mercer
