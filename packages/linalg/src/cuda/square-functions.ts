import { zeros } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors, type FactorMethod } from './factor.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { planLU } from './plan-lu.js';
import { needed } from './needed.js';
import { countOf, Scratch, type Dense } from './scratch.js';

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
export async function inverse(call: InverseCall): Promise<void> {
  const { setting, args } = call;
  if (countOf(setting.batchShape) === 0) return;
  const [a, result] = needed(args, 'a', 'inverse');
  const { infos } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const matrices = scratch.matrices(a.rows, a.columns);
  await pack(call, setting.batchShape, a, matrices, { part: partOf(method), infos });
  const inverses = await invert(call, scratch, matrices, method);
  await unpack(call, setting.batchShape, inverses, result, infos);
}

async function invert(
  call: InverseCall | ConditionCall,
  scratch: Scratch,
  matrices: Dense,
  method: FactorMethod,
): Promise<Dense> {
  const { args, setting } = call;
  const inverses = scratch.matrices(matrices.rows, matrices.columns);
  const { rows, columns, count } = inverses;
  const { dtype } = setting;
  const kernel = kernels.identity(dtype);
  await launch(call, kernel, { to: inverses.storage }, { rows, columns, count });
  const lu = planLU({ dtype, n: rows, columns, use: 'factor' });
  const factors = new Factors(scratch, matrices, { ...method, lu });
  await factorAll(call, scratch, factors, { sides: inverses });
  await mergeCodes(call, args.infos, factors.codes, count);
  return inverses;
}

/** Determinants. */
export async function logdet(call: LogdetCall): Promise<void> {
  const { setting, args } = call;
  if (countOf(setting.batchShape) === 0) return;
  const [a] = needed(args, 'a');
  const { infos, signs, logs } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const matrices = scratch.matrices(a.rows, a.columns);
  await pack(call, setting.batchShape, a, matrices, { part: partOf(method), infos });
  // With the int64 pivots that the kernel reads.
  const factors = new Factors(scratch, matrices, method);
  await factorAll(call, scratch, factors);
  await mergeCodes(call, infos, factors.codes, scratch.count);
  // Without rows there are no pivots to point to, and the sign is 1 either way.
  const pivots = a.rows === 0 ? undefined : factors.pivots;
  const pointers = { factors: matrices.storage, pivots, signs, logs, infos };
  const sizes = { n: a.rows, count: scratch.count };
  await launch(call, kernels.determinants(setting.dtype), pointers, sizes);
}

/** Condition numbers in the 1-norm, of the inverse itself: on a GPU products are cheaper than an estimate's many steps. */
export async function condition(call: ConditionCall): Promise<void> {
  const { setting, args } = call;
  if (countOf(setting.batchShape) === 0) return;
  const [a] = needed(args, 'a');
  const { infos, conditions } = args;
  const method = methodOf(args);
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const matrices = scratch.matrices(a.rows, a.columns);
  const part = partOf(method);
  await pack(call, setting.batchShape, a, matrices, { part, mirrored: method.cholesky, infos });
  using norms = await oneNorms(call, matrices);
  const inverses = await invert(call, scratch, matrices, method);
  using inverseNorms = await oneNorms(call, inverses);
  const lu = Number(!method.cholesky);
  const pointers = { norms, inverseNorms, conditions, infos };
  const sizes = { n: a.rows, lu, count: scratch.count };
  await launch(call, kernels.conditions(setting.dtype), pointers, sizes);
}

async function oneNorms(call: ConditionCall, matrices: Dense) {
  const { dtype, device } = call.setting;
  const { rows: n, count } = matrices;
  const norms = await zeros([count], { dtype, device, ...workOf(call) });
  try {
    const pointers = { matrices: matrices.storage, norms };
    await launch(call, kernels.oneNorms(dtype), pointers, { n, count });
  } catch (error) {
    norms.dispose();
    throw error;
  }
  return norms;
}
