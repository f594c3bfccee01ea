// The CUDA driver: its symbol table, how it is opened, and how a result becomes a Failure.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "driver_types.h"
#include "failure.h"
#include "library.h"

namespace mercer {

class Device;

namespace cu {
struct DriverTable {
#define MERCER_DRIVER(name, exported, version, required, ...) \
  std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "driver_symbols.inc"
#undef MERCER_DRIVER
};
}  // namespace cu

/// Opens the driver (once per process) and initialises it.
OpenResult openDriver(const std::vector<Candidate>& candidates);

/// The open driver. Throws `DRIVER_NOT_LOADED` before `openDriver` succeeded, and in a forked child.
const cu::DriverTable& driver();

/// True when the driver is open and its functions may still be called: for finalisers.
bool driverUsable() noexcept;

/// Version as the driver counts it: 13000 is 13.0.
int driverVersion();

/// Result of cuInit: 0, or why there is no usable device.
cu::CUresult driverInitResult();

/// CUDA_ERROR_... and the driver's sentence for a result.
std::string resultName(cu::CUresult result);
std::string resultText(cu::CUresult result);

/// True for errors after which the context is useless until the process ends.
bool isFatal(cu::CUresult result) noexcept;

Failure cudaFailure(cu::CUresult result, const char* call, int device);

/// Throws unless the call succeeded; a fatal result marks the device dead first.
void check(cu::CUresult result, const char* call, Device* device = nullptr);

}  // namespace mercer

/// MERCER_CU(device, cuSomething, arguments...): calls and checks.
#define MERCER_CU(device, name, ...) \
  ::mercer::check(::mercer::driver().name(__VA_ARGS__), #name, device)
