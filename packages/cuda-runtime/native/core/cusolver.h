// cuSOLVER: its symbol table, how it is opened, and how a status becomes a Failure.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "cusolver_types.h"
#include "driver_types.h"
#include "library.h"

namespace mercer {

class Stream;

namespace cusolver {
struct Table {
#define MERCER_CUSOLVER(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "cusolver_symbols.inc"
#undef MERCER_CUSOLVER
};

/// The open library. Throws `CUSOLVER_NOT_LOADED` before `openCusolver` succeeded.
const Table& table();

/// As the library counts it: 12004 is 12.0.4.
int version();

/// Throws unless the call succeeded. A device that broke shows here first as a failure of the
/// library, so the driver is asked; its fatal error marks the device dead and is what is thrown.
void check(Status status, const char* call, Stream& stream);
}  // namespace cusolver

/// Opens cuSOLVER once per process; refuses majors other than 11 (CUDA 12) and 12 (CUDA 13).
OpenResult openCusolver(const std::vector<Candidate>& candidates);

}  // namespace mercer

/// MERCER_CUSOLVER_CALL(stream, cusolverDnSomething, arguments...): calls and checks.
#define MERCER_CUSOLVER_CALL(stream, name, ...) \
  ::mercer::cusolver::check(::mercer::cusolver::table().name(__VA_ARGS__), #name, stream)
