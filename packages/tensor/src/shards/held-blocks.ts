interface Held<T> {
  readonly block: Promise<T>;
  users: number;
}

/** Blocks of inputs that a device holds: each is brought there once while anything uses it. */
export class HeldBlocks<T> {
  readonly #held = new Map<string, Held<T>>();
  readonly #giveUp: (block: T) => void;

  /** @param giveUp returns the memory of a block that nothing uses, in the order of the device's work */
  constructor(giveUp: (block: T) => void) {
    this.#giveUp = giveUp;
  }

  /** The block of this name, which `bring` brings where it is not there. Each call needs a `release`. */
  take(key: string, bring: () => Promise<T>): Promise<T> {
    let held = this.#held.get(key);
    if (held === undefined) {
      held = { users: 0, block: bring() };
      // It is awaited by its users, or given up with an error that came before.
      held.block.catch(() => undefined);
      this.#held.set(key, held);
    }
    held.users++;
    return held.block;
  }

  /** One user less; what nobody uses is given up. */
  async release(key: string): Promise<void> {
    const held = this.#held.get(key);
    if (held === undefined || --held.users > 0) return;
    this.#held.delete(key);
    await held.block.then(this.#giveUp, () => undefined);
  }
}
