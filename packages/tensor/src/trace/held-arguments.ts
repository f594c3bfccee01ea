import { isPending } from '../pending.js';
import { thereOf } from '../there.js';
import { isTensor, isUsable } from '../tensor.js';
import { Unlaunched } from '../unlaunched.js';
import { isKnownResult, isTracedKnown } from './traced.js';
import { handleOf, isTraced } from './traced-value.js';

/** In an object, so that a promise of it launches nothing. */
export interface Made {
  readonly made: unknown;
}

/** Arguments of a call that waits for some of them: what it needs to compute with them though its caller disposes them meanwhile. */
export class HeldArguments {
  readonly #known: readonly Promise<Made>[];
  /** Handles of its own. */
  readonly #made: Disposable[] = [];
  /** Results that nothing is known of yet. */
  readonly #kept: Unlaunched[] = [];

  constructor(flat: readonly unknown[]) {
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
      return { made: isKnownResult(made) ? made : this.#own(made) };
    }
    return { made: this.#own(isPending(one) ? (thereOf(one) ?? (await one)) : one) };
  }

  /** Another handle for the same elements, for this call alone. */
  #own(one: unknown): unknown {
    const handle = anotherHandle(one);
    if (handle !== one && !isTraced(handle)) this.#made.push(handle as Disposable);
    return handle;
  }

  release(): void {
    for (const one of this.#kept) one.letGo();
    for (const one of this.#made) one[Symbol.dispose]();
  }
}

/** Of a tensor, a traced value or a result of known shape another handle, to be disposed by itself; all else as it is, and what is disposed. */
export function anotherHandle(one: unknown): unknown {
  if (isTensor(one)) return isUsable(one) ? one.view() : one;
  if (!isKnownResult(one)) return handleOf(one);
  // what is being launched is computed once
  const isOnItsWay = one.started && one.tensor === undefined && !isTracedKnown(one);
  return one.disposed || isOnItsWay ? one : one.twin();
}
