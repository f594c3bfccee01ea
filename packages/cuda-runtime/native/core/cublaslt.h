// cuBLASLt: its symbol table, how it is opened, and how a status becomes a Failure.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "cublaslt_types.h"
#include "driver_types.h"
#include "library.h"

namespace mercer {

class Stream;

namespace cublaslt {
struct Table {
#define MERCER_CUBLASLT(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "cublaslt_symbols.inc"
#undef MERCER_CUBLASLT
};

/// The open library. Throws `CUBLASLT_NOT_LOADED` before `openCublasLt` succeeded.
const Table& table();

/// As the library counts it: 130101 is 13.1.1.
int version();

/// Throws unless the call succeeded; a fatal error of the driver comes first, as for cuSOLVER.
void check(Status status, const char* call, Stream& stream);
}  // namespace cublaslt

/// Opens cuBLASLt once per process; refuses majors other than 12 and 13.
OpenResult openCublasLt(const std::vector<Candidate>& candidates);

}  // namespace mercer

/// MERCER_CUBLASLT_CALL(stream, cublasLtSomething, arguments...): calls and checks.
#define MERCER_CUBLASLT_CALL(stream, name, ...) \
  ::mercer::cublaslt::check(::mercer::cublaslt::table().name(__VA_ARGS__), #name, stream)
