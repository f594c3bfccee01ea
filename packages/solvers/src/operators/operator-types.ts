import type { Device, Tensor } from '@mercer/tensor';

/** Dtypes that operators compute in. */
export type OperatorDType = 'float32' | 'float64';

/** Numbers of rows: known to the host, or only to the device. */
export type RowIndices = readonly number[] | Tensor<'int32' | 'int64'>;

/** What is known of an operator without calling it. */
export interface OperatorForm<D extends OperatorDType = OperatorDType> {
  /** Rows and columns. */
  readonly shape: readonly [rows: number, columns: number];
  readonly dtype: D;
  readonly device: Device;
  /** Whether its products may be captured and replayed, as `prepare` does: they are work on tensors alone, the same each time. */
  readonly isCapturable: boolean;
  /** Whether its products call functions of another program, also where these may be captured. */
  readonly isForeign?: boolean | undefined;
}

/** What an operator computes from the tensors that it is made of. Vectors are columns (N, K); results are new tensors. */
export interface OperatorRules {
  readonly matvec: (vectors: Tensor, parameters: readonly Tensor[]) => PromiseLike<Tensor>;
  /** Products with the transpose; undefined where there are none. */
  readonly rmatvec:
    ((vectors: Tensor, parameters: readonly Tensor[]) => PromiseLike<Tensor>) | undefined;
  /** (N). */
  readonly diagonal: ((parameters: readonly Tensor[]) => PromiseLike<Tensor>) | undefined;
  /** Some rows, (count, columns). */
  readonly rows?:
    ((indices: RowIndices, parameters: readonly Tensor[]) => PromiseLike<Tensor>) | undefined;
  /** The whole matrix, (rows, columns), where there is a better way than products with all unit vectors. */
  readonly dense?: ((parameters: readonly Tensor[]) => PromiseLike<Tensor>) | undefined;
}

/** What an operator is made of. */
export interface OperatorParts<D extends OperatorDType = OperatorDType> {
  readonly form: OperatorForm<D>;
  readonly parameters: readonly Tensor[];
  readonly rules: OperatorRules;
  /** Tensors that were made for it, and end with it. */
  readonly owned?: readonly Tensor[];
}

/** What compositions know of the operators that they are made of. */
export interface Operand<D extends OperatorDType = OperatorDType> extends OperatorForm<D> {
  readonly parameters: readonly Tensor[];
  readonly hasTranspose: boolean;
  readonly hasDiagonal: boolean;
  matvec(vectors: Tensor<D>): Promise<Tensor<D>>;
  rmatvec(vectors: Tensor<D>): Promise<Tensor<D>>;
  diagonal(): Promise<Tensor<D>>;
  rows(indices: RowIndices): Promise<Tensor<D>>;
  dense(): Promise<Tensor<D>>;
  withParameters(parameters: readonly Tensor[]): Operand<D>;
}
