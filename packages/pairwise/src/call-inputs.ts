import { MercerError, type Layout, type Tensor } from '@mercer/tensor';
import type { CallSteps, CallView } from '@mercer/tensor/operation';

/** The inputs of a call, as its steps read them: as they lie, or copied first where no kernel can. */
export class CallInputs {
  readonly what: string;
  readonly steps: CallSteps;
  readonly #inputs: readonly Tensor[];
  readonly #copies: boolean;

  /** @param copies false for calls that copy nothing */
  constructor(what: string, steps: CallSteps, inputs: readonly Tensor[], copies: boolean) {
    this.what = what;
    this.steps = steps;
    this.#inputs = inputs;
    this.#copies = copies;
  }

  /** An input as it lies. */
  view(x: Tensor): CallView {
    return this.steps.input(this.#inputs.indexOf(x));
  }

  /** A matrix as `read` takes it: itself, or a row-major copy. @throws MercerError NOT_CONTIGUOUS where nothing is copied */
  readable<O>(
    name: string,
    x: Tensor,
    read: (layout: Layout) => O | undefined,
    batchShape: readonly number[],
  ): { readonly view: CallView; readonly operand: O } {
    const view = this.view(x);
    const operand = read(x);
    if (operand !== undefined) return { view, operand };
    this.#assertCopies(name, x);
    return this.steps.readable(view, read, batchShape);
  }

  /** A row-major copy over a shape. @throws MercerError NOT_CONTIGUOUS where nothing is copied */
  spread(name: string, x: Tensor, shape: readonly number[]): CallView {
    this.#assertCopies(name, x);
    return this.steps.spreadCopy(this.view(x), shape);
  }

  #assertCopies(name: string, x: Tensor): void {
    if (this.#copies) return;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${this.what}: ${name}, the ${x.label}, has strides [${x.strides.join(', ')}], which a prepared call cannot read. Pass await ${name}.contiguous(), or use ${this.what}, which copies by itself.`,
    );
  }
}
