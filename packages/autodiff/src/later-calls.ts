import { AutodiffError } from './autodiff-error.js';
import type { Reverse } from './trace/reverse.js';

/** Calls that read a tape, until it is disposed. */
export class LaterCalls {
  readonly #tape: Reverse;
  #underWay = 0;
  #isDisposed = false;

  constructor(tape: Reverse) {
    this.#tape = tape;
  }

  /** @throws AutodiffError FREED after `dispose()` */
  async call<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#isDisposed) {
      const { what } = this.#tape;
      throw new AutodiffError(
        'FREED',
        `${what}: ${name} was called after dispose(). Call it before, or make another with ${what}().`,
      );
    }
    this.#underWay++;
    try {
      return await work();
    } finally {
      this.#underWay--;
      this.#release();
    }
  }

  /** The tape ends with the calls that are under way. */
  dispose(): void {
    this.#isDisposed = true;
    this.#release();
  }

  #release(): void {
    if (this.#isDisposed && this.#underWay === 0) this.#tape.dispose();
  }
}
