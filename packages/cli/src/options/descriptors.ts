import {
  cauchy,
  cosine,
  dot,
  gaussianL2,
  inverseMultiquadric,
  l1Norm,
  l2Norm,
  laplaceL1,
  laplaceL2,
  matern12,
  matern32,
  matern52,
  pNorm,
  polynomial,
  rationalQuadratic,
  sigmoid,
  type KernelDescriptor,
  type PrecompileEntry,
} from '@mercer/core';

/** Every ready-made descriptor with the calls that it is compiled for, by its name in the library. */
const CALLS: Readonly<Record<string, readonly (KernelDescriptor | PrecompileEntry)[]>> = {
  l1Norm: [l1Norm],
  l2Norm: [l2Norm],
  pNorm: [
    { descriptor: pNorm, p: 1.3 }, // any p that is not built from products and square roots
    { descriptor: pNorm, p: 'tensor' },
  ],
  laplaceL1: [laplaceL1],
  laplaceL2: [laplaceL2],
  gaussianL2: [gaussianL2],
  dot: [dot],
  matern12: [matern12],
  matern32: [matern32],
  matern52: [matern52],
  cauchy: [cauchy],
  rationalQuadratic: [rationalQuadratic],
  inverseMultiquadric: [inverseMultiquadric],
  cosine: [cosine],
  polynomial: [
    { descriptor: polynomial, degree: 2 },
    { descriptor: polynomial, degree: 3 },
  ],
  sigmoid: [sigmoid],
};

export const DESCRIPTOR_NAMES: readonly string[] = Object.keys(CALLS);

/** What to compile for the named descriptors. */
export function descriptorCalls(
  names: readonly string[],
): readonly (KernelDescriptor | PrecompileEntry)[] {
  return names.flatMap((name) => CALLS[name] ?? []);
}
