import { isTensor, launchProgram, type Stream, type Tensor } from '@mercer/tensor';
import {
  inputPointer,
  reductionArguments,
  type BoundInput,
  type CallShape,
  type LoadedReduction,
  type RangeArguments,
  type Results,
} from './call.js';
import type { Input } from './input.js';
import { resultsOf, type Pass } from './passes.js';

/**
 * What is left to do for a call whose tensors lie as those of one that was checked: its checks depend on layouts and on which
 * tensors share memory, and on nothing else.
 */
export interface KnownCall {
  /** Of the arguments, then of the results. */
  readonly layouts: readonly TensorLayout[];
  readonly argumentCount: number;
  /** Tensors that are the same in every call: those of the formula, and ranges. */
  readonly held: readonly Tensor[];
  readonly launches: readonly KnownLaunch[];
}

type TensorLayout = Pick<Tensor, 'device' | 'dtype' | 'shape' | 'strides'>;

interface KnownLaunch {
  readonly loaded: LoadedReduction;
  readonly scalars: Readonly<Record<string, number>>;
  /** What is the same in every call. */
  readonly fixed: Readonly<Record<string, Tensor>>;
  /** Parameters by the place of their tensor among arguments and results. */
  readonly places: readonly (readonly [name: string, place: number])[];
}

/** A call that was checked. */
export interface CheckedCall {
  readonly passes: readonly Pass[];
  readonly args: readonly Tensor[];
  /** The inputs of the formula before their placeholders were bound. */
  readonly inputs: readonly Input[];
  readonly bound: readonly (BoundInput | undefined)[];
  readonly shape: CallShape;
  readonly out: readonly Results[];
  readonly ranges: readonly (RangeArguments | undefined)[];
}

/** Remembers a call that wrote the caller's tensors alone; undefined where it read a tensor from another place than its first. */
export function rememberCall(call: CheckedCall): KnownCall | undefined {
  const { passes, args, inputs, bound, shape, out, ranges } = call;
  const results = tensorsOf(out);
  const all = [...args, ...results];
  const sources = new Map(inputs.map(({ source }, place) => [inputPointer(place), source]));
  if (inputs.some(({ source }, place) => !beginsAlike(source, args, bound[place])))
    return undefined;
  const held: Tensor[] = [];
  const launches = passes.map(({ loaded, places: of }, n): KnownLaunch => {
    const { pointers, scalars } = reductionArguments(shape, bound, resultsOf(out, of), ranges[n]);
    const fixed: Record<string, Tensor> = {};
    const places: [string, number][] = [];
    for (const [name, tensor] of Object.entries(pointers)) {
      const at = results.indexOf(tensor);
      const source = sources.get(name);
      if (at >= 0) places.push([name, args.length + at]);
      else if (source?.kind === 'placeholder') places.push([name, source.position]);
      // not the view that was read, which ends with the call and begins at the same place
      else fixed[name] = source?.kind === 'tensor' ? source.tensor : tensor;
    }
    held.push(...Object.values(fixed));
    return { loaded, scalars, fixed, places };
  });
  return {
    layouts: all.map(({ device, dtype, shape: extents, strides }) => ({
      ...{ device, dtype, shape: extents, strides },
    })),
    ...{ argumentCount: args.length, held, launches },
  };
}

/** Whether the view that was read begins where its tensor does: not where it begins at a later row. */
function beginsAlike(
  source: Input['source'],
  args: readonly Tensor[],
  read: BoundInput | undefined,
): boolean {
  if (read === undefined) return true;
  const whole =
    source.kind === 'placeholder'
      ? args[source.position]
      : source.kind === 'tensor'
        ? source.tensor
        : undefined;
  return whole?.byteOffset === read.tensor.byteOffset;
}

/** Enqueues a call if it is known, and says whether it is. */
export function launchKnown(
  known: KnownCall,
  args: readonly Tensor[],
  out: readonly Results[],
  stream: Stream,
): boolean {
  const { layouts, argumentCount, held, launches } = known;
  if (args.length !== argumentCount) return false;
  const tensors = [...args, ...tensorsOf(out)];
  if (tensors.length !== layouts.length) return false;
  for (const [place, layout] of layouts.entries()) {
    const one = tensors[place];
    if (!isTensor(one) || !liesLike(one, layout)) return false;
  }
  if (held.some((one) => one.disposed)) return false;
  for (let place = argumentCount; place < tensors.length; place++) {
    const memory = tensors[place]?.storage;
    for (const other of held) if (other.storage === memory) return false;
    for (let before = 0; before < place; before++) {
      if (tensors[before]?.storage === memory) return false;
    }
  }
  for (const { loaded, scalars, fixed, places } of launches) {
    const pointers: Record<string, Tensor> = { ...fixed };
    for (const [name, place] of places) {
      const tensor = tensors[place];
      if (tensor !== undefined) pointers[name] = tensor;
    }
    launchProgram(loaded, stream, pointers, scalars);
  }
  return true;
}

function tensorsOf(out: readonly Results[]): Tensor[] {
  const tensors: Tensor[] = [];
  for (const { value, index } of out) {
    if (value !== undefined) tensors.push(value);
    if (index !== undefined) tensors.push(index);
  }
  return tensors;
}

const liesLike = (one: Tensor, layout: TensorLayout): boolean =>
  !one.disposed &&
  one.device === layout.device &&
  one.dtype === layout.dtype &&
  areSame(one.shape, layout.shape) &&
  areSame(one.strides, layout.strides);

function areSame(a: readonly number[], b: readonly number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false;
  return true;
}
