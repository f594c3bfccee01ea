import { call, constant, gt, neg, select, variable } from '@mercer/formula';
import { expect, test } from 'vitest';
import { fromList, toList } from '../map-reduce/expression-list.js';
import { fromJson, toJson } from './expression-json.js';
import { normExpressions } from './norm-expressions.js';

test.each([1, 1.5, 2, 3, Infinity, 'runtime'] as const)('p = %s comes back the same node', (p) => {
  const { inner, outer } = normExpressions(p);
  for (const expr of [inner, outer]) {
    const json = JSON.parse(JSON.stringify(toJson(expr))) as ReturnType<typeof toJson>;
    expect(fromJson(json)).toBe(expr);
  }
});

test('numbers that JSON does not have', () => {
  for (const value of [Infinity, -Infinity, Number.NaN, -0]) {
    expect(JSON.stringify(toJson(constant(value)))).toBe(
      `["const","${Object.is(value, -0) ? '-0' : String(value)}"]`,
    );
    expect(fromJson(toJson(constant(value)))).toBe(constant(value));
  }
});

test('booleans and nesting', () => {
  const x = variable('x');
  const expr = select(gt(x, 0), x, neg(x));
  expect(toJson(expr)).toEqual(['select', ['gt', 'x', 0], 'x', ['neg', 'x']]);
  expect(fromJson(toJson(expr))).toBe(expr);
});

test('functions with and without fixed numbers', () => {
  const x = variable('x');
  const expr = call('atan2', [call('besselK', [x], [0.7]), call('sin', [x])]);
  expect(toJson(expr)).toEqual([
    'call',
    'atan2',
    ['call', 'besselK', 0.7, 'x'],
    ['call', 'sin', 'x'],
  ]);
  expect(fromJson(toJson(expr))).toBe(expr);
  expect(
    fromList(JSON.parse(JSON.stringify(toList([expr, x]))) as ReturnType<typeof toList>),
  ).toEqual([expr, x]);
});

test('an unknown operation is refused by the language', () => {
  expect(() => fromJson(['system', 'x'])).toThrow('not an operation');
});
