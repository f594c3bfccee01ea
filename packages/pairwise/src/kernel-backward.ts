import { MercerError, isTensor, zeros, type Stream, type Tensor } from '@mercer/tensor';
import { backwardOperand, checkUpstream, type BackwardOperand } from './backward-operands.js';
import { addTensors, type SumPlace } from './backward-sum.js';
import { checkWrt } from './backward-wrt.js';
import { readableValues } from './readable-values.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { differentiableSpec } from './differentiable-spec.js';
import { bindParameter } from './kernel-parameter.js';
import { PARAMETERS, type ParameterName } from './kernel-parameters.js';
import { kernelSpec } from './kernel-spec.js';
import { inputOperand, pairwiseShape, type PairwiseShape } from './operands.js';
import {
  bothRolesBackward,
  columnsBackward,
  diagonalBackward,
  parametersBackward,
  rowsBackward,
  type BackwardCall,
  type BackwardParameter,
} from './pairwise-backward.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { loadRows, preparedRows } from './row-preparation.js';
import { scaleGradient, unpreparedRows, type PreparedBy } from './rows-backward.js';
import type { AnyRunKernelOptions } from './run-kernel-options.js';

/** A call of `runKernel` with its upstream gradient; b is a where there is one input. */
export interface ForwardCall {
  readonly descriptor: KernelDescriptor;
  readonly gradient: Tensor;
  readonly a: Tensor;
  readonly b: Tensor;
  readonly one: boolean;
  readonly options: AnyRunKernelOptions;
}

const WHAT = 'runKernelBackward';

/** The gradients of a call by the names of its variables. */
export async function backwardOf(
  forward: ForwardCall,
  names: readonly string[],
): Promise<Record<string, Tensor>> {
  const { descriptor, gradient, one, options } = forward;
  const given = kernelSpec(WHAT, descriptor, one, options);
  const wrt = checkWrt(WHAT, names, variablesOf(given, forward));
  checkFinite(options, wrt);
  const shape = pairwiseShape(WHAT, forward.a, forward.b, parameterTensors(given));
  given.check?.(shape.dtype);
  checkUpstream(WHAT, gradient, shape);
  const stream = options.stream ?? shape.device.defaultStream;
  const results = new Map<string, Tensor>();
  const made: Tensor[] = [];
  try {
    const spec = await readableValues(given, shape, made, { stream, signal: options.signal });
    const g = await backwardOperand(gradient, shape, { stream, signal: options.signal }, made);
    const rows = await operandsOf(forward, spec, shape, stream, made);
    const call: BackwardCall = {
      stream,
      debug: options.debug,
      signal: options.signal,
      shape,
      forward: spec.expressions,
      p: spec.p ?? 1,
      parameters: parametersOf(spec, given, shape),
      a: rows.a,
      b: rows.b,
      gradient: g,
      maskedDiagonal: spec.diagonal?.mode === 'set' ? spec.diagonal.offset : undefined,
    };
    await inputGradients(call, spec, rows, one, wrt, results);
    await parameterGradients(call, spec, forward, wrt, results);
    if (wrt.has('regularization') && spec.diagonal !== undefined) {
      const value = given.diagonal?.value;
      const target = isTensor(value) ? value.shape : [];
      results.set('regularization', await diagonalBackward(call, spec.diagonal.offset, target));
    }
    return Object.fromEntries(results);
  } catch (error) {
    for (const tensor of results.values()) tensor.dispose();
    throw error;
  } finally {
    for (const tensor of made) tensor.dispose();
  }
}

/** The variables that a call has. */
function variablesOf(spec: PairwiseSpec, { one, options }: ForwardCall): string[] {
  const given = PARAMETERS.filter((name) => options[name] !== undefined);
  const own = Object.keys(options.parameters ?? {}).map((name) => `parameters.${name}`);
  return [
    ...new Set([
      ...(one ? ['a'] : ['a', 'b']),
      ...spec.parameters.map(({ label }) => label),
      ...[...given, ...own],
      ...(spec.diagonal === undefined ? [] : ['regularization']),
      ...(options.scale === undefined ? [] : ['scale']),
    ]),
  ];
}

