// 30. Surface registration by large deformations (LDDMM): a smooth flow of space carries a sphere onto another surface. Particles q with
//     momenta p move by Hamilton's equations; the energy H(p, q) is a sum over pairs of particles, and `grad` of it gives velocities
//     and forces. The momenta at the start decide the whole flow. `valueAndGrad` goes through it to find those whose end fits the goal, so
//     H is differentiated twice. How well two surfaces fit is told by their varifolds, sums over pairs of triangles that need
//     no pairs of vertices (Charon and Trouve 2013).
import assert from 'node:assert/strict';
import { savePlot } from '@mercer/cli/plot';
import { grad, lazyI, lazyJ, take, tensor, valueAndGrad, zeros } from '@mercer/core';
import * as Plot from '@observablehq/plot';
import { timed, whole } from './lib/whole.mjs';

const [SIDE, STEPS, ROUNDS] = whole ? [40, 10, 60] : [5, 5, 12];

/** The unit sphere: the six sides of a cube blown up, each of side x side squares of two triangles. */
function sphere(side = SIDE) {
  const places = Array.from({ length: side + 1 }, (_, k) =>
    Math.tan((Math.PI / 4) * ((2 * k) / side - 1)),
  );
  const vertices = [0, 1, 2].flatMap((axis) =>
    [-1, 1].flatMap((sign) =>
      places.flatMap((a) =>
        places.map((b) => {
          const point = [0, 1, 2].map((k) =>
            k === axis ? sign : k === (axis + 1) % 3 ? a : b * sign,
          );
          return point.map((one) => one / Math.hypot(...point));
        }),
      ),
    ),
  );
  const faces = Array.from({ length: 6 * side ** 2 }, (_, square) => {
    const [part, row, column] = [
      Math.floor(square / side ** 2),
      Math.floor(square / side) % side,
      square % side,
    ];
    const corner = (part * (side + 1) + row) * (side + 1) + column;
    return [
      [corner, corner + side + 1, corner + 1],
      [corner + 1, corner + side + 1, corner + side + 2],
    ];
  }).flat();
  return { vertices, faces };
}

/** A bent pear, on which no vertex lies where one of the sphere belongs. */
const pear = (point = [0]) => {
  const [x = 0, y = 0, z = 0] = point;
  const [turned, across] = [0.8 * x - 0.6 * z, 0.6 * x + 0.8 * z];
  const wide = 1 + 0.4 * across;
  return [wide * turned + 0.4 * across ** 2, 0.8 * wide * y, 1.3 * across];
};

const start = sphere();
const goal = sphere(SIDE + 1);
const rows = (vertices = start.vertices) => Float64Array.from(vertices.flat());
const q0 = await tensor(rows(), { shape: [start.vertices.length, 3] });
const { device } = q0;
const end = await tensor(rows(goal.vertices.map((point) => pear(point))), {
  shape: [goal.vertices.length, 3],
  device,
});
const facesOf = (faces = start.faces) =>
  tensor(Int32Array.from(faces.flat()), { shape: [faces.length, 3], device });
const [startFaces, goalFaces] = [await facesOf(), await facesOf(goal.faces)];

/** The energy of moving particles, half the sum over all pairs of p . p' exp(-2 |q - q'|^2). */
const energy = (p = q0, q = q0) =>
  lazyI(q)
    .sqdist(lazyJ(q))
    .mul(-2)
    .exp()
    .mul(lazyI(p).dot(lazyJ(p)))
    .sum('j')
    .sum()
    .div(2);
const slopes = grad(energy, { argnums: [0, 1] });

/** Where momenta and particles are after a time of 1, by Ralston's method of order 2. */
async function shoot(p = q0, q = q0) {
  const step = 1 / STEPS;
  for (let k = 0; k < STEPS; k++) {
    const [velocity, pull] = await slopes(p, q);
    const [later, laterPull] = await slopes(
      await p.sub(pull.mul((2 / 3) * step)),
      await q.add(velocity.mul((2 / 3) * step)),
    );
    p = await p.sub(pull.add(laterPull.mul(3)).mul(step / 4));
    q = await q.add(velocity.add(later.mul(3)).mul(step / 4));
  }
  return { p, q };
}

/** Middles of triangles, normals as long as the areas, and the areas. */
async function triangles(q = q0, faces = startFaces) {
  const corners = await take(q, faces, 0); // (triangles, 3, 3)
  const [a, b, c] = await Promise.all(
    [0, 1, 2].map((k) => corners.take([k], 1).reshape([faces.shape[0] ?? 0, 3])),
  );
  assert.ok(a && b && c);
  const [u, v] = [await b.sub(a), await c.sub(a)];
  const turned = (of = u, by = 1) =>
    of.take(
      [by, by + 1, by + 2].map((k) => k % 3),
      1,
    );
  const normals = await turned(u, 1)
    .mul(turned(v, 2))
    .sub(turned(u, 2).mul(turned(v, 1)))
    .div(2);
  return {
    middles: await corners.mean(1),
    normals,
    areas: await normals.square().sum(1, { keepDims: true }).sqrt(),
  };
}
const goalTriangles = await triangles(end, goalFaces);

