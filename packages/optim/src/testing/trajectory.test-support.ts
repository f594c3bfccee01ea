import { tensor, type Device, type DType, type Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import type { Optimiser } from '../optimiser.js';

/** Two parameters of different shapes, a 0-d and an empty one. */
export const SHAPES = { layers: [{ weight: [3, 4], bias: [4] }], scale: [], none: [0, 2] } as const;
export const NAMES = ['layers[0].weight', 'layers[0].bias', 'scale', 'none'] as const;
export const SIZES = [12, 4, 1, 0] as const;

export const STEPS = 20;

/** Numbers that are never 0 and of different sizes. */
const wave = (k: number): number => Math.sin(1.7 * k + 0.3) + 0.25 * Math.cos(0.37 * k * k);

export const initial = (): number[][] =>
  SIZES.map((size, s) => Array.from({ length: size }, (_, i) => wave(3 * i + 17 * s)));

/** The gradient of a function with a minimum, which is not the same in all directions: a sum of cosh, and a term of the step that is noise. */
export const gradientAt = (params: readonly number[][], step: number): number[][] =>
  params.map((one, s) =>
    one.map((x, i) => (1 + ((i + s) % 3)) * Math.sinh(x) + 0.1 * wave(step * 31 + i + 5 * s)),
  );

/** Parameters with their values, as a tree of {@link SHAPES}. */
export async function treeOf(
  values: readonly number[][],
  device: Device | 'cpu',
  dtype: DType,
): Promise<{ layers: { weight: Tensor; bias: Tensor }[]; scale: Tensor; none: Tensor }> {
  const make = (at: number, shape: readonly number[]) =>
    tensor(Float64Array.from(values[at] ?? []), { shape: [...shape], dtype, device });
  return {
    layers: [{ weight: await make(0, [3, 4]), bias: await make(1, [4]) }],
    scale: await make(2, []),
    none: await make(3, [0, 2]),
  };
}

type TestTree = Awaited<ReturnType<typeof treeOf>>;

export const valuesOf = async ({ layers, scale, none }: TestTree): Promise<number[][]> =>
  Promise.all(
    [layers[0]?.weight, layers[0]?.bias, scale, none].map(async (one) =>
      Array.from((await one?.toTypedArray()) as Float64Array, Number),
    ),
  );

export function disposeTree({ layers, scale, none }: TestTree): void {
  for (const one of [layers[0]?.weight, layers[0]?.bias, scale, none]) one?.dispose();
}

/** What a reference does to all parameters in a step. */
export type Reference = (params: number[][], grads: readonly number[][], t: number) => void;

/** Steps an optimiser and a reference from the same place, each with gradients at the reference's parameters. */
export async function compare(
  optimiser: Optimiser,
  reference: Reference,
  {
    device = 'cpu',
    dtype,
    within,
    steps = STEPS,
    gradients = gradientAt,
  }: {
    readonly device?: Device | 'cpu';
    readonly dtype: DType;
    readonly within: number;
    readonly steps?: number;
    readonly gradients?: typeof gradientAt;
  },
): Promise<void> {
  const wanted = initial();
  const params = await treeOf(wanted, device, dtype);
  using state = await optimiser.init(params);
  for (let t = 1; t <= steps; t++) {
    const at = gradients(wanted, t);
    const grads = await treeOf(at, device, dtype);
    const { skipped } = await optimiser.step(params, grads, state);
    expect(await skipped.item()).toBe(0);
    skipped.dispose();
    disposeTree(grads);
    reference(wanted, at, t);
    const found = await valuesOf(params);
    for (const [s, one] of wanted.entries()) {
      for (const [i, x] of one.entries()) {
        const error = Math.abs((found[s]?.[i] ?? NaN) - x);
        if (error <= within * Math.max(1, Math.abs(x))) continue;
        expect.fail(`step ${t}, ${NAMES[s]}[${i}]: ${found[s]?.[i]} for ${x}`);
      }
    }
  }
  expect(await state.tensors.get('count')?.item()).toBe(steps);
  expect(state.step).toBe(steps);
  disposeTree(params);
}
