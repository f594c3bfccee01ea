// A program that owns its memory.
#pragma once

#include <memory>
#include <vector>

#include "program.h"

namespace mercer::cpu::interpreter {

class Program {
 public:
  // Fails with INVALID_ARGUMENT for anything that the levels could not run safely.
  static std::shared_ptr<const Program> make(const int32_t* words, size_t wordCount,
                                             const double* constants, size_t constantCount);

  const View& view() const { return view_; }
  // Bytes of the packed parameters of a launch.
  size_t argBytes() const { return argBytes_; }

 private:
  friend class Reader;
  Program() = default;
  void check();

  std::vector<int32_t> words_;
  std::vector<double> constants_;
  std::vector<Code> codes_;
  std::vector<std::vector<uint8_t>> follows_, unread_;
  View view_{};
  size_t argBytes_ = 0;
};

// What a launch of a program hands to the pool in front of its packed parameters.
struct alignas(64) LaunchHeader {
  const View* view;
  const Level* level;
  int64_t block;
};
static_assert(sizeof(LaunchHeader) == 64, "parameters stay aligned to 64 bytes");

// The best level of this processor; null where there is none.
const Level* levelOf(const char* name);

void runProgram(const void* packed, int64_t begin, int64_t end, void* scratch);

}  // namespace mercer::cpu::interpreter
