import { random, tensor, type Tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { clusterRanges, fromMatrix, kMeans, lazyI, lazyJ, truncatedRanges } from '../index.js';

const where = { device: 'cpu' } as const;
const points = (...rows: number[][]): Promise<Tensor<'float32'>> => tensor(rows, where);
const labels = (...all: number[]): Promise<Tensor<'int32'>> => tensor(Int32Array.from(all), where);

it('a table of ranges that was written since it was made is checked again', async () => {
  const x = await points([0], [1], [2], [3], [4], [5]);
  const sum = (ranges: Awaited<ReturnType<typeof fromMatrix>>): PromiseLike<Tensor> =>
    lazyI(x).sqdist(lazyJ(x)).sum('j', { ranges });
  const meet = await tensor([[1, 0], [1, 1]], where); // prettier-ignore
  const clusters = { i: [[0, 2], [2, 6]], j: [[0, 3], [3, 6]] } as const; // prettier-ignore
  const ranges = await fromMatrix(clusters.i, clusters.j, meet);
  const wanted = [0, 1, 2, 3, 4, 5].map((i) =>
    (i < 2 ? [0, 1, 2] : [0, 1, 2, 3, 4, 5]).reduce((total, j) => total + (i - j) ** 2, 0),
  );
  expect((await (await sum(ranges)).toNested<number[][]>()).flat()).toEqual(wanted);
  const table = ranges.redrangesJ;
  await table.fill(9n);
  await expect((async () => sum(ranges))()).rejects.toThrow(/9/);
});

it('rows that are put in order are as many as there are', async () => {
  const [x, y] = [await points([0], [1], [2]), await points([0], [1])];
  using near = await truncatedRanges(x, y, { cutoff: 5 });
  const three = await tensor([1, 2, 3], where);
  const two = await tensor([1, 2], where);
  expect(await (await near.sortI(three)).toNested()).toHaveLength(3);
  expect(() => near.sortI(two)).toThrow('there are 3 on that side');
  expect(() => near.sortJ(three)).toThrow('there are 2 on that side');
  expect(() => near.restore(two)).toThrow('restore: the rows are');
});

it('a cutoff whose square is no number is refused, and clusters have at most all rows', async () => {
  const x = await points([0], [1], [2], [3]);
  await expect(truncatedRanges(x, x, { cutoff: 1.9e19 })).rejects.toThrow(
    'its square is no number',
  );
  using near = await truncatedRanges(x, x, { cutoff: 2, clusterSize: 1e10 });
  expect(near.pairs).toBe(16);
});

it('labels below 0 and points that lie nowhere are refused', async () => {
  await expect(clusterRanges(await labels(0, -1, 0, 1))).rejects.toThrow('a label is -1');
  for (const wrong of [NaN, Infinity]) {
    const x = await points([wrong], [1], [2]);
    await expect(kMeans(x, 2, { key: random.key(1) })).rejects.toThrow(
      'kMeans: coordinate 0 of x goes from',
    );
  }
});

it('an asynchronous onProgress that fails rejects the call', async () => {
  const data = { data: new Float32Array(600), shape: [300, 2] };
  const onProgress = (() => Promise.reject(new Error('told'))) as () => never;
  const call = lazyI(data)
    .sqdist(lazyJ(data))
    .sum('j', { ...where, maxBytes: 20_000, onProgress });
  await expect((async () => call)()).rejects.toThrow('told');
});

it('rows that are read are what was asked for', async () => {
  const of = (readRows: (first: number, count: number) => unknown, shape = [3000, 2]) =>
    ({ dtype: 'float32', shape, readRows }) as never;
  const y = await points([1, 2]);
  const sum = (reader: never): PromiseLike<Tensor> =>
    lazyI(y).sqdist(lazyJ(reader)).sum('j', where);
  const few = of((_, count) =>
    Promise.resolve({ data: new Float32Array(count), shape: [count, 1] }),
  );
  await expect((async () => sum(few))()).rejects.toThrow('readRows gave');
  const none = of(() => Promise.resolve(undefined));
  await expect((async () => sum(none))()).rejects.toThrow('readRows gave');
  const batch = of(() => Promise.resolve(undefined), [4, 3, 2]);
  expect(() => lazyJ(batch)).toThrow('without a batch');
});
