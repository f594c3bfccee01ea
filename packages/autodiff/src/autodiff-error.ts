import { MercerError } from '@mercer/options';

/** What went wrong with a derivative. What tensors and operations refuse has codes of `MercerError` itself. */
export type AutodiffErrorCode =
  /** The value of a function has not one element, so that it has no gradient. */
  | 'NOT_SCALAR'
  /** The value does not depend on what it is differentiated by. */
  | 'INDEPENDENT'
  /** A traced value was used after the function that is differentiated had ended. */
  | 'ESCAPED'
  /** The elements of a value were read that stands for one of each example. */
  | 'MAPPED'
  /** A rule of the user's is not linear in its tangents or cotangent, and cannot be turned round. */
  | 'NOT_LINEAR'
  /** What a derivative needs was disposed. */
  | 'FREED'
  /** A value or a derivative has NaN, and `detectNaN` looks for that. */
  | 'NOT_A_NUMBER'
  /** A derivative differs from what differences of values give. */
  | 'GRADIENT_MISMATCH';

/**
 * The `MercerError` of derivatives. `message` says what failed, why, and how to fix it.
 *
 * @example
 * ```ts
 * import { AutodiffError, grad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * try {
 *   await grad((x: Tensor) => x.square())(await tensor([1, 2], { device: 'cpu' }));
 * } catch (error) {
 *   if (!(error instanceof AutodiffError)) throw error;
 *   console.log(error.code); // NOT_SCALAR
 * }
 * ```
 */
export class AutodiffError extends MercerError {
  declare readonly code: AutodiffErrorCode;

  constructor(code: AutodiffErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'AutodiffError';
  }
}
