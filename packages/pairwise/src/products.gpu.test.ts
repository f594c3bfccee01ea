import { devices, planOf, tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  distanceOracle,
  normalValues,
  type ReferenceMatrix,
} from './cdist-reference.test-support.js';
import { expectOracle } from './cdist-suite.test-support.js';
import { cdist, kernels, runKernel } from './index.js';

const gpus = devices().filter((found) => found.kind === 'cuda');

if (gpus.length === 0) it.skip('distances through products: no device');

/** Rows whose distances are looked at, of many that make the products worth while. */
const [ROWS, LOOKED] = [6000, 96];

/** Values that are drawn from `values`, each a function of its row, its column and a normal number. */
const KINDS = [
  ['normal', (_: number, __: number, z: number) => z],
  ['uniform', (_: number, __: number, z: number) => (z * 1e4) % 1],
  ['normal + 100', (_: number, __: number, z: number) => 100 + z],
  ['1e-4 close', (_: number, l: number, z: number) => Math.sin(l) + 1e-4 * z],
  [
    'around few points',
    (i: number, l: number, z: number) => 2 * Math.sin((i % 5) * 99 + l * l) + z,
  ],
  ['duplicated', (_: number, __: number, z: number) => z],
] as const;

describe.each(gpus)('distances through products on $id', (gpu) => {
  const isHopper = gpu.limits.kind === 'cuda' && gpu.limits.computeCapability[0] === 9;
  const rowsOf = (
    k: number,
    seed: number,
    value: (row: number, column: number, z: number) => number,
    duplicates: boolean,
  ): ReferenceMatrix => {
    const z = normalValues(ROWS * k, seed);
    const from = (row: number): number => (duplicates ? row % 7 : row);
    const values = z.map((_, at) => {
      const [row, column] = [Math.floor(at / k), at % k];
      return Math.fround(value(row, column, z[from(row) * k + column] ?? NaN));
    });
    return { rows: ROWS, columns: k, values };
  };
  const first = ({ columns, values }: ReferenceMatrix): ReferenceMatrix => ({
    rows: LOOKED,
    columns,
    values: values.slice(0, LOOKED * columns),
  });

  for (const k of [300, 1024]) {
    it.each(KINDS)(`%s rows of ${k} hold the published bound`, async (name, of) => {
      const duplicates = name === 'duplicated';
      const a = rowsOf(k, 1, of, duplicates);
      const b = duplicates ? a : rowsOf(k, 2, of, false);
      const put = ({ values }: ReferenceMatrix) =>
        tensor(values, { shape: [ROWS, k], dtype: 'float32', device: gpu });
      using x = await put(a);
      using y = await put(b);
      using d = await cdist(x, y);
      // every host of these tests has cuBLASLt
      if (isHopper) expect(planOf(d)).toMatchObject({ strategy: 'products' });
      using part = await d.slice([0, LOOKED], [0, LOOKED]).contiguous();
      const prepared = await cdist.prepare(x, y);
      using same = prepared(x, y);
      expect(await same.toTypedArray()).toEqual(await d.toTypedArray());
      using few = prepared(x.slice([0, LOOKED]), y.slice([0, LOOKED]));
      await expectOracle(few, distanceOracle(first(a), first(b), 2));
      await expectOracle(part, distanceOracle(first(a), first(b), 2));
      using gauss = await runKernel(kernels.gaussian, x, y, { bandwidth: 10 });
      using some = await gauss.slice([0, LOOKED], [0, LOOKED]).contiguous();
      const got = await some.toTypedArray();
      const { values } = distanceOracle(first(a), first(b), 2);
      for (const [at, distance] of values.entries()) {
        const s = distance ** 2 / 200;
        const bound = 4 + 2 * s + s * (2 * Math.sqrt(k) + 7);
        const error = Math.abs((got[at] ?? NaN) - Math.exp(-s)) / (2 ** -24 * Math.exp(-s));
        // below the normal range it is 0; Kermac's epsilon makes distances below 1e-5 be 0
        if (Math.exp(-s) > 2 ** -126 && distance ** 2 > 1e-4) expect(error).toBeLessThan(bound);
      }
    });
  }

  it('NaN and infinities are where the direct kernel has them', async () => {
    const a = rowsOf(
      300,
      3,
      (i, l, z) => (i === 1 && l === 2 ? NaN : i === 3 ? Infinity : z),
      false,
    );
    const b = rowsOf(300, 4, (i, _, z) => (i === 3 ? Infinity : z), false);
    using x = await tensor(a.values, { shape: [ROWS, 300], dtype: 'float32', device: gpu });
    using y = await tensor(b.values, { shape: [ROWS, 300], dtype: 'float32', device: gpu });
    using d = await cdist(x, y);
    const got = await d.toTypedArray();
    const at = (i: number, j: number): number => got[i * ROWS + j] ?? 0;
    expect([at(1, 0), at(1, 3), at(3, 3)]).toEqual([NaN, NaN, NaN]);
    expect([at(3, 0), at(0, 3), at(3, ROWS - 1)]).toEqual([Infinity, Infinity, Infinity]);
    expect(at(0, 1)).toBeGreaterThan(0);
  });
});
