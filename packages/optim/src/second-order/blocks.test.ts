import { Scope, tensor } from '@mercer/tensor';
import { expect, it } from 'vitest';
import { cutOf, emptyLike, gathered, groupsOf, mergedShape, scattered } from './blocks.js';

it.each([
  [[32, 3, 64, 64], 8192, [96, 4096]],
  [[32, 3, 64, 64], 0, [32, 3, 64, 64]],
  [[10, 20], 1024, [200]],
  [[10, 20], 100, [10, 20]],
  [[1, 5, 1], 0, [5]],
  [[1, 1], 0, [1]],
  [[], 8, [1]],
  [[3, 2000], 1024, [3, 2000]],
])('merges the axes of %j up to %i', (shape, most, wanted) => {
  expect(mergedShape(shape, most)).toEqual(wanted);
});

it('cuts into blocks of at most maxDim, those of one shape together', () => {
  const { classes } = cutOf([5, 4], { maxDim: 2, mergeDim: 0 });
  expect(classes.map(({ sizes, counts }) => [sizes, counts])).toEqual([
    [
      [2, 2],
      [2, 2],
    ],
    [
      [1, 2],
      [1, 2],
    ],
  ]);
  expect(cutOf([0, 2], { maxDim: 2, mergeDim: 0 }).classes).toEqual([]);
});

it('gathers the blocks of all parameters, and puts them back', async () => {
  using scope = new Scope();
  const shapes = [[5, 7], [2, 2], [7], [3, 5, 2], [0, 3], [5, 3]];
  let next = 0;
  const wholes = [];
  for (const shape of shapes) {
    const size = shape.reduce((product, x) => product * x, 1);
    const data = Float64Array.from({ length: size }, () => next++);
    wholes.push(scope.track(await tensor(data, { shape, device: 'cpu' })));
  }
  const cuts = shapes.map((shape) => cutOf(shape, { maxDim: 2, mergeDim: 0 }));
  const groups = groupsOf(wholes, cuts);
  // six blocks of 2 x 2 of the first, one of the second, two of the last
  const square = groups.findIndex(({ sizes }) => String(sizes) === '2,2');
  expect(groups[square]?.count).toBe(9);
  const batches = await gathered(scope, groups, wholes);
  const found = await batches[square]?.toNested<number[][][]>();
  expect(found?.slice(0, 2)).toEqual([
    [
      [0, 1],
      [7, 8],
    ],
    [
      [2, 3],
      [9, 10],
    ],
  ]);
  expect(found?.[6]).toEqual([
    [35, 36],
    [37, 38],
  ]);
  const back = emptyLike(scope, wholes);
  await scattered(scope, groups, batches, back);
  for (const [at, one] of back.entries()) {
    expect(await one.toNested()).toEqual(await wholes[at]?.toNested());
  }
});
