import type { HostTimes } from '../calls.js';
import type { Spread } from '../statistics.js';

/** What `mercer bench optim` measures: a step of each optimiser, inverse roots of a matrix, and gradients of each example. */
export const OPTIM_NAMES = [
  'sgd',
  'adam',
  'adamW',
  'muon',
  'lbfgs',
  'shampoo',
  'roots',
  'perSample',
] as const;

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
  /** Microseconds of a step; of a way that is called a refresh, of that. */
  readonly us: Spread;
  /** Where the time of a step is a share of a time of several: of how many, and of how many refreshes behind them. */
  readonly shared?: { readonly steps: number; readonly refreshes: number };
  /** Until a call has returned or its promise has resolved. */
  readonly host?: HostTimes;
  /**
   * Of sgd, adam and adamW the largest difference of parameters from float64 after three steps, by the largest parameter; of roots X the Frobenius
   * norm of X^4 A - I by that of I, in float64; of gradients of each example the relative error of their mean.
   */
  readonly error?: number;
  /** Of an optimiser with preconditioners, how often in a row one could not be computed when the time was over. A measurement with failures throws. */
  readonly failures?: number;
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
  /** Widths of the layers of a perceptron, and the examples of a batch, whose step is taken by shampoo and by adam. */
  readonly trained: readonly [widths: readonly number[], batch: number];
  /** Steps of shampoo from one refresh of its roots to the next. */
  readonly frequency: number;
  /** Rows of the matrix whose inverse fourth root is computed. */
  readonly rootRows: number;
  /** A perceptron, and the examples whose gradients are computed. */
  readonly perSample: readonly [widths: readonly number[], batch: number];
}

export const OPTIM_SIZES: Readonly<Record<'cpu' | 'cuda', OptimSizes>> = {
  cpu: {
    vectors: [100, 1000],
    matrices: [4, 64],
    elements: 100_000,
    trained: [[16, 16, 10], 64],
    frequency: 4,
    rootRows: 64,
    perSample: [[49, 16, 10], 64],
  },
  cuda: {
    vectors: [100, 100_000],
    matrices: [10, 1024],
    elements: 10_000_000,
    trained: [[256, 256, 256, 10], 8192],
    frequency: 100,
    rootRows: 4096,
    perSample: [[784, 256, 256, 10], 4096],
  },
};

/** What all libraries are given. */
export const RATE = 1e-3;
export const MOMENTUM = 0.9;
/** Pairs that lbfgs has when it is timed. */
export const HISTORY = 10;
/** Of the matrix whose root is computed. */
export const CONDITION = 1e4;
