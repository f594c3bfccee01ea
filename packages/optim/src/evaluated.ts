import type { Tree } from '@mercer/autodiff';
import { isTensor, type Scope } from '@mercer/tensor';
import { flatArguments } from '@mercer/tensor/operation';
import type { StepExtras } from './optimiser.js';

type Evaluate = NonNullable<StepExtras['evaluate']>;

/** The loss and its gradients at some parameters. The scope owns all tensors that the function gives, whatever is thrown later. */
export async function evaluated(
  scope: Scope,
  evaluate: Evaluate,
  params: Tree,
): Promise<Awaited<ReturnType<Evaluate>>> {
  const found = await evaluate(params);
  for (const one of flatArguments([found])) if (isTensor(one)) scope.track(one);
  return found;
}
