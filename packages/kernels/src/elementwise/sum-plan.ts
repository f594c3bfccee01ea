import { int64, pointer, type KernelParam } from '../kernel-param.js';

/** Element types that sums are taken of and written in. */
export type SumDType = 'float32' | 'float64';

/**
 * Everything that decides the text of a sum over an axis. 'each': a thread adds up one output; 'block':
 * a block of threads shares one, for few outputs with many terms (on a GPU).
 */
export interface SumPlan {
  readonly family: 'sum';
  readonly from: SumDType;
  readonly to: SumDType;
  readonly mode: 'each' | 'block';
}

/** Sizes to choose a plan by: outputs, and terms of each. */
export interface SumProblem {
  readonly from: SumDType;
  readonly to: SumDType;
  readonly outputs: number;
  readonly count: number;
}

/** Outputs that keep a GPU busy with a thread each. */
const MANY_OUTPUTS = 8192;
const FEW_TERMS = 64;

/**
 * The plan of `dst[o * inner + i] = sum_j src[o * strideOuter + j * strideCount + i * strideInner]`, added in double
 * precision in an order that depends on the sizes alone.
 */
export function planSum({ from, to, outputs, count }: SumProblem): SumPlan {
  const mode = outputs >= MANY_OUTPUTS || count <= FEW_TERMS ? 'each' : 'block';
  return Object.freeze({ family: 'sum', from, to, mode });
}

/** `src`, `dst`, extents `outer`, `count`, `inner` and the source's strides over them, in elements. */
export function sumParams({ from, to }: SumPlan): readonly KernelParam[] {
  return [
    pointer('src', from, 'read'),
    pointer('dst', to, 'write'),
    ...['outer', 'count', 'inner', 'strideOuter', 'strideCount', 'strideInner'].map(int64),
  ];
}