/** The sum over pairs of triangles of area area' exp(-4 |middle - middle'|^2) cos^2 of the angle between them. */
function overlap(one = goalTriangles, other = goalTriangles) {
  const near = lazyI(one.middles).sqdist(lazyJ(other.middles)).mul(-4).exp();
  const cosines = lazyI(one.normals).dot(lazyJ(other.normals)).square();
  return near.mul(cosines).div(lazyI(one.areas)).div(lazyJ(other.areas)).sum('j').sum();
}
const ofGoal = Number(await overlap().item());
/** The squared distance of a surface from the goal, as a share of the goal's. */
async function misfit(q = q0) {
  const surface = await triangles(q, startFaces);
  return overlap(surface, surface)
    .sub((await overlap(surface)).mul(2))
    .add(ofGoal)
    .div(ofGoal);
}
const loss = async (p = q0) =>
  (await misfit((await shoot(p, q0)).q)).add((await energy(p, q0)).mul(1e-4));

const descend = valueAndGrad(loss);

// The loss and the energy of some momenta, beside a transcription to numpy 2.4 with the slopes written out. The flow keeps the energy.
const share = 1 / start.vertices.length;
const factors = await tensor(Float64Array.of(4.32 * share, -2.16 * share, 4.32 * share), {
  device,
});
const some = await q0.take([2, 0, 1], 1).mul(factors);
const shot = await shoot(some, q0);
const before = Number(await energy(some, q0).item());
const after = Number(await energy(shot.p, shot.q).item());
console.log(`energy ${before.toFixed(6)} at the start of a flow, ${after.toFixed(6)} at its end`);
assert.ok(Math.abs(after - before) < 2e-3 * before);
if (!whole) {
  assert.ok(Math.abs(before - 0.66944624957) < 1e-10);
  assert.ok(Math.abs(Number(await (await loss(some)).item()) - 0.61717440048) < 1e-10);
}

/** The sum of products of all elements. */
const inner = async (a = q0, b = q0) => Number(await a.mul(b).sum().item());

// Gradient descent with the steps of Barzilai and Borwein (1988), which say how much the gradient changed over the last one.
const none = await zeros([...q0.shape], { dtype: 'float64', device });
const fitted = await timed(`${ROUNDS} rounds with ${q0.shape[0]} particles`, async () => {
  let momenta = none;
  let last = { momenta, slope: none };
  let rate = 10 * share;
  for (let round = 0; round < ROUNDS; round++) {
    const { grad: slope } = await descend(momenta);
    if (round > 0) {
      const [way, change] = [await momenta.sub(last.momenta), await slope.sub(last.slope)];
      rate = Math.abs((await inner(way, change)) / (await inner(change, change)));
    }
    last = { momenta, slope };
    momenta = await momenta.sub(slope.mul(rate));
  }
  return await shoot(momenta, q0);
});
const first = Number(await (await misfit(q0)).item());
const rest = Number(await (await misfit(fitted.q)).item());
console.log(
  `squared distance from the goal: ${first.toFixed(4)}, after the flow ${rest.toExponential(1)}`,
);
assert.ok(rest < first / 200);

// From left to right: the sphere, the sphere after the flow, the goal. Colours follow the triangles; the goal has none.
const light = [0.48, -0.62, 0.62];
/** The corners of the triangles as they are seen along y, those of the farthest first. */
function seen(points = rows(), { faces } = start, left = 0, isGoal = false) {
  const at = (vertex = 0) => [0, 1, 2].map((k) => points[3 * vertex + k] ?? 0);
  const triangles = faces.map(([i = 0, j = 0, k = 0]) => {
    const [a, b, c] = [at(i), at(j), at(k)];
    const edge = (to = a) => to.map((one, axis) => one - (a[axis] ?? 0));
    const [u, v] = [edge(b), edge(c)];
    const normal = [0, 1, 2].map((axis) => {
      const [y, z] = [(axis + 1) % 3, (axis + 2) % 3];
      return (u[y] ?? 0) * (v[z] ?? 0) - (u[z] ?? 0) * (v[y] ?? 0);
    });
    const bright =
      normal.reduce((sum, one, axis) => sum + one * (light[axis] ?? 0), 0) / Math.hypot(...normal);
    const hue = 160 - 100 * (start.vertices[i]?.[2] ?? 0);
    const colour = `hsl(${hue},${isGoal ? 0 : 55}%,${24 + 40 * Math.max(0, bright)}%)`;
    return { corners: [a, b, c], depth: (a[1] ?? 0) + (b[1] ?? 0) + (c[1] ?? 0), colour };
  });
  return triangles
    .sort((one, other) => other.depth - one.depth)
    .flatMap(({ corners, colour }, k) =>
      corners.map(([x = 0, , z = 0]) => ({ x: x + left, z, triangle: `${left} ${k}`, colour })),
    );
}
const corners = [
  ...seen(rows(), start),
  ...seen(Float64Array.from(await fitted.q.toTypedArray()), start, 2.6),
  ...seen(rows(goal.vertices.map((point) => pear(point))), goal, 5.2, true),
];
await savePlot('surface-registration.svg', {
  axis: null,
  aspectRatio: 1,
  marks: [
    Plot.line(corners, {
      x: 'x',
      y: 'z',
      z: 'triangle',
      curve: 'linear-closed',
      fill: 'colour',
      stroke: 'colour',
      strokeWidth: 0.5,
    }),
  ],
});
console.log('wrote surface-registration.svg');
