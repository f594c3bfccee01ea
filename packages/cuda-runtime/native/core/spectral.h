// cuSOLVER's eigenvalues and singular values. The library waits for its own results, so these run
// beside the stream (see beside.h) and cannot be captured.
#pragma once

#include "beside.h"
#include "workspace.h"

namespace mercer {

/// Symmetric eigenproblems of n x n: the eigenvalues, ascending, and, with `vectors`, the eigenvectors
/// as columns in place of the matrix.
struct EigenProblem {
  int type = 0;
  bool vectors = false;
  int uplo = 0;
  Matrix a;
  Region values;      // n of `type` for each matrix
  int64_t batch = 0;  // 0: one matrix through Xsyevd; else so many, n * leading elements apart
};

/// Throws `NOT_SUPPORTED` for a batch where the library has no XsyevBatched.
WorkspaceBytes eigenWorkspace(Stream& stream, const EigenProblem& problem);
void eigen(const SharedStream& stream, const EigenProblem& problem, const Scratch& scratch, const Region& infos,
           Waiter::Done done);

/// A factor of a singular value decomposition: 'A' (all), 'S' (the first n) or 'N' (none).
struct Factor {
  signed char which = 'N';
  Region region;
  int64_t leading = 0;
};

/// a = u diag(s) vt of m x n with m >= n; `a` is destroyed.
struct SingularProblem {
  int type = 0;
  Matrix a;
  Region values;  // n of `type`, descending
  Factor u, vt;
};

WorkspaceBytes singularWorkspace(Stream& stream, const SingularProblem& problem);
void singular(const SharedStream& stream, const SingularProblem& problem, const Scratch& scratch,
              const Region& info, Waiter::Done done);

}  // namespace mercer
