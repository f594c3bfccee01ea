// 19. A masked Gaussian sum: sensors estimate a field from stations that they can see. Who sees whom is a stored matrix of 0 and 1 beside
//     a kernel that is never stored: sum_j m_ij exp(-|x_i - y_j|^2 / (2 s^2)) b_j over the same sum without b. The gradient by the
//     mask says what each line of sight is worth.
import assert from 'node:assert/strict';
import { gradient, lazyI, lazyJ, lazyPair, tensor } from '@mercer/core';

let state = 19;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;

const [sensors, stations, width] = [300, 200, 0.3];
const positions = (count = 0) => Float32Array.from({ length: 2 * count }, () => 2 * random() - 1);
const [ofX, ofY] = [positions(sensors), positions(stations)];
const field = (x = 0, y = 0) => Math.sin(2 * x) + y;
const ofB = Float32Array.from({ length: stations }, (_, j) => field(ofY[2 * j], ofY[2 * j + 1]));
// A wall along x = 0: only pairs on the same side of it see each other.
const ofM = Float32Array.from({ length: sensors * stations }, (_, at) => {
  const [i, j] = [Math.floor(at / stations), at % stations];
  return (ofX[2 * i] ?? 0) * (ofY[2 * j] ?? 0) > 0 ? 1 : 0;
});

const x = lazyI(await tensor(ofX, { shape: [sensors, 2] }), { name: 'x' });
const y = lazyJ(await tensor(ofY, { shape: [stations, 2] }), { name: 'y' });
const b = lazyJ(await tensor(ofB, { shape: [stations, 1] }), { name: 'b' });
const m = lazyPair(await tensor(ofM, { shape: [sensors, stations] }), { name: 'm' });
const kernel = x
  .sqdist(y)
  .div(-2 * width ** 2)
  .exp()
  .mul(m);
console.log(String(kernel));
const { sum, mass } = await kernel.reduceMany('j', {
  sum: { kind: 'Sum', of: kernel.mul(b) },
  mass: 'Sum',
});
const [sums, masses] = [await sum.toTypedArray(), await mass.toTypedArray()];

// By hand for every sensor, and the estimate is near the field on its own side of the wall.
let worst = 0;
for (let i = 0; i < sensors; i++) {
  let [wanted, size] = [0, 0];
  for (let j = 0; j < stations; j++) {
    const dx = (ofX[2 * i] ?? 0) - (ofY[2 * j] ?? 0);
    const dy = (ofX[2 * i + 1] ?? 0) - (ofY[2 * j + 1] ?? 0);
    const seen = ofM[i * stations + j] ?? 0;
    const term = seen * Math.exp(-(dx * dx + dy * dy) / (2 * width ** 2)) * (ofB[j] ?? 0);
    [wanted, size] = [wanted + term, size + Math.abs(term)];
  }
  assert.ok(Math.abs((sums[i] ?? NaN) - wanted) <= 1e-5 * Math.max(size, 1e-30), `sensor ${i}`);
  const estimate = (sums[i] ?? NaN) / (masses[i] ?? NaN);
  worst = Math.max(worst, Math.abs(estimate - field(ofX[2 * i], ofX[2 * i + 1])));
}
console.log(`largest error of an estimate ${worst.toFixed(3)}`);
assert.ok(worst < 1.5);

// d sum_i / d m_ij is the kernel times b_j where they meet: a dense matrix, also where the mask is 0 now.
const ones = await tensor(new Float32Array(sensors).fill(1), { shape: [sensors, 1] });
const worth = await gradient(kernel.mul(b).reduction('Sum', 'j'), m, ones);
assert.deepEqual(worth.shape, [sensors, stations]);
const values = await worth.toTypedArray();
for (const [i, j] of [
  [0, 0],
  [17, 151],
  [299, 199],
]) {
  const dx = (ofX[2 * (i ?? 0)] ?? 0) - (ofY[2 * (j ?? 0)] ?? 0);
  const dy = (ofX[2 * (i ?? 0) + 1] ?? 0) - (ofY[2 * (j ?? 0) + 1] ?? 0);
  const wanted = Math.exp(-(dx * dx + dy * dy) / (2 * width ** 2)) * (ofB[j ?? 0] ?? 0);
  assert.ok(Math.abs((values[(i ?? 0) * stations + (j ?? 0)] ?? NaN) - wanted) < 1e-5);
}
