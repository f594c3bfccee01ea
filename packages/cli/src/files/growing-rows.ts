import { CliError } from '../cli-error.js';
import type { NamedArray } from './named-array.js';
import { shownPath } from './file-name.js';

/** Rows of numbers that come one by one, as a matrix. */
export class GrowingRows {
  #data = new Float64Array(1024);
  #end = 0;
  rows = 0;

  /** A place for each number of the next row. */
  next(count: number): { readonly data: Float64Array; readonly start: number } {
    const start = this.#end;
    this.#end += count;
    this.rows++;
    if (this.#end > this.#data.length) {
      const larger = new Float64Array(2 * this.#end);
      larger.set(this.#data);
      this.#data = larger;
    }
    return { data: this.#data, start };
  }

  /** @throws CliError SHAPE_MISMATCH where there are none */
  finish(path: string, names: readonly string[] | undefined): NamedArray<'float64'> {
    if (this.rows === 0) {
      throw new CliError(
        'SHAPE_MISMATCH',
        `Cannot use ${shownPath(path)}: it has no rows of numbers. Save one or more.`,
      );
    }
    return {
      dtype: 'float64',
      shape: [this.rows, this.#end / this.rows],
      fortranOrder: false,
      data: this.#data.subarray(0, this.#end),
      ...(names && { names }),
    };
  }
}
