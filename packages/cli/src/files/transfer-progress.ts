import type { WatchOptions } from '@mercer/core/npy';
import type { Progress } from '../output/progress.js';

/** One bar for files that are read or written at the same time. */
export class TransferProgress {
  readonly #files: { done: number; total: number }[] = [];
  readonly #progress: Progress;
  readonly #what: string;

  /** @param what is done, such as `reading` */
  constructor(progress: Progress, what: string) {
    this.#progress = progress;
    this.#what = what;
  }

  /** What one more file tells how far it is. */
  file(): WatchOptions {
    const file = { done: 0, total: 0 };
    this.#files.push(file);
    return {
      onProgress: ({ done, total }) => {
        Object.assign(file, { done, total });
        const sum = (key: 'done' | 'total'): number =>
          this.#files.reduce((all, one) => all + one[key], 0);
        // a stream of unknown length makes the sum unknown
        const isKnown = this.#files.every((one) => one.total > 0 || one.done === 0);
        this.#progress.bytes(this.#what, sum('done'), isKnown ? sum('total') : 0);
      },
    };
  }
}
