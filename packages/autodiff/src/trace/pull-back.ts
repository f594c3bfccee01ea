import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  flatLike,
  formatShape,
  isKnownResult,
  isTracedKnown,
  knownNow,
  mapArguments,
  whenKnown,
  type KnownValue,
  type Share,
  type Value,
  type ValueForm,
  TracedResult,
} from '@mercer/tensor/operation';
import { assertNoNaN } from './no-nan.js';
import { alone, released, spread } from './handed.js';
import { Owning, type ReadCheck } from './owning.js';
import { isFloating, type Primal } from './values.js';
import type { Node, Reverse, Source } from './reverse.js';

/** A value on the tape with its cotangent, whose shape broadcasts to the value's. */
export interface Seed {
  readonly source: Source;
  readonly cotangent: Primal;
}

/** Cotangents of the outputs of nodes, as far as they have come together. */
type Cotangents = Map<Node, (KnownValue | undefined)[]>;

/**
 * The cotangents of values from those of others: the rules of the tape, from its end to its beginning.
 *
 * @param keeps whether the tape is used again; else what a rule was the last to read is freed behind it
 * @returns for each of `wanted` a tensor of its shape and dtype that is the caller's, or undefined where nothing depends on it
 */
export async function pullBack(
  tape: Reverse,
  seeds: readonly Seed[],
  wanted: readonly Source[],
  keeps: boolean,
): Promise<(Tensor | undefined)[]> {
  const owner = new Owning(tape.what);
  let given: readonly (Tensor | undefined)[];
  try {
    const cotangents: Cotangents = new Map();
    for (const { source, cotangent } of seeds) add(cotangents, source, owner.wrap(cotangent));
    for (const node of tape.nodes.toReversed()) {
      const own = cotangents.get(node);
      if (own !== undefined && node.rule !== undefined) {
        tape.signal?.throwIfAborted();
        tape.assertUnchanged(node.name, node.args);
        await pullThrough(tape, node, own, cotangents, owner);
        cotangents.delete(node);
      }
      if (keeps) continue;
      const made = tape.freeable(node);
      if (made.length === 0) continue;
      await launchReaders(cotangents, made);
      tape.free(made);
    }
    const found = wanted.map(({ node, output }) => cotangents.get(node)?.[output]);
    given = await released(found, wanted.map(formOf), owner);
  } finally {
    await owner.close();
    owner.dispose();
  }
  return alone(given);
}

/** What was computed as part of other kernels from tensors that are about to be freed, and may be computed again. */
async function launchReaders(cotangents: Cotangents, freed: readonly Primal[]): Promise<void> {
  const storages = freed
    .flatMap((one) => (isTensor(one) ? one : (one.tensor ?? [])))
    .map(({ storage }) => storage);
  for (const own of cotangents.values()) {
    for (const one of own as readonly unknown[]) {
      if (!(one instanceof TracedResult) || one.primal.tensor !== undefined) continue;
      const { primal } = one;
      if (storages.some((storage) => primal.dependsOn(storage))) await primal.launch({});
    }
  }
}

/** The rule of one node. */
async function pullThrough(
  tape: Reverse,
  node: Node,
  own: readonly (KnownValue | undefined)[],
  cotangents: Cotangents,
  owner: Owning,
): Promise<void> {
  const { name, rule, args, sources, result, outputs } = node;
  if (rule === undefined) return;
  const spreads = own.map((one, at) =>
    one === undefined || rule.broadcasts === true ? one : spread(one, outputs[at]?.shape ?? []),
  );
  const whole = await allKnown(spreads);
  const wrapped = (value: unknown, check?: ReadCheck): unknown =>
    isTensor(value) || isKnownResult(value) || isTracedKnown(value)
      ? owner.wrap(value, check)
      : value;
  const ofResult = (value: unknown): unknown =>
    wrapped(value, () => {
      tape.assertReadable(node);
      tape.assertResultUnchanged(node);
    });
  const readable = (): void => {
    tape.assertReadable(node);
  };
  let at = 0;
  const [cotangent] = isKnownResult(result) ? whole : mapArguments([result], () => whole[at++]);
  const call = {
    args: args.with(
      args.flat.map((one, at) => wrapped(one, sources[at] === undefined ? undefined : readable)),
    ).all,
    result: (isKnownResult(result)
      ? ofResult(result)
      : mapArguments([result], ofResult)[0]) as never,
    wanted: args.with(sources.map((source) => source !== undefined)).all,
  };
  rule.noteUse?.(cotangent, result);
  const shares = flatLike(
    args.all,
    rule.vjp(cotangent as Value, call as never),
  ) as readonly Share[];
  for (const [place, source] of sources.entries()) {
    const share = source === undefined ? undefined : shares[place]?.();
    if (source === undefined || share === undefined) continue;
    const { made } = knownNow(share) ?? (await whenKnown(share));
    if (made === undefined) continue;
    const own = owner.adopted(made) as KnownValue;
    const wide = inDType(own, formOf(source), name);
    const conformed = knownNow(wide) ?? (await whenKnown(wide));
    if (tape.detectsNaN)
      await assertNoNaN(conformed.made, `${owner.what}: the gradient of ${name} has`);
    add(cotangents, source, conformed.made as Value);
  }
}

async function allKnown(given: readonly unknown[]): Promise<readonly unknown[]> {
  const now = given.map(knownNow);
  const all = now.every((one) => one !== undefined) ? now : await Promise.all(given.map(whenKnown));
  return all.map(({ made }) => made);
}

const formOf = ({ node, output }: Source): ValueForm => node.outputs[output] as ValueForm;

/** Sums are kept in float32 for floats of 16 bits. */
const widened = (dtype: string): 'float32' | 'float64' => (dtype === 'float64' ? dtype : 'float32');

/** A cotangent in the dtype in which those of a value are added. */
function inDType(share: KnownValue, { shape, dtype }: ValueForm, name: string): Value {
  const lead = shape.length - share.shape.length;
  const fits =
    lead >= 0 && share.shape.every((extent, axis) => extent === 1 || extent === shape[axis + lead]);
  if (!fits || !isFloating(share)) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${name}: its derivative rule gives ${share.dtype} ${formatShape(share.shape)} for an argument that is ${dtype} ${formatShape(shape)}. A rule gives a floating-point cotangent of the argument's shape.`,
    );
  }
  const wide = widened(dtype);
  return share.dtype === wide ? share : share.cast(wide);
}

function add(cotangents: Cotangents, { node, output }: Source, share: Value): void {
  const own = cotangents.get(node) ?? node.outputs.map(() => undefined);
  const before = own[output];
  own[output] = (before === undefined ? share : before.add(share)) as KnownValue;
  cotangents.set(node, own);
}
