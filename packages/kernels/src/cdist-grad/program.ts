import { dtypeBytes, type PairwiseDType } from '../dtype.js';
import type { KernelCost, Scalars } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import type { CdistGradSizes } from './problem.js';
import { valueParams } from '../pairwise/params.js';

/**
 * The parameters of every kernel of the family. Sizes and strides in elements; `lda` to `ldd` are the
 * strides of the axis before the last one, `ldo` and `strideO` those of the output along n and along
 * o; a batch stride of 0 broadcasts. p is the value at `pAt + l * pStride` where that address is not
 * 0, else `pValue`. A kernel of a plan that splits k has one more, last: the pointer `workspace`.
 */
export function cdistGradParams(dtype: PairwiseDType): KernelParam[] {
  return [
    ...['a', 'b', 'c', 'd'].map((name) => pointer(name, dtype, 'read')),
    pointer('out', dtype, 'write'),
    ...CDIST_GRAD_INTEGERS.map(int64),
    ...valueParams('p', dtype),
  ];
}

/** Names of the sizes and strides, in the order of the parameters. */
const CDIST_GRAD_INTEGERS = [
  ...['m', 'n', 'o', 'k', 'batch', 'lda', 'ldb', 'ldc', 'ldd', 'ldo', 'strideO'],
  ...['batchStrideA', 'batchStrideB', 'batchStrideC', 'batchStrideD', 'batchStrideOut'],
] as const;

/** The sizes among a launch's scalars. */
export function sizesOf({ m = 0, n = 0, o = 0, k = 0, batch = 0 }: Scalars): CdistGradSizes {
  return { m, n, o, k, batch };
}

/**
 * What a launch must do at least: the inputs read once, the output written once; for each n, m, k one
 * factor a phi(delta) and what multiplies it with every row of c.
 */
export function cdistGradCost(
  plan: { readonly dtype: PairwiseDType },
  step: { readonly issueSlots: number; readonly special: number },
  scalars: Scalars,
  multiplySlots: (rows: number) => number = (rows) => rows,
): KernelCost {
  const { m, n, o, k, batch } = sizesOf(scalars);
  const layers = (stride: number | undefined): number =>
    stride === 0 ? Math.min(batch, 1) : batch;
  const elements =
    layers(scalars['batchStrideA']) * k * m +
    layers(scalars['batchStrideB']) * n * k +
    layers(scalars['batchStrideC']) * o * k +
    layers(scalars['batchStrideD']) * n * m +
    batch * o * n * m;
  const differences = batch * n * m * k;
  return {
    bytes: elements * dtypeBytes(plan.dtype),
    flops: differences * (step.issueSlots + 2 * o),
    issueSlots: differences * (step.issueSlots + multiplySlots(o)),
    specialOps: differences * step.special,
  };
}
