import { withConstants, type BuiltinKernel, scalar } from '../emitted-kernel.js';
import type { DType, PairwiseDType } from '../dtype.js';
import { float64, int64, pointer } from '../kernel-param.js';
import type { BasicReduceKind } from './plan-reduce.js';

/** In the order in which native/kernels/axis-reductions.h tells them apart. */
const KINDS: readonly BasicReduceKind[] = [
  'sum',
  'prod',
  'min',
  'max',
  'argMin',
  'argMax',
  'any',
  'all',
];

/** Outputs of one task. */
const SPAN = 256;

/** What a built-in reduction writes, where `to` is what values are written in: places are int64, truths bool. */
export function reducedDType(kind: BasicReduceKind, to: PairwiseDType): DType {
  if (kind === 'argMin' || kind === 'argMax') return 'int64';
  return kind === 'any' || kind === 'all' ? 'bool' : to;
}

/**
 * A reduction as a built-in function of the CPU's runtime:
 * `dst[(o parts + part) inner + i]` from `src[o strideOuter + j strideCount + i strideInner]` for the elements j of the part, a sum divided by
 * `divisor`.
 *
 * @param from what the elements are
 * @param to what values are written in
 */
export function cpuReduceKernel(
  kind: BasicReduceKind,
  from: PairwiseDType,
  to: PairwiseDType,
): BuiltinKernel {
  const numbers = ['outer', 'count', 'inner', 'strideOuter', 'strideCount', 'strideInner'];
  return withConstants(
    {
      name: `${kind} ${from} ${to}`,
      entry: 'reduce',
      params: [
        pointer('src', from, 'read'),
        pointer('dst', reducedDType(kind, to), 'write'),
        ...[...numbers, 'parts', 'perPart'].map(int64),
        float64('divisor'),
      ],
      tasks: (scalars) =>
        scalar(scalars, 'outer') *
        scalar(scalars, 'parts') *
        Math.ceil(scalar(scalars, 'inner') / SPAN),
    },
    {
      kind: KINDS.indexOf(kind),
      from64: Number(from === 'float64'),
      to64: Number(to === 'float64'),
    },
  );
}
