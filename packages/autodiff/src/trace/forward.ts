import { isTensor, type Tensor } from '@mercer/tensor';
import {
  flatArguments,
  flatLike,
  isKnownResult,
  isTracedKnown,
  mapArguments,
  nestedLike,
  pending,
  promisesTraced,
  whenKnown,
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Share,
  type Value,
} from '@mercer/tensor/operation';
import { Owning } from './owning.js';
import { pullBack, type Seed } from './pull-back.js';
import { isFloating, Recording, type RecordedCall } from './recording.js';
import { Reverse, type Source } from './reverse.js';

/** A trace that computes with each value its tangent, in the shape of the value. What rules make belongs to `tangents`. */
export class Forward extends Recording {
  readonly tangents: Owning;

  constructor(what: string) {
    super(what);
    this.tangents = new Owning(what);
  }

  /** A value whose change is given; the trace has handles of its own. */
  input(value: Tensor, tangent: Tensor | undefined): Tensor {
    const primal = this.own(value.view());
    const change = tangent === undefined ? undefined : this.tangents.own(tangent.view());
    return this.wrap(primal, change && this.tangents.wrap(change)) as Tensor;
  }

  override dispose(): void {
    super.dispose();
    this.tangents.dispose();
  }

  protected override recordsOf(
    recorded: RecordedCall,
    values: readonly unknown[],
    result: unknown,
  ): readonly unknown[] {
    const found = this.ruleFor<Value>(recorded);
    if (found === undefined) return [];
    const { rule: derivative, records: flat } = found;
    const { primitive, args, primals } = recorded;
    const tangents = nestedLike(args, flat);
    const kept = mapArguments(primals, (one) => this.keep(one));
    if (derivative.jvp === 'linear') {
      const given = nestedLike(
        args,
        flatArguments(kept).map((one, at) => flat[at] ?? one),
      );
      return recordsLike(values, primitive.call(...(given as never[])));
    }
    const wrapped = (value: unknown): unknown =>
      isTensor(value) || isKnownResult(value) || isTracedKnown(value)
        ? this.tangents.wrap(value)
        : value;
    const call = {
      args: mapArguments(kept, wrapped),
      result: isKnownResult(result) ? wrapped(result) : mapArguments([result], wrapped)[0],
      wanted: nestedLike(
        args,
        flat.map((tangent) => tangent !== undefined),
      ),
    } as never;
    if (derivative.jvp !== undefined) return recordsLike(values, derivative.jvp(tangents, call));
    const all = transposed(this.what, derivative, call, tangents);
    return values.map((one, at) => {
      if (!isFloating(one as KnownValue)) return undefined;
      // a result that depends on none of what has a tangent, beside others that do
      const none = (): Value => zerosLike(this.tangents.wrap(one) as KnownValue);
      return promisesTraced(pending(all.then((found) => found[at] ?? none())));
    });
  }
}

/** The tangents of values from what an operation gave for them. */
const recordsLike = (values: readonly unknown[], given: unknown): readonly unknown[] =>
  values.length === 1 && !Array.isArray(given) ? [given] : flatArguments([given]);

/**
 * The tangents of a result from a rule for cotangents: the rule is linear in the cotangent, and its own derivative by it takes tangents the other
 * way. Where that is taken does not matter: at the result itself.
 */
async function transposed(
  what: string,
  rule: DerivativeRule,
  call: { readonly args: readonly unknown[]; readonly result: unknown },
  tangents: readonly unknown[],
): Promise<readonly (Tensor | undefined)[]> {
  const tape = new Reverse(what);
  try {
    const places = await Promise.all(
      flatArguments([call.result]).map(async (one) => {
        const value = (await one) as Tensor;
        if (!isFloating(value)) return undefined;
        const wide = value.dtype === 'float64' ? value : await value.cast('float32');
        return tape.input(wide, 'cotangent');
      }),
    );
    let next = 0;
    const [cotangent] = mapArguments([call.result], () => places[next++]?.value);
    const shares = flatLike(call.args, rule.vjp(cotangent as Value, call as never));
    const seeds: Seed[] = [];
    for (const [at, tangent] of flatArguments(tangents).entries()) {
      const share = tangent === undefined ? undefined : (shares[at] as Share)?.();
      if (share === undefined) continue;
      const known = (await whenKnown(share)).made;
      if (!isTracedKnown(known) || known.trace !== tape) continue;
      const seed = (await whenKnown(tangent)).made as KnownValue;
      seeds.push({ source: known.record as Source, cotangent: seed as unknown as Tensor });
    }
    await tape.close();
    const wanted = places.flatMap((one) => (one === undefined ? [] : [one.source]));
    const found = await pullBack(tape, seeds, wanted, false);
    return places.map((one) => (one === undefined ? undefined : found.shift()));
  } finally {
    await tape.close();
    tape.dispose();
  }
}
