import type { Composition } from '@mercer/tensor/operation';
import { Recording, type FinishedCall, type RecordedCall } from './recording.js';

/** A call of an operation on values that a function computes. */
export interface InterceptedCall {
  /** The name by which users call the operation. */
  readonly name: string;
  /** The arguments, with what their values stand for. */
  readonly args: readonly unknown[];
  /** Of each argument, those of lists and records flat, its mark; undefined for what has none. */
  readonly marks: readonly unknown[];
  /** The operation on any arguments. */
  readonly call: (...args: readonly unknown[]) => unknown;
}

/** What is done in the place of operations. */
export interface Interceptor {
  /** Gives what the operation gives, of what the arguments stand for: `call(...args)`, or something else. */
  readonly computes: (call: InterceptedCall) => unknown;
  /** Layers that are seen as one operation, not as those that they are composed of. */
  readonly whole?: readonly string[] | undefined;
  /** Operations whose result has the mark of their first argument. */
  readonly carries?: readonly string[] | undefined;
}

/** A trace that asks an interceptor what operations on its values give. Its records are the marks. */
export class Intercepting extends Recording {
  protected override readonly differentiates = false;
  readonly #by: Interceptor;

  constructor(what: string, by: Interceptor) {
    super(what);
    this.#by = by;
  }

  protected override composes(name: string, { isTransparent }: Composition): boolean {
    return isTransparent === true && this.#by.whole?.includes(name) !== true;
  }

  protected override compute({ primitive, args, primals }: RecordedCall): unknown {
    const { name, call } = primitive;
    return this.#by.computes({
      name,
      args: primals.all,
      marks: args.flat.map((one) => this.recordOf(one)),
      call: call as InterceptedCall['call'],
    });
  }

  protected override recordsOf({ primitive, args }: FinishedCall): readonly unknown[] {
    if (this.#by.carries?.includes(primitive.name) !== true) return [];
    return [this.recordOf(args.flat[0])];
  }
}
