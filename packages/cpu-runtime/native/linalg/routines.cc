// The table of routines.
#include "cholesky.h"
#include "determinant.h"
#include "eigh.h"
#include "orthogonal.h"
#include "power.h"
#include "product.h"
#include "refined-solve.h"
#include "solve.h"

namespace mercer::cpu {

namespace {

#define MERCER_BUILTIN(name, Routine, needsLapack)        \
  builtin<Routine<float>>(name "_float32", needsLapack), \
      builtin<Routine<double>>(name "_float64", needsLapack)
#define MERCER_ROUTINE(name, Routine) MERCER_BUILTIN(name, Routine, false)
#define MERCER_LAPACK_ROUTINE(name, Routine) MERCER_BUILTIN(name, Routine, true)

constexpr Builtin kBuiltins[] = {
    MERCER_ROUTINE("solve_cholesky", SolveCholesky),
    MERCER_ROUTINE("solve_lu", SolveLU),
    MERCER_ROUTINE("refined_cholesky", RefinedCholesky),
    MERCER_ROUTINE("refined_lu", RefinedLU),
    MERCER_ROUTINE("triangular_solve", TriangularSolve),
    MERCER_ROUTINE("cholesky", Cholesky),
    MERCER_LAPACK_ROUTINE("eigh", Eigh),
    MERCER_ROUTINE("inverse", Inverse),
    MERCER_ROUTINE("logdet", Logdet),
    MERCER_ROUTINE("condition", Condition),
    MERCER_ROUTINE("qr", Qr),
    MERCER_LAPACK_ROUTINE("svd", Svd),
    MERCER_LAPACK_ROUTINE("lstsq", Lstsq),
    MERCER_ROUTINE("gemm", Gemm),
    MERCER_ROUTINE("kron", Kron),
    MERCER_LAPACK_ROUTINE("eigen_power", EigenPower),
    MERCER_ROUTINE("inverse_root", InverseRoot),
};

#undef MERCER_LAPACK_ROUTINE
#undef MERCER_ROUTINE
#undef MERCER_BUILTIN

}  // namespace

const Builtin* findRoutine(const std::string& name) {
  for (const Builtin& one : kBuiltins)
    if (name == one.name) return &one;
  return nullptr;
}

}  // namespace mercer::cpu
