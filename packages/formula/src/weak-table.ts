/** Entries of collected values that a new entry sweeps away at most: more than it adds, so that they do not pile up. */
const SWEPT = 4;

/** Values by key for as long as somebody else holds them. */
export class WeakTable<K extends string | number, V extends object> {
  readonly #entries = new Map<K, WeakRef<V>>();
  readonly #dead: K[] = [];
  // All finalisers of a collection run in one turn of the event loop, so they only take note.
  readonly #finalisers = new FinalizationRegistry<K>((key) => {
    this.#dead.push(key);
  });

  /** Entries, those of collected values that are not yet swept included. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)?.deref();
  }

  set(key: K, value: V): void {
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
