import type { Enqueuing } from '@mercer/tensor/operation';
import type { Storage } from '@mercer/tensor';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors, type FactorMethod } from './factor.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { planLU } from './plan-lu.js';
import { clear, Scratch, type Dense } from './scratch.js';

/*
 * What follows from one factor of a square matrix.
 */

type InverseCall = CudaCall<FieldsOf<'inverse'>>;
type LogdetCall = CudaCall<FieldsOf<'logdet'>>;
type ConditionCall = CudaCall<FieldsOf<'condition'>>;

const methodOf = ({ cholesky, upper }: Record<'cholesky' | 'upper', number>): FactorMethod => ({
  cholesky: cholesky !== 0,
  uplo: triangle(upper),
});

const partOf = ({ cholesky, uplo }: FactorMethod) => (cholesky ? uplo : 'all');

/** Inverses, as the solutions for the identity. */
export function* inverse(call: InverseCall): Enqueuing {
  const { setting, args } = call;
  const { a, inverse: result, infos } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  yield* pack(call, setting.batchShape, a, matrices, { part: partOf(method), infos });
  const inverses = yield* invert(call, scratch, matrices, method);
  yield* unpack(call, setting.batchShape, inverses, result, infos);
}

function* invert(
  call: InverseCall | ConditionCall,
  scratch: Scratch,
  matrices: Dense,
  method: FactorMethod,
): Enqueuing<Dense> {
  const { args, setting } = call;
  const inverses = scratch.matrices(matrices.rows, matrices.columns);
  const { rows, columns, count } = inverses;
  const { dtype } = setting;
  const kernel = kernels.identity(dtype);
  yield* launch(call, kernel, { to: inverses.storage }, { rows, columns, count });
  const lu = planLU({ dtype, n: rows, columns, use: 'factor' });
  const factors = new Factors(scratch, matrices, { ...method, lu });
  yield* factorAll(call, scratch, factors, { sides: inverses });
  yield* mergeCodes(call, args.infos, factors.codes, count);
  return inverses;
}

/** Determinants. */
export function* logdet(call: LogdetCall): Enqueuing {
  const { setting, args } = call;
  const { a, infos, signs, logs } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  yield* pack(call, setting.batchShape, a, matrices, { part: partOf(method), infos });
  // With the int64 pivots that the kernel reads.
  const factors = new Factors(scratch, matrices, method);
  yield* factorAll(call, scratch, factors);
  yield* mergeCodes(call, infos, factors.codes, scratch.count);
  // Without rows there are no pivots to point to, and the sign is 1 either way.
  const pivots = a.rows === 0 ? undefined : factors.pivots;
  const pointers = { factors: matrices.storage, pivots, signs, logs, infos };
  const sizes = { n: a.rows, count: scratch.count };
  yield* launch(call, kernels.determinants(setting.dtype), pointers, sizes);
}

/** Condition numbers in the 1-norm, of the inverse itself: on a GPU products are cheaper than an estimate's many steps. */
export function* condition(call: ConditionCall): Enqueuing {
  const { setting, args } = call;
  const { a, infos, conditions } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  const part = partOf(method);
  yield* pack(call, setting.batchShape, a, matrices, { part, mirrored: method.cholesky, infos });
  const norms = yield* oneNorms(call, scratch, matrices);
  const inverses = yield* invert(call, scratch, matrices, method);
  const inverseNorms = yield* oneNorms(call, scratch, inverses);
  const lu = Number(!method.cholesky);
  const pointers = { norms, inverseNorms, conditions, infos };
  const sizes = { n: a.rows, lu, count: scratch.count };
  yield* launch(call, kernels.conditions(setting.dtype), pointers, sizes);
}

function* oneNorms(call: ConditionCall, scratch: Scratch, matrices: Dense): Enqueuing<Storage> {
  const { rows: n, count } = matrices;
  const norms = scratch.matrices(1, 1).storage;
  clear(call, norms);
  const pointers = { matrices: matrices.storage, norms };
  yield* launch(call, kernels.oneNorms(matrices.dtype), pointers, { n, count });
  return norms;
}
