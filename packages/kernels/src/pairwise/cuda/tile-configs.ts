import type { PairwiseDType } from '../../dtype.js';
import type { TileConfig } from '../../pair-tile/cuda/tile-operand.js';

/** What the arithmetic of one pair asks of a tile. */
export type StepWeight = 'light' | 'max' | 'power' | 'either' | 'heavy';

const tile = (
  [tileRows, tileColumns, tileK]: readonly [number, number, number],
  [threadRows, threadColumns, slicesK = 1]: readonly [number, number, number?],
  [stages, chunkK, blocksPerMultiprocessor]: readonly [number, number, number],
): TileConfig =>
  Object.freeze({
    tileRows,
    tileColumns,
    tileK,
    threadRows,
    threadColumns,
    slicesK,
    stages,
    chunkK,
    blocksPerMultiprocessor,
  });

const FLOAT64_LIGHT: readonly TileConfig[] = [
  tile([64, 64, 16], [16, 8], [3, 1, 3]),
  tile([32, 64, 16], [8, 16], [3, 1, 4]),
  tile([32, 32, 16], [8, 8], [3, 1, 6]),
  tile([32, 32, 32], [4, 8, 4], [2, 1, 4]),
];

/** float32 tiles for light steps below the largest. */
const SMALLER: readonly TileConfig[] = [
  tile([64, 64, 32], [8, 8, 4], [4, 1, 2]),
  tile([64, 64, 32], [8, 16], [3, 2, 4]),
  tile([128, 32, 32], [16, 8], [3, 2, 3]),
  tile([32, 128, 32], [8, 16], [3, 2, 3]),
  tile([32, 64, 64], [4, 8, 8], [3, 1, 2]),
  tile([64, 32, 64], [4, 8, 8], [3, 1, 2]),
  tile([32, 32, 64], [4, 8, 8], [4, 1, 3]),
  tile([16, 16, 128], [4, 8, 8], [4, 1, 2]),
];

/**
 * The tiles that a plan may use, largest first. Light steps (two instructions a pair) live from
 * large register tiles; long ones (powers) reuse operands less and keep the text short.
 */
const CONFIGS: {
  readonly [D in PairwiseDType]: { readonly [W in StepWeight]: readonly TileConfig[] };
} = {
  float32: {
    light: [tile([128, 128, 32], [16, 16], [2, 1, 2]), ...SMALLER],
    max: [tile([128, 128, 16], [16, 16], [3, 1, 2]), ...SMALLER],
    power: [
      tile([64, 64, 16], [8, 16], [3, 1, 4]),
      tile([128, 32, 32], [16, 8], [3, 1, 3]),
      tile([32, 128, 32], [8, 16], [3, 1, 3]),
      tile([32, 32, 64], [4, 8, 8], [4, 1, 2]),
      tile([16, 16, 128], [4, 8, 8], [4, 1, 2]),
    ],
    // four loops over the pairs in one text: a thread has half as many of them
    either: [
      tile([64, 64, 16], [16, 16], [3, 1, 3]),
      tile([128, 32, 32], [32, 8], [3, 1, 3]),
      tile([32, 128, 32], [8, 32], [3, 1, 3]),
      tile([32, 32, 64], [8, 8, 4], [4, 1, 3]),
      tile([16, 16, 128], [4, 8, 8], [4, 1, 2]),
    ],
    heavy: [tile([64, 64, 16], [16, 16], [3, 1, 2]), tile([32, 32, 32], [8, 8], [3, 1, 8])],
  },
  float64: {
    light: FLOAT64_LIGHT,
    max: FLOAT64_LIGHT,
    power: [],
    either: [],
    heavy: [tile([64, 32, 16], [16, 16], [3, 1, 2]), tile([32, 32, 16], [8, 8], [3, 1, 6])],
  },
};

/** Candidate tiles of a data type and kind of arithmetic. */
export function tileConfigs(dtype: PairwiseDType, weight: StepWeight): readonly TileConfig[] {
  return CONFIGS[dtype][weight];
}
