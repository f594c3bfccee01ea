import { isPending, isTensor, type Tensor } from '@mercer/tensor';
import {
  type Arguments,
  flatArguments,
  flatLike,
  isKnownResult,
  isTraced,
  isTracedKnown,
  mapArguments,
  pending,
  promisesTraced,
  whenKnown,
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Share,
  type Value,
} from '@mercer/tensor/operation';
import { Owning, type ReadCheck } from './owning.js';
import { pullBack } from './pull-back.js';
import { Recording, type FinishedCall } from './recording.js';
import { isFloating } from './values.js';
import { Linear } from './linear.js';
import { Reverse, type Seed, type Source } from './reverse.js';

/** A trace that computes with each value its tangent, in the shape of the value. What rules make belongs to `tangents`. */
export class Forward extends Recording {
  readonly tangents: Owning;

  constructor(what: string, detectsNaN = false, signal?: AbortSignal) {
    super(what, detectsNaN, signal);
    this.tangents = new Owning(what);
  }

  /** A value whose change is given; the trace has handles of its own. */
  input(value: Tensor, tangent: Tensor | undefined): Tensor {
    const primal = this.own(value.view());
    this.noteResult(`${this.what}: an argument has`, primal);
    const changes = tangent !== undefined && isFloating(value);
    const change = changes ? this.tangents.own(tangent.view()) : undefined;
    return this.wrap(primal, change && this.tangents.wrap(change)) as Tensor;
  }

  override dispose(): void {
    super.dispose();
    this.tangents.dispose();
  }

  protected override recordsOf(
    recorded: FinishedCall,
    values: readonly unknown[],
    result: unknown,
  ): readonly unknown[] {
    const found = this.ruleFor<Value>(recorded);
    // whole numbers and truth values do not change
    const changes = values.map((one) => isFloating(one as KnownValue));
    if (found === undefined || !changes.includes(true)) return [];
    const { primitive, kept } = recorded;
    this.assertUnchanged(primitive.name, kept);
    noteUse(found.records);
    const call = { rule: found.rule, call: primitive.call, args: kept, result };
    const all = tangentsOf(call, found.records, this.tangents);
    const tangents = changes.map((one, at) => (one ? all[at] : undefined));
    for (const one of tangents)
      this.noteResult(`${this.what}: the tangent of ${primitive.name} has`, one);
    return tangents;
  }
}

/** A call whose tangents are wanted. */
interface Pushed {
  readonly rule: DerivativeRule;
  readonly call: (...args: never[]) => unknown;
  readonly args: Arguments;
  readonly result: unknown;
  /** Where the result may have been written since. */
  readonly checkResult?: ReadCheck;
}

/** What rules of tangents want to be told where these are used. */
const uses = new WeakMap<object, () => void>();

/** Tells the rules of tangents that these are used. */
export function noteUse(tangents: readonly unknown[]): void {
  for (const one of tangents) if (one !== undefined) uses.get(one as object)?.();
}

/** The tangents of the values of a result from those of the flat arguments. What the rule makes belongs to `owner`. */
export function tangentsOf(
  { rule, call, args, result, checkResult }: Pushed,
  flat: readonly (Value | undefined)[],
  owner: Owning,
): readonly unknown[] {
  const isOne = isKnownResult(result);
  if (rule.jvp === 'linear') {
    const given = args.flat.map((one, at) => flat[at] ?? one);
    return recordsLike(isOne, result, call(...(args.with(given).all as never[])));
  }
  const wrapped = (value: unknown, check?: ReadCheck): unknown =>
    isTensor(value) || isKnownResult(value) || isTracedKnown(value)
      ? owner.wrap(value, check)
      : value;
  const ofResult = (check?: ReadCheck): unknown =>
    isOne ? wrapped(result, check) : mapArguments([result], (one) => wrapped(one, check))[0];
  const applied = {
    args: args.with(args.flat.map((one) => wrapped(one))).all,
    result: ofResult(checkResult),
    wanted: args.with(flat.map((tangent) => tangent !== undefined)).all,
  } as never;
  const tangents = args.with(flat).all;
  if (rule.jvp !== undefined) {
    const given = recordsLike(isOne, result, rule.jvp(tangents, applied));
    return given.map((one) => adoptedBy(owner, one));
  }
  const all = transposed(owner.what, rule, applied, tangents, ofResult());
  const values = isOne ? [result] : flatArguments([result]);
  return values.map((one, at) => {
    if (!isFloating(one as KnownValue)) return undefined;
    // a result that depends on none of what has a tangent, beside others that do
    const none = (): Value => zerosLike(owner.wrap(one) as KnownValue);
    const tangent = promisesTraced(pending(all.then((found) => found[at] ?? none())));
    let place = 0;
    const used = (): unknown =>
      mapArguments([result], () => (place++ === at ? tangent : undefined))[0];
    if (rule.noteUse !== undefined)
      uses.set(tangent, () => rule.noteUse?.(isOne ? tangent : used(), result));
    return tangent;
  });
}

/** A tangent as a value of the owner's, also where the rule did not compute it of traced values. */
function adoptedBy(owner: Owning, tangent: unknown): unknown {
  if (tangent === undefined) return undefined;
  if (!isPending(tangent) || isKnownResult(tangent)) return owner.adopted(tangent);
  if (isTraced(tangent)) return tangent;
  return promisesTraced(pending(tangent.then((one) => owner.adopted(one) as Tensor)));
}

/** The tangents of values from what an operation gave for them. */
function recordsLike(isOne: boolean, result: unknown, given: unknown): readonly unknown[] {
  const isSingle = isOne || flatArguments([result]).length === 1;
  return isSingle && !Array.isArray(given) ? [given] : flatArguments([given]);
}

/**
 * The tangents of a result from a rule for cotangents: the rule is linear in the cotangent, and its own derivative by it takes tangents the other
 * way. Where that is taken does not matter: at the result itself.
 *
 * @param at the result, which may have been written since
 */
async function transposed(
  what: string,
  rule: DerivativeRule,
  call: { readonly args: readonly unknown[]; readonly result: unknown },
  tangents: readonly unknown[],
  at: unknown,
): Promise<readonly (Tensor | undefined)[]> {
  const tape = rule.checksLinear === true ? new Linear(what, 'cotangent') : new Reverse(what);
  try {
    const places = await Promise.all(
      flatArguments([at]).map(async (one) => {
        const value = (await one) as Tensor;
        if (!isFloating(value)) return undefined;
        const wide = value.dtype === 'float64' ? value : await value.cast('float32');
        return tape.input(wide, 'cotangent');
      }),
    );
    let next = 0;
    const [cotangent] = mapArguments([at], () => places[next++]?.value);
    const shares = flatLike(call.args, rule.vjp(cotangent as Value, call as never));
    const seeds: Seed[] = [];
    for (const [place, tangent] of flatArguments(tangents).entries()) {
      const share = tangent === undefined ? undefined : (shares[place] as Share)?.();
      if (share === undefined) continue;
      const known = (await whenKnown(share)).made;
      if (!isTracedKnown(known) || known.trace !== tape || known.record === undefined) continue;
      const seed = (await whenKnown(tangent)).made as KnownValue;
      seeds.push({ source: known.record as Source, cotangent: seed as unknown as Tensor });
    }
    await tape.close();
    const wanted = places.flatMap((one) => (one === undefined ? [] : [one.source]));
    const found = await pullBack(tape, seeds, wanted, false);
    let given = 0;
    return places.map((one) => (one === undefined ? undefined : found[given++]));
  } finally {
    await tape.close();
    tape.dispose();
  }
}
