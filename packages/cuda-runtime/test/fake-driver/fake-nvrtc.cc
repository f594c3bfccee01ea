// A fake NVRTC of any major (-DFAKE_MAJOR=11): takes MERCER_FAKE_COMPILE_MS per program and makes
// an image that the fake driver loads. A source that contains "#error" fails.
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "state.h"

#ifndef FAKE_MAJOR
#define FAKE_MAJOR 13
#endif

struct Program {
  std::string source, log, name;
};

static const char image[] = "FAKE kernel()";

FAKE nvrtcVersion(int* major, int* minor) {
  *major = FAKE_MAJOR;
  *minor = 0;
  return 0;
}

extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int code) {
  return code == 6 ? "NVRTC_ERROR_COMPILATION" : code == 7 ? "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE" : "NVRTC_ERROR";
}

FAKE nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return 0;
}

FAKE nvrtcGetSupportedArchs(int* archs) {
  archs[0] = 80;
  archs[1] = 90;
  return 0;
}

FAKE nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                        const char* const*) {
  *program = new Program{source, "", ""};
  return 0;
}

FAKE nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

FAKE nvrtcCompileProgram(Program* program, int, const char* const*) {
  std::this_thread::sleep_for(std::chrono::milliseconds(fake::setting("COMPILE_MS", 0)));
  const long code = fake::setting("COMPILE_RESULT", 0);
  if (code) return static_cast<int>(code);
  if (program->source.find("#error") == std::string::npos) return 0;
  program->log = "kernel.cu(1): error: #error was asked for\n";
  return 6;
}

FAKE nvrtcAddNameExpression(Program*, const char*) { return 0; }

FAKE nvrtcGetLoweredName(Program* program, const char* name, const char** lowered) {
  program->name = std::string("_Z") + name;
  *lowered = program->name.c_str();
  return 0;
}

FAKE nvrtcGetProgramLogSize(Program* program, size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}

FAKE nvrtcGetProgramLog(Program* program, char* log) {
  std::strcpy(log, program->log.c_str());
  return 0;
}

FAKE nvrtcGetCUBINSize(Program*, size_t* size) {
  *size = sizeof image;
  return 0;
}

FAKE nvrtcGetCUBIN(Program*, char* binary) {
  std::memcpy(binary, image, sizeof image);
  return 0;
}

FAKE nvrtcGetPTXSize(Program*, size_t* size) {
  *size = sizeof image;
  return 0;
}

FAKE nvrtcGetPTX(Program*, char* binary) {
  std::memcpy(binary, image, sizeof image);
  return 0;
}
