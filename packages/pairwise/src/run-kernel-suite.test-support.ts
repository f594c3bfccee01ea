import { type Device, planOf, tensor, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import {
  kernelDescriptor,
  kernels,
  runKernel,
  type AnyRunKernelOptions,
  type KernelDescriptor,
  type PairwiseDType,
  type ParameterValue,
} from './index.js';
import type { ParameterName } from './kernel-parameters.js';
import { matrix, ORDERS, upload, uploadBatch } from './matrices.test-support.js';
import { expectKernel, expectOracle, kernelOracle } from './run-kernel-checks.test-support.js';
import { describeConventions } from './run-kernel-conventions.test-support.js';
import { describeKernelBadInput } from './run-kernel-bad-input.test-support.js';
import { describeKernelOperands } from './run-kernel-operands.test-support.js';
import { describePreparedKernel } from './run-kernel-prepared.test-support.js';
import {
  combinations,
  covering,
  coveringArray,
  everyRow,
  together,
} from './together.test-support.js';

const EXPONENTS = [0.5, 1, 1.3, 1.5, 2, 3, 7.5, Infinity];
const DTYPES = ['float32', 'float64'] as const;

/** Every kernel with three values of its parameters, which float32 holds exactly. */
const KERNELS: readonly (readonly [
  name: string,
  descriptor: KernelDescriptor,
  parameters: Readonly<Partial<Record<ParameterName, readonly number[]>>>,
])[] = [
  ['manhattan', kernels.manhattan, {}],
  ['euclidean', kernels.euclidean, {}],
  ['dot', kernels.dot, {}],
  ['cosine', kernels.cosine, {}],
  ['minkowski', kernels.minkowski, { p: [1.25, 2.5, 0.75] }],
  ['laplace', kernels.laplace, { bandwidth: [8, 3.5, 20] }],
  ['exponential', kernels.exponential, { bandwidth: [2, 0.75, 5] }],
  ['gaussian', kernels.gaussian, { bandwidth: [2, 1.25, 4] }],
  ['matern12', kernels.matern12, { bandwidth: [2, 0.75, 5] }],
  ['matern32', kernels.matern32, { bandwidth: [2, 0.75, 5] }],
  ['matern52', kernels.matern52, { bandwidth: [2, 0.75, 5] }],
  ['cauchy', kernels.cauchy, { bandwidth: [2, 0.75, 5] }],
  ['inverseMultiquadric', kernels.inverseMultiquadric, { bandwidth: [2, 0.75, 5] }],
  [
    'rationalQuadratic',
    kernels.rationalQuadratic,
    { bandwidth: [2, 0.75, 5], alpha: [0.5, 1.75, 6] },
  ],
  [
    'polynomial',
    kernels.polynomial,
    { gamma: [0.25, -0.5, 1], offset: [1, 0, -2], degree: [3, 2, 5] },
  ],
  ['sigmoid', kernels.sigmoid, { gamma: [0.125, -0.25, 0.5], offset: [0.5, 0, -1] }],
];

/** What `runKernel` promises, for one device. `full`: every kernel in both dtypes, else they take turns. */
export function describeRunKernel(
  device: () => Device,
  { full }: { readonly full: boolean },
): void {
  describe('norms', () => {
    const levels = [2, 2, 2, EXPONENTS.length, 2, 2];
    const cases = full ? everyRow(levels) : coveringArray(levels);

    it(
      'hold the bound for every layout, exponent, alignment and dtype',
      { timeout: 600_000 },
      async () => {
        expect(cases.length).toBeGreaterThanOrEqual(2 * EXPONENTS.length);
        const [a, b] = [matrix(12, 20, 3), matrix(16, 20, 4)];
        const oracles = combinations(DTYPES, EXPONENTS).map(([dtype, p]) => ({
          dtype,
          p,
          oracle: kernelOracle(dtype, kernels.minkowski, a, b, { p }),
        }));
        await together(cases, async ([i = 0, j = 0, l = 0, e = 0, odd = 0, type = 0]) => {
          const found = oracles[type * EXPONENTS.length + e];
          if (found === undefined) throw new Error('an oracle for each data type and exponent');
          const { dtype, p, oracle } = found;
          const place = (x: ReferenceMatrix, order = 0): Promise<Tensor<PairwiseDType>> =>
            upload(x, ORDERS[order] ?? 'row', odd, dtype, device());
          const [x, y] = [await place(a, i), await place(b, j)];
          const blank = { rows: 12, columns: 16, values: new Float64Array(12 * 16) };
          const out = await place(blank, l);
          expect(await runKernel(kernels.minkowski, x, y, { p, out })).toBe(out);
          await expectOracle(out, oracle);
          await runKernel(kernels.minkowski, x, y, { p, out, align: false });
          await expectOracle(out, oracle);
        });
      },
    );

    it.each([
      ['diff', 'none', 'none'],
      ['diff', 'none', 'abs'],
      ['diff', 'none', 'square'],
      ['diff', 'abs', 'sqrt'],
      ['diff', 'square', 'abs'],
      ['diff', 'sqrt', 'none'],
      ['diff', 'pow', 'none'],
      ['dot', 'none', 'square'],
      ['dot', 'abs', 'none'],
      ['dot', 'square', 'sqrt'],
      ['dot', 'none', 'sqrt'],
      ['dot', 'pow', 'pow'],
    ] as const)('%s with inner %s and outer %s', async (innerOperator, innerPower, outerPower) => {
      const fields = { innerOperator, innerPower, outerPower } as const;
      const descriptor: KernelDescriptor = kernelDescriptor({ ...fields, kernel: 'none' });
      const [a, b] = [matrix(9, 7, 5), matrix(12, 7, 6)];
      const x = await upload(a, 'row', 0, 'float64', device());
      const y = await upload(b, 'row', 0, 'float64', device());
      const exponents = [
        ...(innerPower === 'pow' ? (['innerP'] as const) : []),
        ...(outerPower === 'pow' ? (['outerP'] as const) : []),
      ];
      const values = Object.fromEntries(exponents.map((name, i) => [name, 1.75 - i]));
      const result = await runKernel(descriptor, x, y, values);
      expect(planOf(result)?.summary).toMatch(/\w/);
      await expectKernel(result, descriptor, a, b, values);
    });

    it('applies laplace and gaussian to d as it stands', async () => {
      const [a, b] = [matrix(9, 7, 5), matrix(12, 7, 6)];
      const x = await upload(a, 'row', 0, 'float32', device());
      const y = await upload(b, 'row', 0, 'float32', device());
      for (const [innerOperator, innerPower, outerPower, kernel] of [
        ['diff', 'square', 'sqrt', 'gaussian'],
        ['dot', 'abs', 'none', 'laplace'],
      ] as const) {
        const descriptor = kernelDescriptor({ innerOperator, innerPower, outerPower, kernel });
        const result = await runKernel(descriptor, x, y, { bandwidth: 3 });
        await expectKernel(result, descriptor, a, b, { bandwidth: 3 });
      }
    });
  });

  describe.each([
    ['float32', 0],
    ['float64', 1],
  ] as const)('kernels in %s', (dtype, turn) => {
    const parts = [0, 1, 2].map((i) => matrix(9, 6, 20 + i));
    const others = matrix(12, 6, 30);

    it.each(covering(KERNELS, turn, full))(
      '%s with numbers and with tensors',
      async (_, descriptor, values) => {
        const place = (x: number[], shape?: number[]): Promise<Tensor<PairwiseDType>> =>
          tensor(x, { shape: shape ?? [x.length], dtype, device: device() });
        const x = await uploadBatch(parts, dtype, device());
        const y = await upload(others, 'row', 0, dtype, device());
        const names = Object.keys(values) as (keyof typeof values)[];
        const entry = (l: number): Partial<Record<ParameterName, number>> =>
          Object.fromEntries(names.map((name) => [name, values[name]?.[l]]));
        const options = (
          pick: (all: readonly number[]) => ParameterValue | Promise<ParameterValue>,
        ): Promise<AnyRunKernelOptions> => settled(names, (name) => pick(values[name] ?? []));

        const numbers = async (): Promise<void> => {
          const result = await runKernel(descriptor, x, y, entry(0));
          for (const [l, part] of parts.entries()) {
            await expectKernel(result.slice(l), descriptor, part, others, entry(0));
          }
        };
        // One value in memory, whatever its rank.
        const oneValue = (shape: number[]) => async (): Promise<void> => {
          const given = await options((all) => place(all.slice(0, 1), shape));
          const single = await runKernel(descriptor, x, y, given);
          expect(single.shape).toEqual([3, 9, 12]);
          await expectKernel(single.slice(1), descriptor, parts[1] ?? others, others, entry(0));
        };
        // One value per batch entry, of the data or of the parameters alone.
        const oneForEach = async (): Promise<void> => {
          const given = await options((all) => place([...all]));
          const each = await runKernel(descriptor, x, y, given);
          const spread = await runKernel(descriptor, x.slice(0), y, given);
          expect(spread.shape).toEqual([3, 9, 12]);
          for (const [l, part] of parts.entries()) {
            await expectKernel(each.slice(l), descriptor, part, others, entry(l));
            await expectKernel(spread.slice(l), descriptor, parts[0] ?? part, others, entry(l));
          }
        };
        const withTensors = [[], [1], [1, 1]].map(oneValue).concat(oneForEach);
        await together(names.length === 0 ? [numbers] : [numbers, ...withTensors], (check) =>
          check(),
        );
      },
    );

    it('a parameter of stride 0, of stride 2, and of one batch axis of two', async () => {
      const x = await uploadBatch(parts, dtype, device());
      const pair = x.reshape([3, 1, 9, 6]).broadcastTo([3, 2, 9, 6]);
      const wide = await tensor([2, 9, 1.25, 9, 4, 9], { dtype, device: device() });
      const spaced = wide.slice([null, null, 2]);
      const each = await runKernel(kernels.gaussian, x, { bandwidth: spaced });
      const tall = spaced.reshape([3, 1]);
      const both = await runKernel(kernels.gaussian, pair, { bandwidth: tall });
      for (const [l, bandwidth] of [2, 1.25, 4].entries()) {
        const part = parts[l] ?? others;
        await expectKernel(each.slice(l), kernels.gaussian, part, part, { bandwidth });
        await expectKernel(both.slice(l, 1), kernels.gaussian, part, part, { bandwidth });
      }
      const same = spaced.slice([0, 1]).broadcastTo([3]);
      const level = await runKernel(kernels.gaussian, x, { bandwidth: same });
      await expectKernel(level.slice(2), kernels.gaussian, parts[2] ?? others, parts[2] ?? others, {
        bandwidth: 2,
      });
    });
  });

  describeConventions(device, { full });
  describeKernelOperands(device);
  describePreparedKernel(device);
  describeKernelBadInput(device);
}

async function settled<N extends string>(
  names: readonly N[],
  value: (name: N) => ParameterValue | Promise<ParameterValue>,
): Promise<AnyRunKernelOptions> {
  const entries: [string, ParameterValue][] = [];
  for (const name of names) entries.push([name, await value(name)]);
  return Object.fromEntries(entries);
}
