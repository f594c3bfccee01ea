import { isTensor, type Device, type Tensor } from '@mercer/tensor';
import {
  KnownCall,
  KnownCalls,
  layoutKey,
  type CallPointer,
  type CallTensors,
} from '@mercer/tensor/operation';
import type { PairwiseShape } from './operands.js';
import type { BoundTensors } from './bound-tensors.js';
import { launchArguments, type LoadedCall } from './pairwise-call.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import type { ResultPlan } from './plan-of.js';

/** A known call and the plan of its result. */
export interface KnownPairwise {
  readonly call: KnownCall;
  readonly plan: ResultPlan;
}

const calls = new KnownCalls<KnownPairwise>();

/** A call of tensors, by what it computes and how its tensors lie, and the numbers that its kernels take anew. */
export interface CallSignature {
  readonly device: Device;
  readonly key: string;
  readonly tensors: CallTensors;
  readonly numbers: Readonly<Record<string, number>>;
}

/** The values of a call in the order of its tensors. */
function valuesOf({ parameters, diagonal }: PairwiseSpec): readonly NamedValue[] {
  if (diagonal === undefined) return parameters;
  const label = 'regularization';
  return [...parameters, { name: label, label, value: diagonal.value }];
}

/** Undefined for a call that is not remembered: one with data of the host, with prepared rows, or with tensors that the checks refuse. */
export function callSignature(
  spec: PairwiseSpec,
  a: unknown,
  b: unknown,
  out: Tensor | undefined,
): CallSignature | undefined {
  if (spec.rows !== undefined || !isTensor(a) || !(b === undefined || isTensor(b)))
    return undefined;
  const { what, expressions, p, diagonal, symmetric, align } = spec;
  const { inner, outer, reduce } = expressions;
  const inputs = b === undefined || b === a ? [a] : [a, b];
  let key = `${what} ${inner.id} ${outer.id} ${reduce} ${p} ${symmetric} ${align}|`;
  if (diagonal !== undefined) key += `${diagonal.mode} ${diagonal.offset}|`;
  const numbers: Record<string, number> = {};
  for (const { name, value } of valuesOf(spec)) {
    key += isTensor(value) ? `${name}*|` : `${name}|`;
    if (isTensor(value)) inputs.push(value);
    else numbers[`${name}Value`] = value;
  }
  const tensors = { inputs, outs: [out] };
  const layouts = layoutKey(tensors);
  if (layouts === undefined) return undefined;
  return { device: a.device, key: key + layouts, tensors, numbers };
}

/** The call of a signature, if there was one. */
export function knownCall({ device, key }: CallSignature): KnownPairwise | undefined {
  return calls.get(device, key);
}

/** Remembers a call whose kernels read and wrote the call's own tensors. */
export function rememberCall(
  { device, key, tensors }: CallSignature,
  loaded: LoadedCall,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  bound: BoundTensors,
): void {
  const { plan } = loaded.main;
  // The next call may have compiled kernels.
  if (plan.executor === 'interpreted') return;
  const call = knownCallOf(tensors, loaded, spec, shape, bound);
  if (call !== undefined) calls.set(device, key, { call, plan });
}

/** A known call; undefined where a kernel reads a copy. */
function knownCallOf(
  tensors: CallTensors,
  { main }: LoadedCall,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  bound: BoundTensors,
): KnownCall | undefined {
  const { pointers: given, scalars } = launchArguments(spec, shape, bound);
  const pointers: Record<string, CallPointer> = {};
  for (const [name, pointer] of Object.entries(given)) {
    if (!isTensor(pointer)) {
      pointers[name] = { kind: 'none' };
      continue;
    }
    const isResult = pointer === bound.out.tensor;
    const place = isResult ? 0 : tensors.inputs.indexOf(pointer);
    if (place < 0) return undefined;
    pointers[name] = { kind: isResult ? 'result' : 'input', place, offset: 0 };
  }
  const { outShape, dtype, device } = shape;
  return new KnownCall({
    device,
    results: [{ shape: outShape, dtype }],
    launches: [{ program: main, pointers, scalars }],
    // the expressions, whose ids are in the key
    holds: spec.expressions,
  });
}
