import type { Tree } from '@mercer/autodiff';
import { describeValue } from '@mercer/options';
import { isTensor, MercerError, type Scope, type Tensor } from '@mercer/tensor';
import { flatArguments } from '@mercer/tensor/operation';
import type { StepExtras } from './optimiser.js';

type Evaluate = NonNullable<StepExtras['evaluate']>;

/** That a value is a loss on a device. @throws MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED */
export function checkValue(value: unknown, what: string, device: string): Tensor {
  if (!isTensor(value) || value.size !== 1) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: value is ${isTensor(value) ? value.label : describeValue(value)}. Pass the loss, a 0-d tensor.`,
    );
  }
  value.assertAlive();
  if (value.device.id === device) return value;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `${what}: value is on ${value.device.id}, and the parameters are on ${device}. Move it with to('${device}').`,
  );
}

/** That what evaluates is a function. @throws MercerError INVALID_ARGUMENT */
export function checkEvaluate(evaluate: unknown, what: string): void {
  if (evaluate === undefined || typeof evaluate === 'function') return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: evaluate is ${describeValue(evaluate)}. Pass a function of parameters that gives { value, grad }, such as valueAndGrad(loss).`,
  );
}

/** The loss and its gradients at some parameters. The scope owns all tensors that the function gives, whatever is thrown later. */
export async function evaluated(
  scope: Scope,
  evaluate: Evaluate,
  what: string,
  params: Tree,
): Promise<Awaited<ReturnType<Evaluate>>> {
  const found = await evaluate(params);
  if (!isTensor((found as Partial<typeof found> | undefined)?.value)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: evaluate gave ${describeValue(found)}. Give { value, grad }, tensors as of valueAndGrad().`,
    );
  }
  for (const one of flatArguments([found])) if (isTensor(one)) scope.track(one);
  return found;
}
