import { replaced } from '@mercer/autodiff/transform';
import { empty, type Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';

/** What the chunks give, put together: of each parameter its gradients, or the squares of its norms. */
export class Whole {
  readonly #count: number;
  readonly #norms: boolean;
  #all: readonly Tensor[] = [];

  constructor(count: number, norms: boolean) {
    this.#count = count;
    this.#norms = norms;
  }

  async add(chunk: readonly Tensor[], start: number, stop: number): Promise<void> {
    if (stop - start === this.#count) {
      this.#all = chunk;
      return;
    }
    try {
      if (start === 0) {
        this.#all = chunk.map(({ shape: [, ...rest], dtype, device }) =>
          empty([this.#count, ...rest], { dtype, device }),
        );
      }
      for (const [at, one] of chunk.entries()) {
        using place = (this.#all[at] as Tensor).slice([start, stop]);
        await place.copyFrom(one);
      }
    } finally {
      for (const one of chunk) one.dispose();
    }
  }

  async result(params: unknown): Promise<unknown> {
    if (!this.#norms) return replaced(params, this.#all);
    const [first, ...others] = this.#all as readonly [Tensor, ...Tensor[]];
    const norms = await Promise.all(this.#all.map(async (one) => one.sqrt()));
    const sum = others.reduce<Value>((all, one) => all.add(one), first);
    const total = await sum.sqrt();
    this.dispose();
    return { norms: replaced(params, norms), total };
  }

  dispose(): void {
    for (const one of this.#all) one.dispose();
  }
}