function checkFinite({ p }: AnyRunKernelOptions, wrt: ReadonlySet<string>): void {
  if (p !== Infinity || !wrt.has('p')) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: the derivative with respect to p is wanted at p = Infinity, where there is none. Leave p out of wrt.`,
  );
}

/** The operands as the pairwise kernels read them, and how they were prepared, if they were. */
interface Rows {
  readonly a: BackwardOperand;
  readonly b: BackwardOperand;
  readonly prepared: { readonly a: PreparedBy; readonly b: PreparedBy } | undefined;
}

async function operandsOf(
  { a, b, one, options: { debug, signal } }: ForwardCall,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  stream: Stream,
  made: Tensor[],
): Promise<Rows> {
  const x = await backwardOperand(a, shape, { stream, signal }, made);
  const y = one ? x : await backwardOperand(b, shape, { stream, signal }, made);
  if (spec.rows === undefined) return { a: x, b: y, prepared: undefined };
  const { normalise, scale } = spec.rows;
  const by = (from: BackwardOperand, rows: number): PreparedBy => ({
    what: WHAT,
    normalise,
    scale,
    x: from,
    rows,
  });
  const prepare = (from: BackwardOperand, rows: number): Promise<BackwardOperand> =>
    preparedOperand(from, rows, spec, shape, { stream, debug, signal }, made);
  const first = await prepare(x, shape.m);
  return {
    a: first,
    b: one ? first : await prepare(y, shape.n),
    prepared: { a: by(x, shape.m), b: by(y, shape.n) },
  };
}

/** Rows as the forward call prepares them; their gradient is taken over the whole batch. */
async function preparedOperand(
  from: BackwardOperand,
  rows: number,
  spec: PairwiseSpec,
  shape: PairwiseShape,
  { stream, debug, signal }: SumPlace,
  made: Tensor[],
): Promise<BackwardOperand> {
  let { tensor } = from;
  let operand = inputOperand(tensor, shape);
  if (operand === undefined) {
    tensor = await tensor.clone({ stream, signal });
    made.push(tensor);
    operand = inputOperand(tensor, shape);
  }
  if (operand === undefined || spec.rows === undefined) {
    throw new Error('a row-major copy is always readable');
  }
  const loaded = await loadRows(spec.rows, shape, rows, operand, { debug, signal });
  await stream.room({ signal });
  const bound = preparedRows(loaded, spec, shape, rows, { tensor, operand }, stream, made);
  return {
    tensor: bound.tensor,
    rowStride: bound.operand.leadingStride,
    columnStride: 1,
    batchStride: bound.operand.batchStride,
    shape: [...shape.batchShape, rows, shape.k],
  };
}

function parametersOf(
  spec: PairwiseSpec,
  given: PairwiseSpec,
  shape: PairwiseShape,
): BackwardParameter[] {
  return spec.parameters.map(({ name, label, value }, i) => {
    const own = given.parameters[i]?.value;
    const bound = bindParameter(WHAT, label, value, shape);
    return { name, bound, shape: isTensor(own) ? own.shape : [] };
  });
}

/** The gradients of a, b and scale. */
async function inputGradients(
  call: BackwardCall,
  spec: PairwiseSpec,
  { prepared }: Rows,
  one: boolean,
  wrt: ReadonlySet<string>,
  results: Map<string, Tensor>,
): Promise<void> {
  const scales: Tensor[] = [];
  try {
    for (const name of one ? (['a'] as const) : (['a', 'b'] as const)) {
      if (!wrt.has(name) && !wrt.has('scale')) continue;
      const whole = await roleGradient(call, spec, name, one);
      if (prepared === undefined) {
        results.set(name, whole);
        continue;
      }
      try {
        const by = prepared[name];
        const { shape } = call;
        if (wrt.has(name)) results.set(name, await unpreparedRows(by, whole, shape, call));
        if (wrt.has('scale')) scales.push(await scaleGradient(by, whole, shape, call));
      } finally {
        whole.dispose();
      }
    }
    if (scales.length > 0) results.set('scale', await addTensors(scales, call));
  } finally {
    for (const tensor of scales) tensor.dispose();
  }
}

function roleGradient(
  call: BackwardCall,
  spec: PairwiseSpec,
  name: 'a' | 'b',
  one: boolean,
): Promise<Tensor> {
  if (name === 'b') return columnsBackward(call);
  if (!one) return rowsBackward(call);
  return spec.symmetric ? rowsBackward(call, true) : bothRolesBackward(call);
}

/** The gradients of the parameters of the expressions. */
async function parameterGradients(
  call: BackwardCall,
  spec: PairwiseSpec,
  { descriptor, options }: ForwardCall,
  wrt: ReadonlySet<string>,
  results: Map<string, Tensor>,
): Promise<void> {
  const open = differentiableSpec(spec, descriptor, options, wrt);
  // A threshold moves nothing but pairs that lie on it.
  const wanted = open.parameters.filter(({ label }) => wrt.has(label) && label !== 'epsilon');
  await zeroGradients(call, options, wrt, wanted, results);
  if (wanted.length === 0) return;
  const parameters = open.parameters.map(({ name, label, value }): BackwardParameter => {
    const known = call.parameters.find((each) => each.name === name);
    return known ?? { name, bound: bindParameter(WHAT, label, value, call.shape), shape: [] };
  });
  const byName = await parametersBackward(
    { ...call, forward: open.expressions, parameters },
    wanted.map(({ name }) => name),
  );
  for (const { name, label } of wanted) {
    const gradient = byName.get(name);
    if (gradient !== undefined) results.set(label, gradient);
  }
}

/** The gradients of parameters that the result does not change with. */
async function zeroGradients(
  { shape: { dtype, device }, stream, signal }: BackwardCall,
  options: AnyRunKernelOptions,
  wrt: ReadonlySet<string>,
  others: readonly { readonly label: string }[],
  results: Map<string, Tensor>,
): Promise<void> {
  const { parameters = {} } = options;
  for (const name of wrt) {
    const own = name.startsWith('parameters.') ? name.slice('parameters.'.length) : undefined;
    const isParameter = own !== undefined || (PARAMETERS as readonly string[]).includes(name);
    if (!isParameter || others.some(({ label }) => label === name)) continue;
    const value = own === undefined ? options[name as ParameterName] : parameters[own];
    const target = isTensor(value) ? value.shape : [];
    results.set(name, await zeros(target, { dtype, device, stream, signal }));
  }
}
