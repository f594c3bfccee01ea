import { isTensor, type Tensor } from '@mercer/tensor';
import {
  Arguments,
  flatArguments,
  isKnownResult,
  type DerivativeRule,
  type ValueForm,
} from '@mercer/tensor/operation';
import { Recording, type FinishedCall } from './recording.js';
import { isFloating, isPrimal, type Primal } from './values.js';

/** A value on the tape: an output of a node. */
export interface Source {
  readonly node: Node;
  readonly output: number;
}

/** A value on the tape with its cotangent, whose shape broadcasts to the value's. */
export interface Seed {
  readonly source: Source;
  readonly cotangent: Primal;
}

/** A call on the tape, or an input of the function. */
export interface Node {
  /** Its place on the tape. */
  readonly at: number;
  readonly name: string;
  /** Undefined for an input. */
  readonly rule: DerivativeRule | undefined;
  /** The operation on any arguments. */
  readonly call: (...args: never[]) => unknown;
  /** The arguments, as the rule takes them. */
  readonly args: Arguments;
  /** Where each of the flat arguments comes from; undefined for what has no gradient. */
  readonly sources: readonly (Source | undefined)[];
  readonly result: unknown;
  readonly outputs: readonly ValueForm[];
}

/** A tape of operations, for derivatives backwards. */
export class Reverse extends Recording {
  readonly nodes: Node[] = [];
  /** Whether its rules may be left out where what they launch is known. */
  readonly remembers: boolean = true;
  /** What the caller has handles of, with the number of its writes when they were given. */
  readonly #handed = new Map<Tensor['storage'], number>();

  /** A value whose gradient may be asked for. The trace has a handle of its own. */
  input(value: Tensor, name: string): { readonly value: Tensor; readonly source: Source } {
    const primal = this.keep(value) as Tensor;
    this.noteResult(`${name} has`, primal);
    const { shape, dtype, device } = primal;
    const node: Node = {
      at: this.nodes.length,
      name,
      rule: undefined,
      call: () => primal,
      args: Arguments.of([]),
      sources: [],
      result: primal,
      outputs: [{ shape, dtype, device }],
    };
    this.nodes.push(node);
    const source = { node, output: 0 };
    return { value: this.wrap(primal, source) as Tensor, source };
  }

  protected override recordsOf(
    call: FinishedCall,
    values: readonly unknown[],
    result: unknown,
  ): readonly unknown[] {
    const found = this.ruleFor<Source>(call);
    if (found === undefined) return [];
    const node: Node = {
      at: this.nodes.length,
      name: call.primitive.name,
      rule: found.rule,
      call: call.primitive.call,
      args: call.kept,
      sources: found.records,
      result,
      outputs: values as readonly ValueForm[],
    };
    this.nodes.push(node);
    return values.map((one, output): Source | undefined =>
      isFloating(one as ValueForm) ? { node, output } : undefined,
    );
  }

  /** Others may write it from now on. */
  noteHanded(one: unknown): void {
    if (isTensor(one)) this.#handed.set(one.storage, one.storage.writes);
  }

  /** @throws MercerError MODIFIED where what a call gave was written since it was handed out */
  assertResultUnchanged({ name, result }: Node): void {
    for (const one of isKnownResult(result) ? [result] : flatArguments([result])) {
      const written = this.#overwritten(one);
      if (written !== undefined)
        throw this.modified(written, `${name} gave`, 'write into a clone()');
    }
  }

  /** Called before the rule of a node reads what it gave, or an argument that depends on a variable. */
  assertReadable(_node: Node): void {
    // the values are there
  }

  protected override writtenSince(one: unknown): Tensor | undefined {
    return super.writtenSince(one) ?? this.#overwritten(one);
  }

  /** The tensor of a value where it was written since it was handed out. */
  #overwritten(one: unknown): Tensor | undefined {
    const made: unknown = isKnownResult(one) ? one.tensor : one;
    if (!isTensor(made)) return undefined;
    const { storage } = made;
    const before = this.#handed.get(storage);
    return before === undefined || before === storage.writes ? undefined : made;
  }

  /** What a node made and nobody else holds. */
  freeable({ result, rule }: Node): readonly Primal[] {
    if (rule === undefined || this.hasBelow) return [];
    const all = isKnownResult(result) ? [result] : flatArguments([result]);
    return all.filter(
      (one): one is Primal =>
        isPrimal(one) &&
        this.owns(one) &&
        // what is not launched is part of others, which are
        !(isKnownResult(one) && one.tensor === undefined),
    );
  }

  free(made: readonly Primal[]): void {
    for (const one of made) {
      this.release(one);
      one[Symbol.dispose]();
    }
  }
}
