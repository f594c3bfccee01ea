import type { HostTimes } from '../calls.js';
import type { Spread } from '../statistics.js';

/** What `mercer bench optim` measures: a step of each optimiser. */
export const OPTIM_NAMES = ['sgd', 'adam', 'adamW', 'muon', 'lbfgs'] as const;

/** A name of {@link OPTIM_NAMES}. */
export type OptimName = (typeof OPTIM_NAMES)[number];

/** One way to take steps of one of them. */
export interface OptimRow {
  readonly operation: OptimName;
  readonly library: string;
  readonly way: string;
  /** Elements of all parameters, and how many tensors these are. */
  readonly n: number;
  readonly tensors: number;
  /** Microseconds of a step. */
  readonly us: Spread;
  /** Until a call has returned or its promise has resolved. */
  readonly host?: HostTimes;
  /** Of sgd, adam and adamW: the largest difference of parameters from float64 after three steps, by the largest parameter. */
  readonly error?: number;
  /** Microseconds that a copy takes to move as many bytes as the step reads and writes. */
  readonly floorUs?: number;
}

/** Problems of a size for the device. The peers take the same. */
export interface OptimSizes {
  /** Vectors for sgd, adam and adamW, and the elements of each. */
  readonly vectors: readonly [count: number, size: number];
  /** Square matrices for muon, and the rows of each. */
  readonly matrices: readonly [count: number, rows: number];
  /** Elements of the parameter of lbfgs. */
  readonly elements: number;
}

export const OPTIM_SIZES: Readonly<Record<'cpu' | 'cuda', OptimSizes>> = {
  cpu: { vectors: [100, 10_000], matrices: [4, 64], elements: 100_000 },
  cuda: { vectors: [100, 100_000], matrices: [10, 1024], elements: 10_000_000 },
};

/** What all libraries are given. */
export const RATE = 1e-3;
export const MOMENTUM = 0.9;
/** Pairs that lbfgs has when it is timed. */
export const HISTORY = 10;
