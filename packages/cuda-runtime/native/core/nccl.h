// NCCL: its symbol table, how it is opened, and how a result becomes a Failure.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "driver_types.h"
#include "failure.h"
#include "library.h"
#include "nccl_types.h"

namespace mercer {

namespace nccl {
struct Table {
#define MERCER_NCCL(name, required, ...) std::add_pointer_t<__VA_ARGS__> name = nullptr;
#include "nccl_symbols.inc"
#undef MERCER_NCCL
};

/// The open library. Throws `NCCL_NOT_LOADED` before `openNccl` succeeded.
const Table& table();

/// As the library counts it: 22304 is 2.23.4.
int version();

/// A result as a failure, with what the library says of it; `comm` may be null.
Failure failureOf(Result result, const char* call, int device, Comm comm);
}  // namespace nccl

/// Opens NCCL once per process; refuses versions before 2.14, whose calls cannot be given up.
OpenResult openNccl(const std::vector<Candidate>& candidates);

}  // namespace mercer
