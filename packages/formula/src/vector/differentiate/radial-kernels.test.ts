import { describe, expect, it } from 'vitest';
import {
  diff,
  evaluateVector,
  grad,
  gradMatrix,
  laplacian,
  ops,
  pm,
  vi,
  vj,
  type VectorExpr,
} from '../../index.js';

const [x, y, h] = [vi(0, 3), vj(1, 3), pm(2, 1)];
const s = ops.sqDist(x, y);
const H = 1.7;
const POINT = [0.3, -1.2, 2];
/** Evaluates at coincident points, or at points that differ by `d`. */
const at = (f: VectorExpr, d: readonly number[] = [0, 0, 0]): number[] => [
  ...evaluateVector(f, [POINT.map((p, k) => p + d[k]!), POINT, [H]]),
];
const identity = (scale: number): number[] => [scale, 0, 0, 0, scale, 0, 0, 0, scale];

/** Kernel, value at coincident points and the factor of -I in its Hessian there. */
const KERNELS: readonly (readonly [string, VectorExpr, number, number])[] = [
  ['Gaussian', ops.gaussianKernel(s, h), 1, 1 / H ** 2],
  ['Matérn 3/2', ops.maternKernel(s, 1.5, h), 1, 3 / H ** 2],
  ['Matérn 5/2', ops.maternKernel(s, 2.5, h), 1, 5 / (3 * H ** 2)],
  ['Matérn 7/2', ops.maternKernel(s, 3.5, h), 1, 7 / (5 * H ** 2)],
  // 2 nu / (2 (nu - 1)) / h^2 for any nu > 1
  ['Matérn 1.3', ops.maternKernel(s, 1.3, h), 1, 1.3 / (0.3 * H ** 2)],
  ['rational quadratic', ops.rationalQuadraticKernel(s, 2, h), 1, 1 / H ** 2],
  ['Cauchy', ops.cauchyKernel(s, h), 1, 2 / H ** 2],
  ['multiquadric', ops.multiquadricKernel(s, h), 1, -1 / H ** 2],
  ['inverse multiquadric', ops.inverseMultiquadricKernel(s, h), 1, 1 / H ** 2],
  // (1 - r)^4 (4 r + 1) = 1 - 10 r^2 + ...
  ['Wendland 3, 1', ops.wendlandKernel(s, 3, 1, h), 1, 20 / H ** 2],
  // (1 - r)^6 (35 r^2 + 18 r + 3) / 3 = 1 - 28/3 r^2 + ...
  ['Wendland 3, 2', ops.wendlandKernel(s, 3, 2, h), 1, 56 / (3 * H ** 2)],
  ['r^3', ops.polyharmonicKernel(s, 3), 0, 0],
  ['r^4 log r', ops.polyharmonicKernel(s, 4), 0, 0],
];

describe('radial kernels at coincident points', () => {
  it.each(KERNELS)(
    '%s: value, gradient 0 and the Hessian of the closed form',
    (_, k, value, curvature) => {
      expect(at(k)[0]).toBeCloseTo(value, 12);
      expect(at(grad(k, x)).map((g) => g + 0)).toEqual([0, 0, 0]);
      const hessian = at(gradMatrix(grad(k, x), x));
      const mixed = at(gradMatrix(grad(k, x), y));
      for (const [n, wanted] of identity(-curvature).entries()) {
        expect(hessian[n]).toBeCloseTo(wanted, 10);
        expect(mixed[n]).toBeCloseTo(-wanted, 10);
      }
      expect(at(laplacian(k, x))[0]).toBeCloseTo(-3 * curvature, 10);
      const third = diff(diff(diff(k, x, 1), x, 1), x, 1);
      expect(at(third)[0]! + 0).toBe(0);
    },
  );

  it('are exactly 1 at 0 and never above, for every order', () => {
    const d2 = vi(0, 1);
    const kernels = [
      ...[0.001, 0.3, 0.5, 1, 1.3, 1.5, 2, 2.5, 3.5, 4.2, 7.5, 12, 20.5, 40, 64].map(
        (nu) => [`Matérn ${nu}`, ops.maternKernel(d2, nu, 1.7)] as const,
      ),
      ...[1, 2, 3, 5, 8].flatMap((dimension) =>
        [0, 1, 2, 3].map(
          (k) =>
            [`Wendland ${dimension}, ${k}`, ops.wendlandKernel(d2, dimension, k, 1.7)] as const,
        ),
      ),
    ];
    for (const [name, k] of kernels) {
      const value = (u: number): number => evaluateVector(k, [[u]])[0]!;
      expect(value(0), name).toBe(1);
      for (let u = 1; u > 1e-300; u /= 3)
        expect(value(u), `${name} at ${u}`).toBeLessThanOrEqual(1);
      expect(value(NaN), name).toBeNaN();
    }
  });

  it.each([
    ['exponential', ops.exponentialKernel(s, h), 1],
    ['Matérn 0.3', ops.maternKernel(s, 0.3, h), 1],
    ['exp(-r^1.2)', ops.generalizedExponentialKernel(s, 1.2, h), 1],
    ['r', ops.polyharmonicKernel(s, 1), 0],
    ['thin-plate spline', ops.polyharmonicKernel(s, 2), 0],
    ['Wendland 1, 0', ops.wendlandKernel(s, 1, 0, h), 1],
    ['norm', ops.norm2(ops.sub(x, y)), 0],
  ] as const)(
    '%s: where derivatives do not exist they are 0 by convention, never NaN',
    (_, k, value) => {
      expect(at(k)[0]).toBeCloseTo(value, 12);
      for (const by of [x, y]) expect(at(grad(k, by)).map((g) => g + 0)).toEqual([0, 0, 0]);
      expect(at(gradMatrix(grad(k, x), x)).map((g) => g + 0)).toEqual(identity(0));
      const third = diff(diff(diff(k, x, 1), y, 1), x, 1);
      expect(at(third)[0]! + 0).toBe(0);
    },
  );

  it('are continuous there: nearby derivatives approach the values at 0', () => {
    const d = [1e-5, -2e-5, 1e-5];
    for (const [name, k] of KERNELS) {
      const hessian = gradMatrix(grad(k, x), x);
      const [near, there] = [at(hessian, d), at(hessian)];
      for (const [n, value] of there.entries()) {
        expect(Math.abs(near[n]! - value), name).toBeLessThan(name === 'Matérn 1.3' ? 0.05 : 1e-3);
      }
    }
  });

  it('a chain through the distance would lose the curvature of Matérn 3/2', () => {
    const z = ops.div(ops.mul(Math.sqrt(3), ops.sqrt(s)), h);
    const chained = ops.mul(ops.add(1, z), ops.exp(ops.neg(z)));
    expect(at(laplacian(chained, x))[0]! + 0).not.toBeCloseTo(-9 / H ** 2, 3);
    expect(at(laplacian(ops.maternKernel(s, 1.5, h), x))[0]).toBeCloseTo(-9 / H ** 2, 12);
  });

  it('differentiate by the length scale as well', () => {
    for (const [, k] of KERNELS) expect(at(grad(k, h))[0]! + 0).toBe(0);
    const gauss = grad(ops.gaussianKernel(s, h), h);
    expect(at(gauss, [1, 0, 0])[0]).toBeCloseTo(Math.exp(-1 / (2 * H ** 2)) / H ** 3, 12);
  });
});
