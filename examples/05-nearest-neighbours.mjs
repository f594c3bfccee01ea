// 5. Nearest neighbours. Two noisy spirals; each new point takes the label that most of its seven nearest points carry.
//    (`npx mercer demo digits` does the same with real handwritten digits.)
import { cdist, tensor } from '@mercer/core';

let state = 7;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;

function spirals(count = 0) {
  const labels = Uint8Array.from({ length: count }, (_, i) => i % 2);
  const points = new Float32Array(count * 2);
  for (let i = 0; i < count; i++) {
    const t = 0.5 + 3 * random();
    const angle = 2.2 * t + Math.PI * (i % 2);
    points[2 * i] = t * Math.cos(angle) + 1.6 * (random() - 0.5);
    points[2 * i + 1] = t * Math.sin(angle) + 1.6 * (random() - 0.5);
  }
  return { points, labels };
}

const [known, fresh] = [spirals(1000), spirals(400)];
const a = await tensor(fresh.points, { shape: [400, 2] });
const b = await tensor(known.points, { shape: [1000, 2] });

for (const p of [1, 2, Infinity]) {
  const distances = await (await cdist(a, b, { p })).toTypedArray();
  let right = 0;
  fresh.labels.forEach((label, i) => {
    const row = distances.subarray(1000 * i, 1000 * (i + 1));
    const nearest = [...row.keys()].sort((x, y) => (row[x] ?? 0) - (row[y] ?? 0)).slice(0, 7);
    const ones = nearest.filter((j) => known.labels[j] === 1).length;
    if ((ones > 3 ? 1 : 0) === label) right++;
  });
  console.log(`p = ${p}: ${right} of ${fresh.labels.length} points named right`);
}
