import { describeValue } from '@mercer/options';
import { MercerError, stack, zeros, type Tensor } from '@mercer/tensor';
import {
  flatArguments,
  formatShape,
  isKnownResult,
  isTracedKnown,
  mapArguments,
  nestedLike,
  pending,
  whenKnown,
  type BatchRule,
  type KnownValue,
  type MappedCall,
  type Primitive,
} from '@mercer/tensor/operation';
import { AutodiffError } from '../autodiff-error.js';
import { Owning } from './owning.js';
import { Recording, type RecordedCall } from './recording.js';
import { isPrimal, isThenable } from './values.js';

type AnyMappedCall = MappedCall<readonly unknown[]>;

/** A trace of values that stand for one of each example: what they stand for has the mapped axis in front. */
export class Batching extends Recording {
  readonly hiddenAxes = 1;
  /** How many examples there are. */
  readonly size: number;

  constructor(what: string, size: number) {
    super(what);
    this.size = size;
  }

  /** @throws AutodiffError MAPPED, ESCAPED */
  override noteRead(what: string): never {
    this.assertLive(what);
    throw new AutodiffError(
      'MAPPED',
      `${what}: inside ${this.what} the value stands for one of each of ${this.size} examples, and has no elements of its own. Return it and read the result, or choose elements with where().`,
    );
  }

  protected override recordsOf(): readonly unknown[] {
    return [];
  }

  /** The rule runs on values of a trace of its own, with which ends what it makes between. */
  protected override compute({ primitive, args, primals }: RecordedCall): unknown {
    const owner = new Owning(this.what);
    const isMapped = (one: unknown): boolean => isTracedKnown(one) && one.trace === this;
    const wrapped = new Map<unknown, unknown>();
    const wrap = (one: unknown): unknown => {
      if (!isPrimal(one)) return one;
      const known = wrapped.get(one) ?? owner.wrap(one);
      wrapped.set(one, known);
      return known;
    };
    const call: AnyMappedCall = {
      args: primals.with(primals.flat.map(wrap)).all,
      mapped: args.with(args.flat.map(isMapped)).all,
      size: this.size,
      call: primitive.call,
    };
    try {
      const result = (primitive.batch as BatchRule<readonly unknown[]> | undefined)?.(call);
      const given = result ?? eachExample(primitive, call, owner);
      if (isKnownResult(given) || !isThenable(given)) {
        const own = handed(given, owner);
        // what is not launched yet is computed from it
        owner.giveTo(this);
        owner.dispose();
        return own;
      }
      return pending(whenHanded(given, owner));
    } catch (error) {
      owner.dispose();
      throw error;
    }
  }
}

/** What a rule gave, with what its values stand for, which the owner no longer disposes. */
function handed(given: unknown, owner: Owning): unknown {
  const own = (one: unknown): unknown => {
    if (!isTracedKnown(one) || one.trace !== owner) return one;
    const { primal } = one;
    if (!isKnownResult(primal)) return owner.taken(primal);
    owner.release(primal);
    return primal;
  };
  return isKnownResult(given) ? own(given) : mapArguments([given], own)[0];
}

async function whenHanded(given: PromiseLike<unknown>, owner: Owning): Promise<unknown> {
  try {
    const value = await given;
    await owner.close();
    return handed(value, owner);
  } finally {
    await owner.close();
    owner.dispose();
  }
}

/** An operation without a rule for such arguments: on one example after the other. */
async function eachExample(
  { name, call }: Primitive,
  { args, mapped, size }: AnyMappedCall,
  owner: Owning,
): Promise<unknown> {
  const found = await Promise.all(flatArguments(args).map(whenKnown));
  const isMapped = flatArguments(mapped);
  const results: unknown[] = [];
  // of none the shape of a result is that of an example of zeros
  for (let at = 0; at < Math.max(size, 1); at++) {
    // a tensor that stands in several places is one in each example
    const parts = new Map<unknown, unknown>();
    const example: unknown[] = [];
    for (const [place, { made }] of found.entries()) {
      if (isMapped[place] === true && !parts.has(made))
        parts.set(made, size > 0 ? (made as Tensor).slice(at) : await zeroOf(made, owner));
      example.push(parts.get(made) ?? made);
    }
    results.push(await call(...(nestedLike(args, example) as never[])));
  }
  const all = results.map((one) => flatArguments([one]));
  const [first = []] = all;
  const whole = first.map(async (_, place) =>
    joined(
      name,
      all.map((one) => one[place]),
      size,
    ),
  );
  return nestedLike([results[0]], await Promise.all(whole))[0];
}

/** An example where there are none. */
async function zeroOf(one: unknown, owner: Owning): Promise<unknown> {
  const { shape, dtype, device } = one as KnownValue;
  return owner.wrap(owner.own(await zeros(shape.slice(1), { dtype, device })));
}

/** One value of the results of all examples. @throws MercerError SHAPE_MISMATCH, UNSUPPORTED where they cannot be one tensor */
async function joined(name: string, all: readonly unknown[], size: number): Promise<unknown> {
  const [first] = all;
  if (!isPrimal(first)) {
    const other = all.find((one) => !Object.is(one, first));
    if (other === undefined) return first;
    throw new MercerError(
      'UNSUPPORTED',
      `${name}: inside vmap its examples give ${describeValue(first)} and ${describeValue(other)}, which are no tensors. Call it outside of vmap, once for each example.`,
    );
  }
  const tensors = all as readonly Tensor[];
  const { dtype, device, shape } = first as Tensor;
  const other = tensors.find((one) => formatShape(one.shape) !== formatShape(shape));
  if (other !== undefined) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${name}: inside vmap its examples give results of shapes ${formatShape(shape)} and ${formatShape(other.shape)}, which are not one tensor. Call it outside of vmap, once for each example.`,
    );
  }
  return size > 0 ? stack(tensors) : zeros([0, ...shape], { dtype, device });
}
