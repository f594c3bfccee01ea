import { kernels, type KernelDescriptor, type PrecompileEntry } from '@mercer/core';

/** Every ready-made descriptor with the calls that it is compiled for, by its name in the library. */
const CALLS: Readonly<Record<string, readonly (KernelDescriptor | PrecompileEntry)[]>> = {
  manhattan: [kernels.manhattan],
  euclidean: [kernels.euclidean],
  minkowski: [
    { descriptor: kernels.minkowski, p: 1.3 }, // any p that is not built from products and square roots
    { descriptor: kernels.minkowski, p: 'tensor' },
  ],
  laplace: [kernels.laplace],
  exponential: [kernels.exponential],
  gaussian: [kernels.gaussian],
  dot: [kernels.dot],
  matern12: [kernels.matern12],
  matern32: [kernels.matern32],
  matern52: [kernels.matern52],
  cauchy: [kernels.cauchy],
  rationalQuadratic: [kernels.rationalQuadratic],
  inverseMultiquadric: [kernels.inverseMultiquadric],
  cosine: [kernels.cosine],
  polynomial: [
    { descriptor: kernels.polynomial, degree: 2 },
    { descriptor: kernels.polynomial, degree: 3 },
  ],
  sigmoid: [kernels.sigmoid],
};

export const DESCRIPTOR_NAMES: readonly string[] = Object.keys(CALLS);

/** What to compile for the named descriptors. */
export function descriptorCalls(
  names: readonly string[],
): readonly (KernelDescriptor | PrecompileEntry)[] {
  return names.flatMap((name) => CALLS[name] ?? []);
}
