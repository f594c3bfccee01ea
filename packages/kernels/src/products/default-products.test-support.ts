import { exp, mul, neg, variable } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { emitPairwise } from '../pairwise/emit.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { planPairwise } from '../pairwise/plan.js';
import { pairwiseProblem } from '../testing/h200.test-support.js';
import { productsConfig } from './choose-products.js';
import { emitCentre } from './emit-centre.js';
import { emitCentredParts } from './emit-centred-parts.js';

/** Every kernel around the library's products: distances, squared ones and a parameter, aligned and not; a GPU's only. */
export function defaultProductsKernels(limits: DeviceLimits): NamedKernel[] {
  const gaussian = exp(neg(mul(variable('gamma'), variable('s'))));
  const outers = [
    normExpressions(2),
    normExpressions(2, { skipEpilogue: true }),
    { outer: gaussian, parameters: ['gamma'] },
  ];
  const passes = outers.flatMap((outer) =>
    [true, false].map((aligned) =>
      emitPairwise(
        planPairwise(
          pairwiseProblem({
            ...normExpressions(2),
            ...outer,
            products: productsConfig(1024),
            alignedA: aligned,
            alignedB: aligned,
            alignedOut: aligned,
          }),
          limits,
        ),
      ),
    ),
  );
  const kernels = [emitCentre(), emitCentredParts('a'), emitCentredParts('b')];
  return [...kernels.map((kernel) => ({ name: kernel.name, kernel })), ...distinctKernels(passes)];
}
