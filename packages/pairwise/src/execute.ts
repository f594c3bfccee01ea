import type { DeviceLike, LoadOptions, OutOption, Stream, Tensor } from '@mercer/tensor';
import { assertTensor, readableInput, roomOn } from '@mercer/tensor/operation';
import type { PairwiseDType } from '@mercer/kernels';
import { readableValues } from './bind-values.js';
import type { Bound } from './bound-tensors.js';
import { callSignature, knownCall, rememberCall, type CallSignature } from './known-calls.js';
import { inputOperand, outOperand, pairwiseShape, type PairwiseShape } from './operands.js';
import { givenOutput, launchCall, loadCall, newOutput } from './pairwise-call.js';
import { parameterTensors, type PairwiseSpec } from './pairwise-spec.js';
import { placeInputs, type PairwiseInput } from './place.js';
import { rememberPlan } from './plan-of.js';

/** Options of a call that say nothing about what is computed. */
export interface ExecuteOptions extends OutOption, LoadOptions {
  readonly device?: DeviceLike | undefined;
}

/**
 * Computes a spec over a and b, or over a alone where b is undefined. Everything is checked, copied where a kernel cannot
 * read it, and compiled before the first write to the output.
 *
 * @throws MercerError, the compiler's or the loader's error
 */
export async function execute(
  spec: PairwiseSpec,
  a: PairwiseInput,
  b: PairwiseInput | undefined,
  options: ExecuteOptions,
): Promise<Tensor> {
  const { what } = spec;
  const { out, stream, debug, signal } = options;
  if (out !== undefined) assertTensor(out, `${what}: out`);
  const signature = (debug ?? false) === false ? callSignature(spec, a, b, out) : undefined;
  const same = signature && (await callAgain(signature, spec, options));
  if (same !== undefined) return same;
  const parameters = parameterTensors(spec);
  const inputs = await placeInputs(
    what,
    a,
    b,
    options,
    parameters.map(({ tensor }) => tensor),
  );
  const copies: Tensor[] = [];
  try {
    assertTensor(inputs.a, `${what}: a`);
    assertTensor(inputs.b, `${what}: b`);
    const shape = pairwiseShape(what, inputs.a, inputs.b, parameters);
    spec.check?.(shape.dtype);
    const given = out && givenOutput(spec, shape, out, [inputs.a, inputs.b]);
    const readableSpec = await readableValues(spec, shape, copies, { stream, signal });
    const readable = (input: Tensor): Promise<Bound> =>
      readableInput(input, (t) => inputOperand(t, shape), { ...shape, stream, signal, copies });
    const x = await readable(inputs.a);
    const y = inputs.b === inputs.a ? x : await readable(inputs.b);
    const target = given ?? fresh(what, shape, stream);
    if (target.tensor.size === 0) return target.tensor;
    try {
      const operands = [x.operand, y.operand, target.operand] as const;
      const loaded = await loadCall(spec, shape, operands, { debug, signal }, 'call');
      const queue = stream ?? shape.device.defaultStream;
      await queue.room({ signal });
      const bound = { a: x, b: y, out: target };
      launchCall(loaded, readableSpec, shape, bound, queue);
      if (signature !== undefined) rememberCall(signature, loaded, readableSpec, shape, bound);
      return target.tensor;
    } catch (error) {
      if (given === undefined) target.tensor.dispose();
      throw error;
    }
  } finally {
    for (const copy of copies) copy.dispose();
    inputs.release();
  }
}

/** A call like one before, whose checks and plans are not made again; undefined where there was none. */
async function callAgain(
  signature: CallSignature,
  spec: PairwiseSpec,
  { stream, signal }: ExecuteOptions,
): Promise<Tensor | undefined> {
  const known = knownCall(signature);
  if (known === undefined) return undefined;
  const { call, plan } = known;
  const { tensors, numbers } = signature;
  spec.check?.(tensors.inputs[0]?.dtype as PairwiseDType);
  const queue = await roomOn(call.device, { stream, signal }, spec.what);
  const [result] = call.launch(tensors, queue, numbers) ?? [];
  if (result !== undefined) rememberPlan(result, plan);
  return result;
}

function fresh(what: string, shape: PairwiseShape, stream: Stream | undefined): Bound {
  const tensor = newOutput(shape, stream);
  return { tensor, operand: outOperand(what, tensor, shape, []) };
}
