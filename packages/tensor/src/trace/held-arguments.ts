import { Hold, memoryAmong } from '../call-order.js';
import { isPending } from '../pending.js';
import { thereOf } from '../there.js';
import { Unlaunched } from '../unlaunched.js';
import { isKnownResult, type KnownResult } from './traced.js';
import { handleOf } from './traced-value.js';

/** In an object, so that a promise of it launches nothing. */
interface Made {
  readonly made: unknown;
}

/** Arguments of a call that waits for some of them: what it needs to compute with them though its caller disposes them meanwhile. */
export class HeldArguments {
  readonly #known: readonly Promise<Made>[];
  readonly #memory: Hold;
  /** Handles of its own. */
  readonly #made: Disposable[] = [];
  /** Results that nothing is known of yet. */
  readonly #kept: Unlaunched[] = [];

  constructor(flat: readonly unknown[]) {
    this.#memory = new Hold(memoryAmong(flat));
    this.#known = flat.map((one) => this.#whenKnown(one));
    // who waits for them hears of the errors
    for (const one of this.#known) one.catch(() => undefined);
  }

  /** The arguments once their shapes and dtypes are known. */
  async known(): Promise<readonly unknown[]> {
    return (await Promise.all(this.#known)).map(({ made }) => made);
  }

  async #whenKnown(one: unknown): Promise<Made> {
    if (isKnownResult(one)) return { made: this.#own(one) };
    if (one instanceof Unlaunched) {
      one.keep();
      this.#kept.push(one);
      const { made } = await one.made();
      return { made: isKnownResult(made) ? made : handleOf(made) };
    }
    if (!isPending(one)) return { made: handleOf(one) };
    const made: unknown = thereOf(one) ?? (await one);
    for (const memory of memoryAmong([made])) this.#memory.add(memory);
    return { made: handleOf(made) };
  }

  /** Another result of the same elements, for this call alone. */
  #own(one: KnownResult): unknown {
    if (one.disposed || (one.started && one.tensor === undefined)) return one;
    const twin = one.twin();
    this.#made.push(twin);
    return twin;
  }

  /** Makes the call. */
  run<T>(work: () => T): T {
    return this.#memory.run(work);
  }

  release(): void {
    this.#memory.release();
    for (const one of this.#kept) one.letGo();
    for (const one of this.#made) one[Symbol.dispose]();
  }
}
