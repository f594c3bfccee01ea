// 1. A first distance. cdist takes two lists of points and gives the matrix of their distances.
//    The kernel for this p is written, compiled and kept on the first call; the next program finds it in the store.
import { cdist, planOf } from '@mercer/core';

const cities = ['Berlin', 'Hamburg', 'Munich'];
const kilometres = [
  [0, 0],
  [-160, 200],
  [-30, -500],
];

for (const p of [1, 2, Infinity]) {
  const distances = await cdist(kilometres, kilometres, { p });
  console.log(`\np = ${p} on ${distances.device.id}: ${planOf(distances)?.summary}`);
  const flat = await distances.toTypedArray(); // row by row
  cities.forEach((city, i) => console.log(city.padEnd(8), ...flat.subarray(3 * i, 3 * i + 3)));
}
