import { isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  formatShape,
  isKnownResult,
  isTracedKnown,
  knownNow,
  knownOrLater,
  mapArguments,
  whenKnown,
  type KnownResult,
  type KnownValue,
  type Made,
  type Share,
  type Value,
  type ValueForm,
  TracedResult,
} from '@mercer/tensor/operation';
import { assertNoNaN } from './no-nan.js';
import { alone, released, spread } from './handed.js';
import { Pass } from './known-passes.js';
import { Owning, type ReadCheck } from './owning.js';
import { isFloating, type Primal } from './values.js';
import type { Node, Reverse, Seed, Source } from './reverse.js';

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
): Promise<readonly (Tensor | undefined)[]> {
  const pass = Pass.of(tape, seeds, wanted, keeps);
  const again = pass?.again();
  if (again !== undefined) return alone(await again);
  const part = <T>(node: Node | undefined, work: () => T): T =>
    pass === undefined ? work() : pass.part(node, work);
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
        const pulling = part(node, () => pullThrough(tape, node, own, cotangents, owner, pass));
        if (pulling !== undefined) await pulling;
        cotangents.delete(node);
      }
      if (keeps) continue;
      const made = tape.freeable(node);
      if (made.length === 0) continue;
      const launching = part(node, () => launchReaders(cotangents, made));
      if (launching !== undefined) await launching;
      tape.free(made);
    }
    const found = wanted.map(({ node, output }) => cotangents.get(node)?.[output]);
    const releasing = part(undefined, () => released(found, wanted.map(formOf), owner));
    given = releasing instanceof Promise ? await releasing : releasing;
    pass?.remember(given);
  } finally {
    const closing = owner.close();
    if (closing !== undefined) await closing;
    owner.dispose();
  }
  return alone(given);
}

/** What was computed as part of other kernels from tensors that are about to be freed, and may be computed again. */
function launchReaders(
  cotangents: Cotangents,
  freed: readonly Primal[],
): Promise<unknown> | undefined {
  const waiting: Promise<Tensor>[] = [];
  for (const own of cotangents.values()) {
    for (const one of own as readonly unknown[]) {
      if (!(one instanceof TracedResult) || one.primal.tensor !== undefined) continue;
      const { primal } = one;
      if (!freed.some((made) => readsFrom(primal, made))) continue;
      const launch = primal.launch({});
      if (primal.tensor === undefined) waiting.push(launch);
    }
  }
  return waiting.length === 0 ? undefined : Promise.all(waiting);
}

const readsFrom = (reader: KnownResult, made: Primal): boolean => {
  const tensor = isTensor(made) ? made : made.tensor;
  return tensor !== undefined && reader.dependsOn(tensor.storage);
};

/** The rule of one node; a promise where something has to be waited for. */
function pullThrough(
  tape: Reverse,
  node: Node,
  own: readonly (KnownValue | undefined)[],
  cotangents: Cotangents,
  owner: Owning,
  pass: Pass | undefined,
): Promise<void> | undefined {
  const { rule, outputs } = node;
  const pull = (whole: readonly unknown[]): Promise<void> | undefined => {
    const shares = sharesOf(tape, node, whole, owner, pass);
    return addShares(tape, node, shares, cotangents, owner, 0);
  };
  const spreads = own.map((one, at) =>
    one === undefined || rule?.broadcasts === true ? one : spread(one, outputs[at]?.shape ?? []),
  );
  const known = spreads.map(knownNow);
  if (known.every((one) => one !== undefined)) return pull(known.map(({ made }) => made));
  return Promise.all(spreads.map(whenKnown)).then((all) => pull(all.map(({ made }) => made)));
}

/** What the rule of a node gives for each of its flat arguments. */
function sharesOf(
  tape: Reverse,
  node: Node,
  whole: readonly unknown[],
  owner: Owning,
  pass: Pass | undefined,
): readonly Share[] {
  const { rule, args, sources, result } = node;
  if (rule === undefined) return [];
  pass?.noteArgumentsRead(node);
  const wrapped = (value: unknown, check?: ReadCheck): unknown =>
    isTensor(value) || isKnownResult(value) || isTracedKnown(value)
      ? owner.wrap(value, check)
      : value;
  const ofResult = (value: unknown): unknown =>
    wrapped(value, () => {
      pass?.noteResultRead(node);
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
  return args.like(rule.vjp(cotangent as Value, call as never)) as readonly Share[];
}

/** Adds what is given for arguments, in their order from one on: it waits for one that is not there before it asks for the next. */
function addShares(
  tape: Reverse,
  node: Node,
  shares: readonly Share[],
  cotangents: Cotangents,
  owner: Owning,
  from: number,
): Promise<void> | undefined {
  const { name, sources } = node;
  for (let place = from; place < sources.length; place++) {
    const source = sources[place];
    const share = source === undefined ? undefined : shares[place]?.();
    if (source === undefined || share === undefined) continue;
    const found = conformed(share, source, name, owner);
    if (tape.detectsNaN || found instanceof Promise) {
      const inTurn = async (): Promise<void> => {
        const { made } = await found;
        if (tape.detectsNaN && made !== undefined)
          await assertNoNaN(made, `${owner.what}: the gradient of ${name} has`);
        if (made !== undefined) add(cotangents, source, made as Value);
        await addShares(tape, node, shares, cotangents, owner, place + 1);
      };
      return inTurn();
    }
    if (found.made !== undefined) add(cotangents, source, found.made as Value);
  }
  return undefined;
}

/** A share in the dtype of cotangents. */
function conformed(
  share: Value,
  source: Source,
  name: string,
  owner: Owning,
): Made | Promise<Made> {
  const widened = (known: Made): Made | Promise<Made> =>
    known.made === undefined
      ? known
      : knownOrLater(inDType(owner.adopted(known.made) as KnownValue, formOf(source), name));
  const known = knownOrLater(share);
  return known instanceof Promise ? known.then(widened) : widened(known);
}

const formOf = ({ node, output }: Source): ValueForm => node.outputs[output] as ValueForm;

/** Sums are kept in float32 for floats of 16 bits. */
const wideDType = (dtype: string): 'float32' | 'float64' =>
  dtype === 'float64' ? dtype : 'float32';

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
  const wide = wideDType(dtype);
  return share.dtype === wide ? share : share.cast(wide);
}

function add(cotangents: Cotangents, { node, output }: Source, share: Value): void {
  const own = cotangents.get(node) ?? node.outputs.map(() => undefined);
  const before = own[output];
  own[output] = (before === undefined ? share : before.add(share)) as KnownValue;
  cotangents.set(node, own);
}
