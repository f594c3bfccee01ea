import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { failed, input, NOT_FINITE, option, type ElementRoutine } from './element.js';
import { allFinite, build, symmetric } from './parts.js';

const NO_CONVERGENCE = -2;
const MOST_STEPS = 100;
const ACCEPTED = 0.1;

export const eigenPower: ElementRoutine = (call) => {
  const a = symmetric(input(call, 'a'), option(call, 'upper') !== 0);
  if (!allFinite(a)) return failed(NOT_FINITE, { errors: NaN });
  const power = option(call, 'power');
  const ridge = option(call, 'ridge');
  const unit = a.rows * option(call, 'epsilon');
  const { realEigenvalues, eigenvectorMatrix: v } = new EigenvalueDecomposition(a, {
    assumeSymmetric: true,
  });
  const rounding = Math.max(0, ...realEigenvalues.map(Math.abs)) * unit;
  const values = realEigenvalues.map((value) => Math.max(value, 0) + ridge);
  const without = realEigenvalues.filter(
    (value, i) => value < -rounding || (values[i] === 0 && power < 0),
  ).length;
  if (without > 0) return failed(without, { errors: NaN });
  const raised = values.map((value) => (power === 0 ? 1 : value ** power));
  const largest = Math.max(0, ...raised);
  const steepest = Math.max(
    0,
    ...values.map((value, i) => (value > 0 ? (Math.abs(power) * raised[i]!) / value : 0)),
  );
  const errors = largest === 0 ? 0 : (rounding * steepest) / largest + unit;
  const result = v.mmul(Matrix.diag(raised)).mmul(v.transpose());
  return { matrices: { result }, vectors: { infos: 0, errors } };
};

export const inverseRoot: ElementRoutine = (call) => {
  const half = symmetric(input(call, 'a'), option(call, 'upper') !== 0);
  if (!allFinite(half)) return failed(NOT_FINITE, { errors: NaN });
  const root = option(call, 'root');
  const eye = Matrix.eye(half.rows);
  const a = Matrix.add(half, Matrix.mul(eye, option(call, 'ridge')));
  const norm = a.norm('frobenius');
  const z = norm > 0 ? (1 + root) / (2 * norm) : 1;
  let m = Matrix.mul(a, z);
  let x = Matrix.mul(eye, z ** (1 / root));
  let best = x;
  let errors = Infinity;
  for (let steps = 0; steps < MOST_STEPS; steps++) {
    const off = distance(m);
    const better = off < errors;
    if (better) {
      errors = off;
      best = x;
    }
    if (!Number.isFinite(off) || off === 0 || (!better && errors < 0.5)) break;
    const t = Matrix.sub(Matrix.mul(eye, root + 1), m).div(root);
    x = x.mmul(t);
    for (let i = 0; i < root; i++) m = t.mmul(m);
  }
  if (!(errors < ACCEPTED)) return failed(NO_CONVERGENCE, { errors });
  return { matrices: { result: best }, vectors: { infos: 0, errors } };
};

/** The largest magnitude in m - I; NaN where there is one. */
function distance(m: Matrix): number {
  const off = build(m.rows, m.columns, (i, j) => Math.abs(m.get(i, j) - (i === j ? 1 : 0)));
  return Math.max(0, ...off.to2DArray().map((row) => Math.max(...row)));
}
