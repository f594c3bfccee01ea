import { setImmediate } from 'node:timers';

/** What outlives its owner. */
interface Outliving {
  /** Its place among the young, -1 if it is none of them. */
  young: number;
}

const MOST = 256;

/**
 * What was made last, with its owners strongly held and not watched yet: most are done with soon and never need it, and to watch costs more than to
 * make. They are watched all at once, when there are many or the task has ended.
 */
export class YoungOwners<T extends Outliving> {
  readonly #all: ({ readonly owner: object; readonly one: T } | undefined)[] = [];
  readonly #watch: (owner: object, one: T) => void;
  #awaitsTurn = false;

  constructor(watch: (owner: object, one: T) => void) {
    this.#watch = watch;
  }

  get count(): number {
    return this.#all.filter((one) => one !== undefined).length;
  }

  get isFull(): boolean {
    return this.#all.length >= MOST;
  }

  add(owner: object, one: T): void {
    if (this.isFull) this.watchAll();
    one.young = this.#all.push({ owner, one }) - 1;
    if (this.#awaitsTurn) return;
    this.#awaitsTurn = true;
    setImmediate(() => {
      this.#awaitsTurn = false;
      this.watchAll();
    });
  }

  /** It needs no watching any more; false for what is watched. */
  delete(one: T): boolean {
    if (one.young < 0) return false;
    this.#all[one.young] = undefined;
    one.young = -1;
    while (this.#all.length > 0 && this.#all.at(-1) === undefined) this.#all.pop();
    return true;
  }

  watchAll(): void {
    for (const each of this.#all) {
      if (each === undefined) continue;
      const { owner, one } = each;
      one.young = -1;
      this.#watch(owner, one);
    }
    this.#all.length = 0;
  }
}
