/** Kernel values of one kind that are kept for the layouts that come again. */
export const REMEMBERED_KERNELS = 256;

/**
 * A map that keeps what was used last. Two generations share the limit: what is set or found goes into the younger one; once that
 * would be more than half of the limit, it becomes the older one, and what was in that and was not used meanwhile is forgotten. So a hit is one
 * look-up, and the most recent half of the limit is always there.
 *
 * ```ts
 * import { RecentMap } from '@mercer/tensor/operation';
 *
 * const squares = new RecentMap<number, number>(() => 4);
 * for (const n of [1, 2, 3, 4, 5]) squares.set(n, n * n);
 * console.log(squares.get(5), squares.get(1)); // 25 undefined
 * ```
 */
export class RecentMap<K, V> {
  readonly #limit: () => number;
  #young = new Map<K, Weighed<V>>();
  #old = new Map<K, Weighed<V>>();
  #weight = 0;

  /** @param limit the greatest sum of weights, asked whenever something is set */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    const found = this.#young.get(key);
    if (found !== undefined) return found.value;
    const older = this.#old.get(key);
    if (older === undefined) return undefined;
    this.set(key, older.value, older.weight);
    return older.value;
  }

  /** @param weight what the entry counts against the limit; of one entry at least, the newest, there is always room */
  set(key: K, value: V, weight = 1): void {
    this.delete(key);
    if (2 * (this.#weight + weight) > this.#limit()) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#weight = 0;
    }
    this.#young.set(key, { value, weight });
    this.#weight += weight;
  }

  delete(key: K): void {
    this.#weight -= this.#young.get(key)?.weight ?? 0;
    this.#young.delete(key);
    this.#old.delete(key);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }
}

interface Weighed<V> {
  readonly value: V;
  readonly weight: number;
}
