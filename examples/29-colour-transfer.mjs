// 29. Colours by optimal transport: a meadow at noon gets the colours of the sea at dusk, and the other way round. The pixels of each
//     picture are points of the cube of colours. Potentials f and g of the smoothed transport between the two clouds come from
//     log-sum-exps at a falling temperature (example 28). A pixel's new colour is the mean of those where its share goes:
//     `sumSoftMaxWeight`, a softmax over the pixels of the other picture times their colours. No matrix of pixels x pixels is stored.
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { lazyI, lazyJ, param, tensor, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

const [WIDTH, HEIGHT] = whole ? [480, 320] : [60, 40];
const N = WIDTH * HEIGHT;

// Both pictures are painted here: a colour for each place, u to the right and v upwards.
const mix = (a = [0], b = [0], share = 0) => {
  const t = Math.min(1, Math.max(0, share));
  return a.map((one, k) => one + t * ((b[k] ?? 0) - one));
};
const waves = (u = 0, v = 0) =>
  Math.sin(23 * u + 9 * Math.sin(31 * v)) * Math.sin(57 * v + 5 * Math.sin(19 * u));
function meadow(u = 0, v = 0) {
  const cloud =
    Math.sin(9 * u + 3 * v) + Math.sin(17 * u - 21 * v) + Math.sin(41 * v + 6 * u) - 0.6;
  const sky = mix(
    mix([0.86, 0.93, 1], [0.25, 0.52, 0.9], (v - 0.4) / 0.6),
    [1, 1, 1],
    v > 0.6 ? cloud : 0,
  );
  const hill = 0.5 + 0.08 * Math.sin(7 * u + 1) + 0.03 * Math.sin(17 * u);
  const grass = mix([0.2, 0.45, 0.12], [0.62, 0.78, 0.25], 0.5 + v - 0.4 * waves(u, v));
  if (v > hill) return sky;
  return v > 0.36 + 0.1 * Math.sin(4 * u + 3)
    ? mix([0.35, 0.55, 0.5], [0.22, 0.42, 0.35], 6 * (hill - v))
    : grass;
}
function dusk(u = 0, v = 0) {
  const sun = Math.hypot(1.5 * (u - 0.62), v - 0.5);
  const sky = mix(
    mix([0.98, 0.6, 0.25], [0.72, 0.3, 0.4], (v - 0.4) / 0.25),
    [0.18, 0.12, 0.35],
    (v - 0.6) / 0.4,
  );
  if (v > 0.42) return sun < 0.1 ? [1, 0.93, 0.65] : mix([1, 0.75, 0.35], sky, (sun - 0.1) / 0.3);
  const glitter =
    Math.exp(-(((u - 0.62) / (0.06 + 0.3 * (0.42 - v))) ** 2)) * (0.7 + 0.3 * waves(2 * u, 3 * v));
  return mix(
    mix([0.12, 0.12, 0.28], [0.45, 0.25, 0.38], v / 0.42 + 0.12 * waves(u, v)),
    [1, 0.72, 0.35],
    glitter,
  );
}
/** The pixels of a picture, row by row from the lower left corner. */
const paint = (picture = meadow) =>
  Float64Array.from({ length: N }, (_, at) => at).reduce(
    (pixels, at) => {
      pixels.set(
        picture(((at % WIDTH) + 0.5) / WIDTH, (Math.floor(at / WIDTH) + 0.5) / HEIGHT),
        3 * at,
      );
      return pixels;
    },
    new Float32Array(3 * N),
  );

const pictures = { noon: paint(meadow), evening: paint(dusk) };
const x = await tensor(pictures.noon, { shape: [N, 3] });
const { device } = x;
const y = await tensor(pictures.evening, { shape: [N, 3], device });

/** What a softmax over the pixels of `to` takes the exponential of. */
const exponent = (temperature = 1, from = x, to = y, potential = x) =>
  lazyJ(potential)
    .sub(lazyI(from).sqdist(lazyJ(to)).div(2))
    .div(param(temperature));
const softMin = (temperature = 1, from = x, to = y, potential = x) =>
  exponent(temperature, from, to, potential).logSumExp('j').sub(Math.log(N)).mul(-temperature);

// From the diameter of the cube of colours each length is 0.9 of the one before, down to the blur, where there are some steps more.
const BLUR = 0.03;
const falling = Array.from({ length: 38 }, (_, k) => Math.sqrt(3) * 0.9 ** k);
const lengths = [...falling, ...Array.from({ length: 40 }, () => BLUR)];
const last = BLUR ** 2;

const { smoothed, ...recoloured } = await timed(`two pictures of ${N} pixels`, async () => {
  let f = await zeros([N, 1], { dtype: 'float32', device });
  let g = f;
  for (const length of lengths) {
    f = await softMin(length ** 2, x, y, g);
    g = await softMin(length ** 2, y, x, f);
  }
  const noon = await exponent(last, x, y, g).sumSoftMaxWeight(lazyJ(y), 'j');
  const evening = await exponent(last, y, x, f).sumSoftMaxWeight(lazyJ(x), 'j');
  return {
    smoothed: Number(await f.mean().add(g.mean()).item()),
    noon: await noon.toTypedArray(),
    evening: await evening.toTypedArray(),
  };
});

/** Mean and deviation of red, green and blue. */
const tones = (pixels = pictures.noon) =>
  [0, 1, 2].map((k) => {
    const tone = pixels.filter((_, at) => at % 3 === k);
    const mean = tone.reduce((sum, one) => sum + one, 0) / N;
    const squares = tone.reduce((sum, one) => sum + (one - mean) ** 2, 0);
    return { mean, deviation: Math.sqrt(squares / N) };
  });
const shown = (pixels = pictures.noon) =>
  tones(pixels)
    .map(({ mean, deviation }) => `${mean.toFixed(3)} ± ${deviation.toFixed(3)}`)
    .join(', ');
console.log(
  `red, green and blue at noon ${shown(pictures.noon)}; at dusk ${shown(pictures.evening)}`,
);
console.log(
  `the first in the colours of the other ${shown(recoloured.noon)}; back ${shown(recoloured.evening)}`,
);
for (const [changed, wanted] of [
  [recoloured.noon, pictures.evening],
  [recoloured.evening, pictures.noon],
]) {
  const goal = tones(wanted);
  // A mean of colours is a little greyer than they are.
  for (const [k, { mean, deviation }] of tones(changed).entries()) {
    assert.ok(Math.abs(mean - (goal[k]?.mean ?? NaN)) < 0.01);
    assert.ok(Math.abs(deviation - (goal[k]?.deviation ?? NaN)) < 0.03);
  }
}
// By scipy 1.17, linear_sum_assignment of the 2400 pixels: 0.152129 for half the mean squared distance. Smoothing adds a little.
console.log(`the transport costs ${smoothed.toFixed(5)}`);
assert.ok(whole || Math.abs(smoothed - 0.152129) < 0.003);

// Above the two pictures, below each in the colours of the other.
/** A picture at a place, as large as a field of 1.5 x 1. */
const shownAt = (left = 0, bottom = 0, pixels = pictures.noon) =>
  Plot.raster(
    { length: N },
    {
      width: WIDTH,
      height: HEIGHT,
      x1: left,
      x2: left + 1.5,
      y1: bottom,
      y2: bottom + 1,
      fill: (_ = 0, at = 0) =>
        `rgb(${pixels.slice(3 * at, 3 * at + 3).map((one) => Math.round(255 * one))})`,
      imageRendering: 'pixelated',
    },
  );
await savePlot('colour-transfer.svg', {
  axis: null,
  aspectRatio: 1,
  marks: [
    shownAt(0, 1.03, pictures.noon),
    shownAt(1.53, 1.03, pictures.evening),
    shownAt(0, 0, recoloured.noon),
    shownAt(1.53, 0, recoloured.evening),
  ],
});
console.log('wrote colour-transfer.svg');
