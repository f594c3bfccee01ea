/**
 * The base of every error that Mercer's packages throw. `code` is a word for programs, each class having its own; `message`
 * says what failed, why, and how to fix it; `cause` is the error behind it, where there is one.
 *
 * What works on tensors throws the class itself. Others extend it with what they know: `LinalgError` the batch entry,
 * `LazyError` none, `CompileError` the compiler's log, and so on.
 *
 * @example
 * ```ts
 * import { MercerError } from '@mercer/options';
 *
 * class BlurError extends MercerError {
 *   override readonly name = 'BlurError';
 *   declare readonly code: 'NO_IMAGE' | 'TOO_LARGE';
 * }
 * const error: unknown = new BlurError('NO_IMAGE', 'blur: there is no image. Pass one.');
 * console.log(error instanceof MercerError && error.code); // NO_IMAGE
 * ```
 */
export class MercerError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}
