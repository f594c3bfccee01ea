#include "../core/spectral.h"

#include "operands.h"

namespace mercer {

namespace {

// type, vectors, uplo, n, batch, a, aOffset, leading, values, offset
EigenProblem eigenProblemOf(Arguments& take) {
  EigenProblem problem;
  problem.type = take.choice();
  problem.vectors = take.choice() != 0;
  problem.uplo = take.choice();
  const int64_t n = take.count();
  problem.batch = take.count();
  const Region a = take.region();
  problem.a = {a, n, n, take.count()};
  problem.values = take.region();
  return problem;
}

// (stream, ...problem)
Napi::Value syevdWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  return workspaceOf(info.Env(), eigenWorkspace(unwrap<Stream>(info[0]), eigenProblemOf(take)));
}

// (stream, ...problem, work, offset, bytes, infos, offset)
Napi::Value syevd(const Napi::CallbackInfo& info) {
  const auto stream = share<Stream>(info[0]);
  Arguments take(info, 1);
  const EigenProblem problem = eigenProblemOf(take);
  const Scratch work = take.scratch();
  const Region infos = take.region();
  return promiseOf(info.Env(), {},
                   [&](Waiter::Done done) { eigen(stream, problem, work, infos, std::move(done)); });
}

/// 'A', 'S' or 'N' from the numbers 2, 1 and 0.
signed char factorChoice(int choice) { return choice == 2 ? 'A' : choice == 1 ? 'S' : 'N'; }

// type, u, vt, rows, columns, a, aOffset, leading, values, offset, u?, offset, leading, vt?, offset, leading
SingularProblem singularProblemOf(Arguments& take) {
  SingularProblem problem;
  problem.type = take.choice();
  problem.u.which = factorChoice(take.choice());
  problem.vt.which = factorChoice(take.choice());
  const int64_t rows = take.count(), columns = take.count();
  const Region a = take.region();
  problem.a = {a, rows, columns, take.count()};
  problem.values = take.region();
  for (Factor* factor : {&problem.u, &problem.vt}) {
    factor->region = take.optionalRegion();
    factor->leading = take.count();
  }
  return problem;
}

// (stream, ...problem)
Napi::Value gesvdWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  return workspaceOf(info.Env(), singularWorkspace(unwrap<Stream>(info[0]), singularProblemOf(take)));
}

// (stream, ...problem, work, offset, bytes, info, offset)
Napi::Value gesvd(const Napi::CallbackInfo& info) {
  const auto stream = share<Stream>(info[0]);
  Arguments take(info, 1);
  const SingularProblem problem = singularProblemOf(take);
  const Scratch work = take.scratch();
  const Region status = take.region();
  return promiseOf(info.Env(), {},
                   [&](Waiter::Done done) { singular(stream, problem, work, status, std::move(done)); });
}

}  // namespace

void exportSpectral(Napi::Object exports) {
  method<syevdWorkspace>(exports, "syevdWorkspace");
  method<syevd>(exports, "syevd");
  method<gesvdWorkspace>(exports, "gesvdWorkspace");
  method<gesvd>(exports, "gesvd");
}

}  // namespace mercer
