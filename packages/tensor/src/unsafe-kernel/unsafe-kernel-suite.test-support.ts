import { DTYPES, isFloating, type DType } from '@mercer/kernels';
import { expect, it, vi } from 'vitest';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { tensor, unsafeKernel, type Device } from '../index.js';
import { CallSteps } from '../operation/call-steps.js';

const BLOCK = 128;

/** Elements one by one: both texts compute `line` for element i. */
export const elementwise = (line: string) => ({
  launch: ({ n }: { readonly n: number }) => ({
    grid: Math.ceil(n / BLOCK),
    block: BLOCK,
    tasks: n,
  }),
  cuda: `
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) ${line}`,
  cpu: `for (i64 i = begin; i < end; ++i) ${line}`,
});

export const axpy = unsafeKernel({
  name: 'axpy',
  parameters: {
    a: { scalar: 'float32' },
    x: { input: 'float32' },
    y: { input: 'float32' },
    z: { output: 'float32' },
    n: { size: 'int64' },
  },
  sizes: ({ x }) => ({ z: x.shape, n: x.size }),
  ...elementwise('z[i] = a * x[i] + y[i];'),
});

/** Sums of rows through shared memory, and the largest of each row. */
export const rowSums = unsafeKernel({
  name: 'row_sums',
  parameters: {
    x: { input: 'float32' },
    sums: { output: 'float64' },
    largest: { output: 'float32' },
    columns: { size: 'int32' },
  },
  sizes: ({ x }) => ({
    sums: x.shape.slice(0, 1),
    largest: x.shape.slice(0, 1),
    columns: x.shape[1] ?? 0,
  }),
  launch: ({ sums }) => ({
    grid: [sums.size, 1],
    block: [32],
    sharedBytes: 32 * 8,
    tasks: sums.size,
  }),
  cuda: {
    helpers: '__device__ float larger(float a, float b) { return a < b ? b : a; }',
    body: `
      extern __shared__ double part[];
      const float* row = x + (i64)blockIdx.x * columns;
      double sum = 0;
      for (int k = threadIdx.x; k < columns; k += blockDim.x) sum += row[k];
      part[threadIdx.x] = sum;
      __syncthreads();
      if (threadIdx.x != 0) return;
      double total = 0;
      float top = row[0];
      for (int t = 0; t < blockDim.x; ++t) total += part[t];
      for (int k = 1; k < columns; ++k) top = larger(top, row[k]);
      sums[blockIdx.x] = total;
      largest[blockIdx.x] = top;`,
  },
  cpu: {
    helpers: '#include <algorithm>',
    body: `
      for (i64 r = begin; r < end; ++r) {
        double sum = 0;
        for (int k = 0; k < columns; ++k) sum += x[r * columns + k];
        sums[r] = sum;
        largest[r] = *std::max_element(x + r * columns, x + (r + 1) * columns);
      }`,
  },
});

/** What doubling an element is in the texts. */
function doubled(dtype: DType): string {
  if (dtype === 'bool') return 'x[i] == 0';
  if (dtype === 'float16' || dtype === 'bfloat16') return `to_${dtype}(2.0f * from_${dtype}(x[i]))`;
  return `2 * x[i]`;
}

