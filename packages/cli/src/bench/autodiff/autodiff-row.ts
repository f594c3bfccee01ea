import type { HostTimes } from '../calls.js';
import type { Spread } from '../statistics.js';

/** What `mercer bench autodiff` measures; the chain comes first, since a device tells its highest memory so far. */
export const AUTODIFF_NAMES = [
  'chain',
  'sgdStep',
  'expSum',
  'broadcast',
  'gaussianGradient',
] as const;

/** A name of {@link AUTODIFF_NAMES}. */
export type AutodiffName = (typeof AUTODIFF_NAMES)[number];

/** One way to compute one of them. */
export interface AutodiffRow {
  readonly operation: AutodiffName;
  readonly library: string;
  readonly way: string;
  /** Elements of the array, points, or rows of a batch. */
  readonly n: number;
  /** Microseconds of a call. */
  readonly us: Spread;
  /** Until a call has returned or its promise has resolved. */
  readonly host?: HostTimes;
  /** The largest difference from float64 by the largest value; of gradients the worst of all variables. */
  readonly error: number;
  /** Microseconds that a copy takes to move as many bytes. */
  readonly floorUs?: number;
  /** The highest memory of a call with its input, in sizes of that input. */
  readonly peakSizes?: number;
}

/** Problems of a size for the device. The peers take the same. */
export interface AutodiffSizes {
  readonly batch: number;
  readonly elements: number;
  readonly points: readonly number[];
  /** Rows and columns, which a vector or another matrix is added to. */
  readonly matrix: readonly [rows: number, columns: number];
}

export const SIZES: Readonly<Record<'cpu' | 'cuda', AutodiffSizes>> = {
  cpu: { batch: 128, elements: 100_000, points: [1000, 3000], matrix: [256, 400] },
  cuda: { batch: 1024, elements: 5e7, points: [1e4, 1e5], matrix: [16384, 4096] },
};
