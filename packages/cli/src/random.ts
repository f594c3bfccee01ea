/** A small deterministic generator (mulberry32): the same seed gives the same numbers on every machine. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Uniform in [0, 1), 32 bits. */
  uniform(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** Standard normal, by Box and Muller. */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.uniform()));
    return radius * Math.cos(2 * Math.PI * this.uniform());
  }

  /** An integer in [0, below). */
  integer(below: number): number {
    return Math.floor(this.uniform() * below);
  }

  /** 0 .. count - 1 in random order. */
  permutation(count: number): Uint32Array {
    const order = Uint32Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      const kept = order[i] ?? 0;
      order[i] = order[j] ?? 0;
      order[j] = kept;
    }
    return order;
  }
}
