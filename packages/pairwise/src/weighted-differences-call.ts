import {
  emitCdistGrad,
  isSpecialisedDerivative,
  normDerivative,
  planCdistGrad,
  type CdistGradPlan,
  type CdistGradProblem,
} from '@mercer/kernels';
import { empty, isTensor, type LoadOptions, type Stream, type Tensor } from '@mercer/tensor';
import { launchProgram, loadProblem, type LoadedProgram } from '@mercer/tensor/operation';
import { WHAT } from './weighted-differences-options.js';
import {
  gradScalars,
  type GradInputs,
  type GradOperands,
  type GradOutput,
  type GradShape,
} from './weighted-differences-operands.js';
import { bindParameter } from './kernel-parameter.js';
import { rememberPlan } from './plan-of.js';
import type { ParameterValue } from './run-kernel-options.js';

/** The kernels of a call on their device. */
export type LoadedGrad = LoadedProgram<CdistGradPlan>;

/** Which operands may be read and written 16 bytes at a time. */
export type GradAlignment = Pick<
  CdistGradProblem,
  'alignedA' | 'alignedB' | 'alignedC' | 'alignedOut'
>;

/** What the planner has to know about the operands. */
export function gradAlignment({ a, b, c }: GradOperands, out: GradOutput): GradAlignment {
  return {
    alignedA: a.aligned,
    alignedB: b.aligned,
    alignedC: c.aligned,
    alignedOut: out.aligned,
  };
}

/**
 * Plans a call and loads its kernels, once per problem and device.
 *
 * @throws the compiler's or the loader's error; a failure is not remembered
 */
export function loadGrad(
  shape: GradShape,
  alignment: GradAlignment,
  p: ParameterValue,
  { debug, signal }: LoadOptions,
  purpose?: 'call',
): Promise<LoadedGrad> {
  const { device, dtype, m, n, o, k, batch } = shape;
  const inMemory = isTensor(p);
  const specialised = !inMemory && isSpecialisedDerivative(p);
  const sizes = { dtype, m, n, o, k, batch };
  return loadProblem(
    device,
    {
      key: `cdist-grad ${JSON.stringify([sizes, inMemory ? 'memory' : p, alignment])}`,
      plan: (limits) =>
        planCdistGrad(
          {
            ...sizes,
            phi: normDerivative(specialised ? p : 'runtime'),
            ...(inMemory ? {} : { p }),
            ...alignment,
          },
          limits,
        ),
      emit: emitCdistGrad,
    },
    { debug, signal, values: purpose === undefined ? undefined : m * n * o * k * batch },
  );
}

/** A call that is ready to be enqueued. */
export interface GradCall {
  readonly shape: GradShape;
  readonly inputs: GradInputs;
  readonly operands: GradOperands;
  readonly out: Tensor;
  readonly output: GradOutput;
  readonly p: ParameterValue;
}

/** Enqueues a call and remembers its plan. @throws MercerError as `bindParameter` and `launch` do */
export function launchGrad(loaded: LoadedGrad, call: GradCall, stream: Stream): void {
  const { shape, inputs, operands, out, output } = call;
  const p = bindParameter(WHAT, 'p', call.p, shape);
  launchProgram(
    loaded,
    stream,
    { a: inputs.a, b: inputs.b, c: inputs.c, d: inputs.d, out, pAt: p.pointer },
    { ...gradScalars(shape, operands, output), pStride: p.stride, pValue: p.value },
  );
  rememberPlan(out, loaded.plan);
}

/** A new row-major output. */
export function newGradOutput(
  { outShape, dtype, device }: GradShape,
  stream: Stream | undefined,
): Tensor {
  return empty(outShape, { dtype, device, stream });
}
