import type { LoadOptions, RowReader, ShardOptions, Stream, Tensor } from '@mercer/tensor';
import type { GradientsByLabel } from '../gradients-by-label.js';
import type { PairwiseInput } from '../place.js';
import type { HostOut } from './result-sink.js';

/** Where gradients are written, by what they are taken by. */
export type BlockedOuts = Readonly<Record<string, Tensor | HostOut | undefined>>;

/** Rows, or values of pairs. */
export type BlockInput = PairwiseInput | RowReader;

/** Gradients whose rows and columns are gone through block by block. */
export interface BlockedBackward extends ShardOptions, LoadOptions {
  readonly what: string;
  readonly gradient: BlockInput;
  readonly a: BlockInput;
  /** Undefined where there is one input. */
  readonly b: BlockInput | undefined;
  readonly wrt: readonly string[];
  readonly out?: BlockedOuts | undefined;
  readonly stream?: Stream | undefined;
  /** Tensors among the values of the call. */
  readonly parameters: readonly Tensor[];
  /** The gradients of one block, with the tensors of the call on its device. */
  readonly compute: (block: BackwardBlock) => Promise<GradientsByLabel>;
}

/** A block of rows and columns on a device. */
export interface BackwardBlock {
  readonly gradient: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
  /** As `parameters` of the call. */
  readonly parameters: readonly Tensor[];
  readonly first: readonly [row: number, column: number];
  readonly wrt: readonly string[];
  readonly signal: AbortSignal;
}
