import { MercerError as AnyMercerError } from '@mercer/options';

/** What went wrong with tensors, for programs; the message is for people. */
export type MercerErrorCode =
  /** Shapes, ranks or extents that do not fit together. */
  | 'SHAPE_MISMATCH'
  | 'DTYPE_MISMATCH'
  /** Tensors, streams or kernels of different devices in one call. */
  | 'DEVICE_MISMATCH'
  | 'INVALID_ARGUMENT'
  /** A tensor, stream or scope was used after it was disposed. */
  | 'DISPOSED'
  /** What a result that is not computed yet reads was written meanwhile. */
  | 'MODIFIED'
  /** An output shares memory with an input or with itself. */
  | 'OVERLAP'
  | 'OUT_OF_MEMORY'
  /** The device asked for does not exist or cannot be used. */
  | 'NO_BACKEND'
  /** The layout asked for needs a copy; the message names the call that makes it. */
  | 'NOT_CONTIGUOUS'
  /** The device has no such operation; the message says where there is one. */
  | 'UNSUPPORTED'
  /** A structured clone or a message to another thread was asked for; the message says how to send the data. */
  | 'NOT_CLONEABLE'
  /** A value was asked for inside a function that is prepared, or one of its values outside. */
  | 'CAPTURED'
  /** Two copies of this package in one program. */
  | 'TWO_COPIES'
  /** An operation without a derivative rule got a value of a function that is differentiated. */
  | 'NOT_DIFFERENTIABLE';

/** Makes errors of tensors: the class takes their codes only. */
export interface MercerErrorClass {
  new (code: MercerErrorCode, message: string, options?: ErrorOptions): MercerError;
  readonly prototype: MercerError;
}

/**
 * The base of every error that Mercer throws: `error instanceof MercerError` is true for a `LinalgError`, a `LazyError`, a
 * `CudaError` and every other one. `code` is a word for programs, `message` says what failed, why, and how to fix it, and
 * `cause` is the error behind it. What works on tensors throws the class itself, with a `MercerErrorCode`.
 *
 * @example
 * ```ts
 * import { MercerError, tensor } from '@mercer/tensor';
 *
 * try {
 *   await tensor([[1, 2], [3]], { device: 'cpu' });
 * } catch (error) {
 *   if (!(error instanceof MercerError)) throw error;
 *   console.log(error.code); // SHAPE_MISMATCH
 * }
 * ```
 */
export const MercerError: MercerErrorClass = AnyMercerError;

/** An error of Mercer; see the class. */
export type MercerError = AnyMercerError;

/** What an operation without a derivative says to a traced argument. */
export const notDifferentiable = (
  what: string,
  why = 'it has no derivative rule',
  remedy = 'Give it stopGradient(x) where the gradient is to be 0, or define a rule with customVjp()',
): MercerError =>
  new MercerError('NOT_DIFFERENTIABLE', `${what}: cannot be differentiated, ${why}. ${remedy}.`);

/** What a call that writes a tensor says to a traced argument. */
export const writesTraced = (what: string, why: string): MercerError =>
  new MercerError(
    'NOT_DIFFERENTIABLE',
    `${what}: ${why}, inside a function that is differentiated or mapped. Compute a new tensor, as with where() or pad(), and return it.`,
  );
