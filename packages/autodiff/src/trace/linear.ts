import { isTracedKnown } from '@mercer/tensor/operation';
import { AutodiffError } from '../autodiff-error.js';
import type { FinishedCall } from './recording.js';
import { Reverse, type Node } from './reverse.js';

/** A tape of a function that has to be linear in its variables: its gradients may depend on none of them. */
export class Linear extends Reverse {
  /** Rules have to say what they read. */
  override readonly remembers = false;
  readonly #inWhat: string;

  /** @param inWhat in what the function is linear, for messages */
  constructor(what: string, inWhat: string, signal?: AbortSignal) {
    super(what, false, signal);
    this.#inWhat = inWhat;
  }

  /** Results beside others would be read. */
  override get wantsSlopes(): boolean {
    return false;
  }

  override assertReadable({ name }: Node): void {
    throw this.#notLinear(`the derivative of ${name} depends on it`);
  }

  override noteRead(what: string): never {
    this.assertLive(what);
    throw this.#notLinear(`${what} reads it`);
  }

  protected override recordsOf(
    call: FinishedCall,
    values: readonly unknown[],
    result: unknown,
  ): readonly unknown[] {
    const { name, derivative } = call.primitive;
    const isVariable = (one: unknown): boolean =>
      isTracedKnown(one) && one.trace === this && one.record !== undefined;
    if (derivative === 'constant' && call.args.flat.some(isVariable))
      throw this.#notLinear(`${name} reads it`);
    return super.recordsOf(call, values, result);
  }

  #notLinear(why: string): AutodiffError {
    return new AutodiffError(
      'NOT_LINEAR',
      `${this.what}: the rule is not linear in the ${this.#inWhat}: ${why}. A rule that is not linear cannot be turned round. Compute what depends on the arguments alone, times the ${this.#inWhat}.`,
    );
  }
}
