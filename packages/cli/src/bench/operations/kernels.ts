import { full, kernels, runKernel } from '@mercer/core';
import type { KernelCell } from '../cells.js';
import { oneResult } from './operation.js';
import { pairwiseOperation } from './pairwise.js';

/** Where exp(-1) to exp(-2) comes out for normal data, whatever K is. */
const ofOneNorm = ({ k }: KernelCell): { bandwidth: number } => ({ bandwidth: k });
const ofTwoNorm = ({ k }: KernelCell): { bandwidth: number } => ({ bandwidth: Math.sqrt(k) });

/** Distances below it count as 0, in Kermac as here. */
const EPSILON = 1e-5;
const clamped = (distance: number): number => (distance < EPSILON ? 0 : distance);

/** `exp(-|x - y|_1 / bandwidth)` */
export const laplaceOperation = pairwiseOperation({
  text: 'exp(-d / h) of the 1-norm, h = K',
  parameters: ofOneNorm,
  prepare: async (cell, a, b) => {
    const call = await runKernel.prepare(kernels.laplace, a, b, ofOneNorm(cell));
    return oneResult(call.plan.summary, (options) => call(a, b, options));
  },
  finish: (distance, cell) => Math.exp(-clamped(distance) / ofOneNorm(cell).bandwidth),
});

/** `exp(-|x - y|_2 / bandwidth)` */
export const exponentialOperation = pairwiseOperation({
  text: 'exp(-d / h) of the 2-norm, h = sqrt(K)',
  parameters: ofTwoNorm,
  prepare: async (cell, a, b) => {
    const call = await runKernel.prepare(kernels.exponential, a, b, ofTwoNorm(cell));
    return oneResult(call.plan.summary, (options) => call(a, b, options));
  },
  finish: (distance, cell) => Math.exp(-clamped(distance) / ofTwoNorm(cell).bandwidth),
});

/** `exp(-|x - y|_2^2 / (2 bandwidth^2))` */
export const gaussianOperation = pairwiseOperation({
  text: 'exp(-d^2 / (2 h^2)) of the 2-norm, h = sqrt(K)',
  parameters: ofTwoNorm,
  prepare: async (cell, a, b) => {
    const call = await runKernel.prepare(kernels.gaussian, a, b, ofTwoNorm(cell));
    return oneResult(call.plan.summary, (options) => call(a, b, options));
  },
  finish: (distance, cell) =>
    Math.exp(-clamped(distance * distance) / (2 * ofTwoNorm(cell).bandwidth ** 2)),
});

/** The p-norm with one p for each batch entry, read from device memory. */
export const minkowskiOperation = pairwiseOperation({
  text: 'p-norm distances, p a tensor in device memory with one value for each batch entry',
  prepare: async ({ batch, p, dtype }, a, b) => {
    const exponents = await full([batch], p, { dtype, device: a.device });
    const call = await runKernel.prepare(kernels.minkowski, a, b, { p: exponents });
    return {
      ...oneResult(call.plan.summary, (options) => call(a, b, options)),
      dispose: () => {
        exponents.dispose();
      },
    };
  },
});
