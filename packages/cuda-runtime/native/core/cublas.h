// cuBLAS: its symbol table, how it is opened, and how a status becomes a Failure.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "cublas_types.h"
#include "driver_types.h"
#include "library.h"

namespace mercer {

class Stream;

namespace cublas {
struct Table {
#define MERCER_CUBLAS(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "cublas_symbols.inc"
#undef MERCER_CUBLAS
};

/// The open library. Throws `CUBLAS_NOT_LOADED` before `openCublas` succeeded.
const Table& table();

/// 130101 is 13.1.1.
int version();

/// Throws unless the call succeeded and `info`, where a call gives one on the host, is not -i for a
/// wrong argument i. A fatal error of the driver comes first, as for cuSOLVER.
void check(Status status, const char* call, Stream& stream, int info = 0);
}  // namespace cublas

/// Opens cuBLAS once per process; refuses majors other than 12 and 13.
OpenResult openCublas(const std::vector<Candidate>& candidates);

}  // namespace mercer

/// MERCER_CUBLAS_CALL(stream, cublasSomething, arguments...): calls and checks.
#define MERCER_CUBLAS_CALL(stream, name, ...) \
  ::mercer::cublas::check(::mercer::cublas::table().name(__VA_ARGS__), #name, stream)
