import { describe, expect, it } from 'vitest';
import {
  evaluateReduction,
  ops,
  parseReduction,
  pm,
  reduction,
  reductionGradient,
  vi,
  vj,
} from '../../index.js';

const [x, y, p, w] = [vi(0, 2), vj(1, 2), pm(2, 1), vj(3, 3)];
const F = ops.mul(p, ops.sqDist(x, y));
const V = ops.mul(ops.sin(x), y);
const ALIASES = { x, y, p, w };

describe('reductions, misuse', () => {
  it.each([
    [
      'an unknown kind',
      () => reduction('Median' as never, F),
      /no reduction "Median".*Use one of Sum/,
    ],
    ['an axis of 2', () => reduction('Sum', F, { axis: 2 as never }), /axis is 2/],
    ['a vector in LogSumExp', () => reduction('LogSumExp', V), /formula has dim 2/],
    ['no weight', () => reduction('SumSoftMaxWeight', F), /needs a weight/],
    ['a weight too many', () => reduction('Sum', F, { weight: w }), /takes no weight/],
    ['no k', () => reduction('KMin', F), /needs k/],
    ['a k too many', () => reduction('Min', F, { k: 2 }), /takes no k/],
    ['k of 0', () => reduction('KMin', F, { k: 0 }), /k is 0/],
    [
      'a gradient of an index',
      () => reductionGradient(reduction('ArgMin', F), x, 1),
      /ArgMin.*derivative is 0/,
    ],
    [
      'a gradient of a variance without its mean',
      () => reductionGradient(reduction('Var', F), x, 1),
      /Var reduction: it needs the result 'mean'.*vi\(position, 1\)/,
    ],
    [
      'a gradient of a mean without a count',
      () => reductionGradient(reduction('Mean', F), x, 1),
      /Mean reduction: it needs the result 'count'/,
    ],
    [
      'a gradient of a shift',
      () => reductionGradient(reduction('MaxSumShiftExp', F), x, 1),
      /MaxSumShiftExp.*a sum that depends on it/,
    ],
    [
      'no saved result',
      () => reductionGradient(reduction('LogSumExp', F), x, 1),
      /needs the result 'value'.*vi\(position, 1\)/,
    ],
    [
      'a saved result of another dim',
      () => reductionGradient(reduction('Min', F), x, 1, { index: vi(5, 2) }),
      /'index' has dim 2/,
    ],
    [
      'a broken row',
      () =>
        evaluateReduction(reduction('Sum', F), [[1, 2, 3], [1, 2], [1]], { rowsI: 1, rowsJ: 1 }),
      /input 0 has dim 2 and got 3 numbers/,
    ],
    [
      'missing rows',
      () => evaluateReduction(reduction('Sum', F), [[1, 2], [1, 2], [1]], { rowsI: 2, rowsJ: 1 }),
      /1 row\(s\) and row 1 is wanted/,
    ],
  ] as const)('refuses %s', (_, call, message) => {
    expect(call).toThrow(message);
  });

  it.each([
    ['SqDist(x, y)', /found "SqDist", expected a reduction/],
    ['Sum_Reduction(x)', /expected ',' before the tag/],
    ['Sum_Reduction(x, 2)', /expected the tag 0 \(reduce over j\) or 1/],
    ['Som_Reduction(x, 0)', /Did you mean "Sum_Reduction"/],
    ['KMin_Reduction(F, 0)', /name "F" is not defined/],
    ['KMin_Reduction(x, 0)', /expected ',' before the tag/],
    ['Sum_Reduction(x, 0) + 1', /expected an operator or the end/],
    ['LogSumExp_Reduction(x, 0)', /formula has dim 2.*position 0/],
    ['Grad(Sum_Reduction(x, 0), p, x)', /takes an input of i or j here/],
    ['Diff_WithSavedForward(Sum_Reduction(x, 0), x, x)', /expected ',' before the result/],
    [
      'Grad_WithSavedForward(SumSoftMaxWeight_Reduction(Sum(x), 0, y), x, 1, Vi(3, 2))',
      /needs several results.*reductionGradient/,
    ],
  ])('%s says what it expected', (text, message) => {
    expect(() => parseReduction(text, ALIASES)).toThrow(message);
  });
});
