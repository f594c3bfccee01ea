import type { ReductionKind } from '@mercer/formula';
import type { MapReduceProblem } from '@mercer/kernels';
import type {
  DeviceLike,
  LoadOptions,
  Pending,
  ShardOptions,
  StreamOption,
  Tensor,
} from '@mercer/tensor';
import type { LazyDType } from './lazy-dtype.js';
import type { ReductionGroup } from './shards/reduction-group.js';
import type { RangesOption } from './ranges-option.js';

/** The side of a symbolic matrix that is reduced: 'j' leaves one result for each row i, 'i' one for each column j. */
export type LazyAxis = 'i' | 'j';

/** What row numbers in results can be. */
export type IndexDType = 'int32' | 'int64';

/** What values in results can be: what is computed in, or a dtype of 16 bits. */
export type OutDType = LazyDType | 'float16' | 'bfloat16';

/** The option of calls, and of preparations, whose results have values. */
export interface OutDTypeOption<O extends OutDType = OutDType> {
  /**
   * What the values in the results are: a dtype of 16 bits, or float32 of float64 data. Default: what is computed in. Kernels
   * write that, and the result is a copy of it, rounded once to the nearest, so the sums lose nothing.
   */
  readonly outDtype?: O | undefined;
}

/** What reductions give that find values and where they are. */
export interface ValuesAndIndices<D extends OutDType = LazyDType, I extends IndexDType = 'int32'> {
  readonly values: Tensor<D>;
  /** Row numbers of the reduced side, -1 where there is no such row. */
  readonly indices: Tensor<I>;
}

type IndexKind = 'ArgMin' | 'ArgMax' | 'ArgKMin' | 'ArgKMax';
export type BothKind = 'MinArgMin' | 'MaxArgMax' | 'KMinArgKMin' | 'KMaxArgKMax';

/** What a reduction of a kind gives: a tensor of values, of indices, or both. */
export type ResultOf<
  K extends ReductionKind,
  D extends OutDType = LazyDType,
  I extends IndexDType = 'int32',
> = K extends IndexKind ? Tensor<I> : K extends BothKind ? ValuesAndIndices<D, I> : Tensor<D>;

/** What a call gives: a promise of the result, which has the tensor's methods where the result is one tensor. */
export type PendingResult<R> = [R] extends [Tensor<infer D>] ? Pending<Tensor<D>> : Promise<R>;

/** The option of calls, and of preparations, whose results have row numbers. */
export interface IndexOption<I extends IndexDType = IndexDType> {
  /**
   * What the row numbers in the results are. Kernels write int32, the default; 'int64' is a copy of them, as programs want that keep
   * indices in 64 bits.
   */
  readonly indexDtype?: I | undefined;
}

/** How the terms of Sum, Mean, LogSumExp and SumSoftMaxWeight are added up. */
export interface SumOptions {
  /** What sums are held in: float64 for float32 data, or the data type, which is the default. */
  readonly accumulate?: LazyDType | undefined;
  /** 'block' (default): sums of short blocks; 'direct': term by term; 'kahan': term by term with what each addition lost. */
  readonly sumScheme?: MapReduceProblem['sumScheme'] | undefined;
}

/** How reductions are computed. */
export interface ComputeOptions extends SumOptions {
  /**
   * Whether quotients, logarithms, powers, roots, sines, cosines and `tanh` of float32 may be computed by the quick instructions of a GPU,
   * within the wider bounds that the README gives. The plan says `fastMath` where they are. On a CPU and in float64 it changes nothing.
   * Default false.
   */
  readonly fastMath?: boolean | undefined;
}

/** Options of a call of a reduction of any kind. */
export type CallReduceOptions<
  K extends ReductionKind,
  O extends OutDType,
  I extends IndexDType,
> = ReduceOptions<ResultOf<K, NoInfer<O>, NoInfer<I>>> & IndexOption<I> & OutDTypeOption<O>;

/** Options of a call that computes whole matrices. */
export type DenseOptions<R = Tensor> = Omit<
  ReduceOptions<R>,
  'ranges' | 'group' | keyof ShardOptions
>;

/** Options of a call that computes a reduction; `out` takes the result. */
export interface ReduceOptions<R = Tensor>
  extends StreamOption, ComputeOptions, LoadOptions, ShardOptions {
  /** Takes the result: its shape, dtype and device, no memory shared with the inputs. Any strides will do. */
  readonly out?: R | undefined;
  /** Where host data is placed when no input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** What host data is converted to when no input has a dtype of its own. Default: float32. */
  readonly dtype?: LazyDType | undefined;
  /**
   * Block-sparse: which rows of i meet which rows of j, the same for all batch entries; see `rangesFromMatrix`. Rows of no range
   * have the result of an empty side. Without it all rows meet.
   */
  readonly ranges?: RangesOption | undefined;
  /**
   * Processes that compute it together, as `joinGroup` gives them: each has rows of its own of the side that is reduced, one after the other in the order of
   * ranks, and all have the same rows of the other side, and make this call. Each has the whole result, with the same bits. Row numbers, of results and of formulas, count
   * through all processes; those of `ranges` are this process's own. `devices` and `maxBytes` spread its share further.
   */
  readonly group?: ReductionGroup | undefined;
}
