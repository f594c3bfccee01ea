/** Entries of collected values that a new entry sweeps away at most: more than it adds, so that they do not pile up. */
const SWEPT = 4;

/** Values by key for as long as somebody else holds them. */
export class WeakTable<V extends object> {
  readonly #entries = new Map<string, WeakRef<V>>();
  readonly #dead: string[] = [];
  // All finalisers of a collection run in one turn of the event loop, so they only take note.
  readonly #finalisers = new FinalizationRegistry<string>((key) => {
    this.#dead.push(key);
  });

  /** Entries, those of collected values that are not yet swept included. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.deref();
  }

  set(key: string, value: V): void {
    this.#entries.set(key, new WeakRef(value));
    this.#finalisers.register(value, key);
    for (let swept = 0; swept < SWEPT; swept++) {
      const dead = this.#dead.pop();
      if (dead === undefined) return;
      // An equal value may have taken the place of a collected one.
      if (this.get(dead) === undefined) this.#entries.delete(dead);
    }
  }
}
