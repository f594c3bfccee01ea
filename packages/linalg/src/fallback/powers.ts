import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { failed, input, NOT_FINITE, option, type ElementRoutine } from './element.js';
import { allFinite, symmetric } from './parts.js';

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
