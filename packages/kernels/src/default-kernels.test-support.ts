import type { DeviceLimits } from './device-limits.js';
import { defaultCdistGradKernels } from './cdist-grad/default-problems.test-support.js';
import { defaultMaps, defaultSums } from './elementwise/default-maps.test-support.js';
import { defaultElementwisePlans } from './elementwise/default-elementwise.test-support.js';
import { emitCopyPieces } from './elementwise/copy-pieces.js';
import { emitCopy } from './elementwise/emit.js';
import { emitRepeats } from './elementwise/repeats.js';
import { cpuLimitKernels, cpuGaussianSum } from './limits/cpu-limit-kernels.js';
import { cudaLimitKernels } from './limits/cuda-limit-kernels.js';
import { defaultMapReduceKernels } from './map-reduce/default-map-reduce.test-support.js';
import { defaultMatrixKernels } from './matrix/default-matrix-kernels.test-support.js';
import { distinctKernels, type NamedKernel } from './named-kernel.test-support.js';
import { defaultPairwiseProblems } from './pairwise/default-problems.test-support.js';
import { defaultParameterisedKernels } from './pairwise/default-parameterised.test-support.js';
import { emitPairwise } from './pairwise/emit.js';
import { planPairwise } from './pairwise/plan.js';
import { defaultGradientKernels } from './pairwise-gradient/default-gradients.test-support.js';
import { defaultRowsKernels } from './rows/default-rows.test-support.js';
import { defaultScatterKernels } from './scatter/default-scatter.test-support.js';
import { defaultTf32SplitKernels } from './tf32-split/default-tf32-split.test-support.js';

/**
 * The kernels that stand for every plan of every family on a device, each text once: what is compiled in tests and, for
 * a GPU, what its report must cover.
 */
export function defaultKernels(limits: DeviceLimits): NamedKernel[] {
  return [
    ...defaultPairwiseKernels(limits),
    ...defaultParameterisedKernels(limits),
    ...defaultRowsKernels(limits),
    ...defaultScatterKernels(limits),
    ...defaultGradientKernels(limits),
    ...defaultCdistGradKernels(limits),
    ...defaultElementwiseKernels(limits),
    ...defaultMaps(limits),
    ...defaultSums(limits),
    ...defaultMapReduceKernels(limits),
    ...(limits.kind === 'cuda' ? [...defaultMatrixKernels(), ...defaultTf32SplitKernels()] : []),
    ...limitKernels(limits),
  ];
}

/** The pairwise part of {@link defaultKernels}. */
export function defaultPairwiseKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels(
    defaultPairwiseProblems().map((problem) => emitPairwise(planPairwise(problem, limits))),
  );
}

/** Built-in functions of the CPU have no text. */
function defaultElementwiseKernels({ kind }: DeviceLimits): NamedKernel[] {
  if (kind === 'cpu') return [];
  const kernels = defaultElementwisePlans().map((plan) => emitCopy(plan, kind));
  return [...kernels, emitCopyPieces(), emitRepeats()].map((kernel) => ({
    name: kernel.name,
    kernel,
  }));
}

function limitKernels(limits: DeviceLimits): NamedKernel[] {
  const kernels =
    limits.kind === 'cuda'
      ? cudaLimitKernels(limits)
      : [...cpuLimitKernels(limits), cpuGaussianSum(limits)];
  return kernels.map(({ kernel }) => ({ name: kernel.name, kernel }));
}
