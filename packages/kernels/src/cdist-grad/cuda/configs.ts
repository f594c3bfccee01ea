import type { PairwiseDType } from '../../dtype.js';
import type { FmaConfig, MmaConfig } from '../plan-types.js';

/** How long the arithmetic of one factor is: a few instructions, or dozens. */
export type TermWeight = 'light' | 'heavy';

/** Threads of a block of plain multiply-adds, along n and along m. */
export const FMA_THREADS = { n: 8, m: 16 } as const;
/** Steps of k that one of its stages in shared memory holds. */
export const FMA_TILE_K: { readonly [D in PairwiseDType]: number } = { float32: 32, float64: 16 };
/** Stages in shared memory, loaded ahead asynchronously. */
export const STAGES = 3;

const fma = (
  tileO: number,
  [perThreadN, perThreadM]: readonly [number, number],
  blocksPerMultiprocessor: number,
): FmaConfig => Object.freeze({ tileO, perThreadN, perThreadM, blocksPerMultiprocessor });

const mma = (
  [perWarpN, perWarpM]: readonly [number, number],
  [warpsN, warpsM]: readonly [number, number],
  blocksPerMultiprocessor: number,
): MmaConfig => Object.freeze({ perWarpN, perWarpM, warpsN, warpsM, blocksPerMultiprocessor });

/** Every configuration that a plan may use; a long factor takes small tiles, which keep the text short. */
const FMA: {
  readonly [D in PairwiseDType]: { readonly [W in TermWeight]: readonly FmaConfig[] };
} = {
  float32: {
    light: [
      fma(32, [1, 4], 3),
      fma(16, [2, 4], 3),
      fma(8, [2, 4], 4),
      fma(4, [4, 4], 4),
      fma(1, [4, 4], 4),
      fma(16, [1, 2], 6),
      fma(4, [1, 2], 8),
    ],
    heavy: [
      fma(32, [1, 4], 2),
      fma(16, [1, 4], 4),
      fma(8, [1, 4], 5),
      fma(1, [1, 4], 5),
      fma(4, [1, 2], 8),
    ],
  },
  float64: {
    light: [
      fma(16, [1, 2], 4),
      fma(8, [2, 2], 4),
      fma(4, [2, 2], 5),
      fma(1, [2, 2], 6),
      fma(4, [1, 1], 8),
    ],
    heavy: [fma(16, [1, 2], 3), fma(8, [1, 2], 4), fma(1, [1, 2], 5), fma(4, [1, 1], 6)],
  },
};

const MMA: { readonly [W in TermWeight]: readonly MmaConfig[] } = {
  light: [mma([8, 2], [2, 2], 2), mma([4, 2], [2, 2], 3), mma([2, 2], [2, 2], 4)],
  heavy: [mma([2, 2], [4, 1], 4), mma([2, 1], [4, 1], 5)],
};

/** Candidates for plain multiply-adds, largest first. */
export function fmaConfigs(dtype: PairwiseDType, weight: TermWeight): readonly FmaConfig[] {
  return FMA[dtype][weight];
}

/** Candidates for tensor cores, largest first. */
export function mmaConfigs(weight: TermWeight): readonly MmaConfig[] {
  return MMA[weight];
}