/** Kernels of users on a device, against plain loops. */
export function unsafeKernelSuite(where: () => Device): void {
  const place = <D extends DType>(data: readonly unknown[], dtype: D) =>
    tensor(data as number[], { dtype, device: where() });
  const placed = (data: readonly unknown[]) => place(data, 'float32');

  it('takes tensors of all dtypes', { timeout: 120_000 }, async () => {
    const values = Array.from({ length: 300 }, (_, i) => i % 100);
    for (const dtype of DTYPES) {
      const twice = unsafeKernel({
        name: `twice_${dtype}`,
        parameters: { x: { input: dtype }, y: { output: dtype }, n: { size: 'int32' } },
        sizes: ({ x }) => ({ y: x.shape, n: x.size }),
        ...elementwise(`y[i] = ${doubled(dtype)};`),
      });
      using x = await place(dtype === 'bool' ? values.map((v) => v % 2 === 0) : values, dtype);
      using y = await twice({ x });
      expect(y.dtype).toBe(dtype);
      const found = Array.from(await y.toTypedArray(), Number);
      const expected = values.map((v) => (dtype === 'bool' ? v % 2 : 2 * v));
      expect(found, dtype).toEqual(expected);
      expect(isFloating(dtype) || Number.isInteger(found[1]), dtype).toBe(true);
    }
  });

  it('takes scalars of all types by value, in the order of the parameters', async () => {
    const numbers = unsafeKernel({
      name: 'numbers',
      parameters: {
        a: { scalar: 'int32' },
        y: { output: 'float64' },
        b: { scalar: 'float64' },
        c: { scalar: 'float32' },
        d: { scalar: 'int64' },
        e: { size: 'int32' },
      },
      sizes: ({ a }) => ({ y: [5], e: a * a }),
      launch: () => ({ grid: 1, block: 1, tasks: 1 }),
      cuda: 'y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e;',
      cpu: 'y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e;',
    });
    const given = { a: -7, b: 0.1, c: 0.1, d: 2 ** 40 + 1 };
    using y = await numbers(given, { device: where() });
    expect(await y.toNested()).toEqual([-7, 0.1, Math.fround(0.1), 2 ** 40 + 1, 49]);
    expect(await numbers({ ...given, a: 3 }, { device: where(), out: y })).toBe(y);
    expect(await y.toNested()).toEqual([3, 0.1, Math.fround(0.1), 2 ** 40 + 1, 9]);
  });

  it('reads views as they are seen, and gives several outputs', async () => {
    const data = Array.from({ length: 6 }, (_, r) =>
      Array.from({ length: 70 }, (_, c) => r * c - 5),
    );
    using x = await placed(data);
    for (const [view, rows] of [
      [x, data],
      [x.slice(null, [1, null]), data.map((row) => row.slice(1))],
      [x.transpose(), data[0]?.map((_, c) => data.map((row) => row[c] as number)) ?? []],
    ] as const) {
      const { sums, largest } = await rowSums({ x: view });
      expect(await sums.toNested()).toEqual(rows.map((row) => row.reduce((a, b) => a + b, 0)));
      expect(await largest.toNested()).toEqual(rows.map((row) => Math.max(...row)));
      sums.dispose();
      largest.dispose();
    }
  });

  it('takes results that are not there yet, and its own can be used before they are awaited', async () => {
    using x = await placed([1, 2, 3]);
    const z = axpy({ a: 2, x: x.mul(10), y: axpy({ a: 1, x, y: x }) }).add(1);
    expect(await z.toNested()).toEqual([23, 45, 67]);
  });

  it('is prepared for all sizes and scalars, and keeps no memory', async () => {
    using x = await placed([1, 2, 3]);
    using y = await placed([10, 20, 30]);
    const prepared = await axpy.prepare({ a: 1, x, y });
    const kept = await memoryKept(where(), async () => {
      using z = prepared({ a: 2, x, y });
      expect(await z.toNested()).toEqual([12, 24, 36]);
      using other = prepared({ a: -1, x: x.slice([0, 2]), y: y.slice([1, 3]) });
      expect(await other.toNested()).toEqual([19, 28]);
      for (let k = 0; k < 10; k++)
        (await axpy({ a: k, x: x.slice([0, null, 2]), y: y.slice([0, 2]) })).dispose();
    });
    expect(kept).toEqual(NOTHING);
    using out = await placed([0, 0, 0]);
    expect(prepared({ a: 1, x, y }, { out })).toBe(out);
    expect(await out.toNested()).toEqual([11, 22, 33]);
  });

  it('plans nothing anew where only scalars differ, nor sizes and geometry with them', async () => {
    const first = unsafeKernel({
      name: 'first',
      parameters: {
        count: { scalar: 'int32' },
        x: { input: 'float32' },
        z: { output: 'float32' },
        n: { size: 'int64' },
      },
      sizes: ({ x, count }) => ({ z: x.shape, n: Math.min(count, x.size) }),
      ...elementwise('z[i] = 2 * x[i];'),
    });
    using x = await placed([1, 2, 3]);
    using out = await placed([0, 0, 0]);
    const plans = vi.spyOn(CallSteps.prototype, 'addKernel');
    try {
      const found: unknown[] = [];
      for (const count of [1, 0, 3, 9, 2]) {
        await out.fill(0);
        await first({ count, x }, { out });
        found.push(await out.toNested());
      }
      expect(found).toEqual([
        [2, 0, 0],
        [0, 0, 0],
        [2, 4, 6],
        [2, 4, 6],
        [2, 4, 0],
      ]);
      expect(plans).toHaveBeenCalledTimes(1);
      for (let a = 0; a < 5; a++) {
        using z = await axpy({ a, x, y: x });
        expect(await z.toNested()).toEqual([1 + a, 2 + 2 * a, 3 + 3 * a]);
      }
      // once, or before this test
      expect(plans.mock.calls.length).toBeLessThanOrEqual(2);
    } finally {
      plans.mockRestore();
    }
  });

  it('makes results of the shapes that scalars say', async () => {
    const repeated = unsafeKernel({
      name: 'repeated',
      parameters: {
        times: { scalar: 'int32' },
        x: { input: 'float32' },
        z: { output: 'float32' },
        n: { size: 'int64' },
      },
      sizes: ({ x, times }) => ({ z: [times, x.size], n: times * x.size }),
      ...elementwise('z[i] = x[i % (n / times)];'),
    });
    using x = await placed([1, 2]);
    for (const times of [1, 3, 2, 3]) {
      using z = await repeated({ times, x });
      expect(await z.toNested()).toEqual(Array.from({ length: times }, () => [1, 2]));
    }
  });

  it('updates what out holds, and does nothing where there is nothing', async () => {
    const add = unsafeKernel({
      parameters: { x: { input: 'float32' }, sum: { output: 'float32' }, n: { size: 'int32' } },
      sizes: ({ x }) => ({ n: x.size }),
      ...elementwise('sum[i] += x[i];'),
    });
    using x = await placed([1, 2]);
    using sum = await placed([10, 20]);
    await add({ x }, { out: sum });
    await add({ x }, { out: sum });
    expect(await sum.toNested()).toEqual([12, 24]);
    using none = x.slice([0, 0]);
    using z = await axpy({ a: 1, x: none, y: none });
    expect(z.shape).toEqual([0]);
  });
}
