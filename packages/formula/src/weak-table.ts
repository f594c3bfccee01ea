/** Entries of collected values that a new entry sweeps away at most: more than it adds, so that they do not pile up. */
const SWEPT = 4;
/** A map grows by copying all of its entries at once, some milliseconds for every hundred thousand: larger tables are split. */
const UNSPLIT = 2 ** 14;
const PART_BITS = 6;

type Key = string | number;

/** Values by key for as long as somebody else holds them. */
export class WeakTable<K extends Key, V extends object> {
  #parts: readonly Map<K, WeakRef<V>>[] = [new Map()];
  readonly #dead: K[] = [];
  // All finalisers of a collection run in one turn of the event loop, so they only take note.
  readonly #finalisers = new FinalizationRegistry<K>((key) => {
    this.#dead.push(key);
  });

  /** Entries, those of collected values that are not yet swept included. */
  get size(): number {
    return this.#parts.reduce((sum, { size }) => sum + size, 0);
  }

  get(key: K): V | undefined {
    return this.#partOf(key).get(key)?.deref();
  }

  set(key: K, value: V): void {
    const part = this.#partOf(key);
    part.set(key, new WeakRef(value));
    this.#finalisers.register(value, key);
    if (this.#parts.length === 1 && part.size > UNSPLIT) this.#split(part);
    for (let swept = 0; swept < SWEPT; swept++) {
      const dead = this.#dead.pop();
      if (dead === undefined) return;
      // An equal value may have taken the place of a collected one.
      if (this.get(dead) === undefined) this.#partOf(dead).delete(dead);
    }
  }

  #partOf(key: K): Map<K, WeakRef<V>> {
    const parts = this.#parts;
    return parts[parts.length === 1 ? 0 : hashOf(key)] as Map<K, WeakRef<V>>;
  }

  #split(whole: ReadonlyMap<K, WeakRef<V>>): void {
    this.#parts = Array.from({ length: 2 ** PART_BITS }, () => new Map<K, WeakRef<V>>());
    for (const [key, value] of whole) this.#partOf(key).set(key, value);
  }
}

/** The number of a key's part. */
function hashOf(key: Key): number {
  let hash = 0;
  if (typeof key === 'number') hash = (key | 0) + Math.imul(key / 2 ** 26, 31);
  else for (let at = 0; at < key.length; at++) hash = Math.imul(hash, 31) + key.charCodeAt(at);
  // Fibonacci hashing: the highest bits depend on all.
  return Math.imul(hash, 0x9e3779b1) >>> (32 - PART_BITS);
}
