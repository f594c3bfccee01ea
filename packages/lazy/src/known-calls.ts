import { outputsOf } from '@mercer/formula';
import { own } from '@mercer/options';
import type { Device, Tensor } from '@mercer/tensor';
import {
  KnownCall,
  KnownCalls,
  layoutKey,
  type CallLaunch,
  type CallPointer,
  type CallTensors,
  type ResultSpec,
} from '@mercer/tensor/operation';
import {
  inputPointer,
  reductionArguments,
  type BoundInput,
  type CallShape,
  type RangeArguments,
  type Results,
} from './call.js';
import type { Input } from './input.js';
import { resultsOf, type Pass } from './passes.js';
import type { SumOptions } from './sum-options.js';
import type { JointTask } from './task.js';

const calls = new KnownCalls<KnownCall>();

/** A call whose inputs are all tensors, by what it computes and how its tensors lie. */
export interface CallSignature {
  readonly device: Device;
  readonly key: string;
  readonly tensors: CallTensors;
}

/** Undefined for a call that cannot be remembered: one with data of the host, or with tensors that the checks refuse. */
export function callSignature(
  { reductions, inputs }: JointTask,
  out: readonly Results[],
  { accumulate, sumScheme, dtype }: SumOptions & { readonly dtype?: string | undefined },
): CallSignature | undefined {
  // What is no text is refused by the checks.
  if ([accumulate, sumScheme, dtype].some((one) => !['string', 'undefined'].includes(typeof one))) {
    return undefined;
  }
  const tensors: Tensor[] = [];
  let key = `${accumulate} ${sumScheme} ${dtype}|`;
  for (const { kind, axis, k, formula, weight } of reductions) {
    key += `${kind} ${axis} ${k} ${formula.id} ${weight?.id}|`;
  }
  for (const { source, category, isTable, steps } of inputs) {
    if (source.kind !== 'tensor') return undefined;
    key += category + (isTable ? '*' : '');
    if (steps.length > 0) key += JSON.stringify(steps);
    tensors.push(source.tensor);
  }
  const outs = outputTensors(reductions, out);
  if (outs === undefined) return undefined;
  const given = { inputs: tensors, outs };
  const layouts = layoutKey(given);
  const device = tensors[0]?.device;
  if (layouts === undefined || device === undefined) return undefined;
  return { device, key: `${key}|${layouts}`, tensors: given };
}

/** The call of a signature, if there was one. */
export function knownCall({ device, key }: CallSignature): KnownCall | undefined {
  return calls.get(device, key);
}

/** A tensor of a call or of its formula. */
export type CallSource =
  | { readonly kind: 'input' | 'result'; readonly place: number }
  | { readonly kind: 'held'; readonly tensor: Tensor };

/** A call that was made: what its kernels were launched with. */
export interface MadeCall {
  readonly passes: readonly Pass[];
  readonly inputs: readonly Input[];
  readonly bound: readonly (BoundInput | undefined)[];
  readonly shape: CallShape;
  readonly written: readonly Results[];
  readonly ranges?: readonly (RangeArguments | undefined)[];
}

/** Remembers a call whose kernels read and wrote the call's own tensors. */
export function rememberCall(
  { device, key, tensors }: CallSignature,
  task: JointTask,
  made: MadeCall,
): void {
  // The next call may have compiled kernels.
  if (made.passes.some(({ loaded }) => loaded.plan.executor === 'interpreted')) return;
  const sources = made.inputs.map(({ source }, place): CallSource | undefined =>
    source.kind === 'tensor' ? { kind: 'input', place } : undefined,
  );
  const known = knownCallOf(tensors, task, made, sources);
  if (known !== undefined) calls.set(device, key, known);
}

/** A known call, where every kernel reads the tensor that `sources` names for its input, and writes the call's results. */
export function knownCallOf(
  tensors: CallTensors,
  { reductions }: JointTask,
  made: MadeCall,
  sources: readonly (CallSource | undefined)[],
): KnownCall | undefined {
  const { passes, inputs, bound, shape, written } = made;
  const { ranges = [] } = own(made, 'ranges');
  const results = tensorsOf(written);
  const launches: CallLaunch[] = [];
  for (const [n, { loaded, places }] of passes.entries()) {
    const { pointers, scalars } = reductionArguments(
      shape,
      bound,
      resultsOf(written, places),
      ranges[n],
    );
    const named: Record<string, CallPointer> = {};
    for (const [name, tensor] of Object.entries(pointers)) {
      const result = results.indexOf(tensor);
      const place = inputs.findIndex((_, at) => inputPointer(at) === name);
      const source: CallSource | undefined =
        result >= 0
          ? { kind: 'result', place: result }
          : place >= 0
            ? sources[place]
            : { kind: 'held', tensor };
      const pointer = source && pointerTo(source, tensor, tensors);
      if (pointer === undefined) return undefined;
      named[name] = pointer;
    }
    launches.push({ program: loaded, pointers: named, scalars });
  }
  const specs = results.map(({ shape: extents, dtype }): ResultSpec => ({ shape: extents, dtype }));
  return new KnownCall({
    device: shape.device,
    results: specs,
    launches,
    // the formulas, whose ids are in the key
    holds: reductions,
  });
}

/** Undefined where what was read is a copy. */
function pointerTo(
  source: CallSource,
  read: Tensor,
  { inputs }: CallTensors,
): CallPointer | undefined {
  const whole =
    source.kind === 'input' ? inputs[source.place] : source.kind === 'held' ? source.tensor : read;
  if (whole?.storage !== read.storage) return undefined;
  return { ...source, offset: read.byteOffset - whole.byteOffset };
}

/** Values and row numbers by reduction, as one list; undefined where a tensor is given for what a reduction does not give. */
export function outputTensors(
  reductions: JointTask['reductions'],
  out: readonly Results[],
): (Tensor | undefined)[] | undefined {
  const tensors: (Tensor | undefined)[] = [];
  for (const [place, reduction] of reductions.entries()) {
    const given = out[place];
    const names = outputsOf(reduction).map(({ name }) => name);
    for (const name of ['value', 'index'] as const) {
      if (names.includes(name)) tensors.push(given?.[name]);
      else if (given?.[name] !== undefined) return undefined;
    }
  }
  return tensors;
}

/** The other way: a list of {@link outputTensors} by reduction. */
export function asResults(
  reductions: JointTask['reductions'],
  tensors: readonly Tensor[],
): readonly Results[] {
  let at = 0;
  return reductions.map((reduction) => {
    const names = outputsOf(reduction).map(({ name }) => name);
    const take = (name: 'value' | 'index'): Tensor | undefined =>
      names.includes(name) ? tensors[at++] : undefined;
    return { value: take('value'), index: take('index') };
  });
}

function tensorsOf(results: readonly Results[]): Tensor[] {
  return results.flatMap(({ value, index }) => [value, index].filter((one) => one !== undefined));
}
