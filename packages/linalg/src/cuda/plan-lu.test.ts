import { describe, expect, it } from 'vitest';
import type { MatrixOperand } from '../operand.js';
import { factored, planLU, type LuProblem } from './plan-lu.js';

const plan = (change: Partial<LuProblem>) =>
  planLU({ dtype: 'float32', n: 8192, columns: 16, use: 'solution', ...change });

describe('the plan of LU factors', () => {
  it.each([
    ['float32', 'solution', false],
    ['float64', 'solution', true],
    ['float32', 'factor', false],
    ['float64', 'factor', false],
  ] as const)('of %s for a %s: the transpose is factored: %s', (dtype, use, transposed) => {
    expect(plan({ dtype, use })).toEqual({ pivots: 'int32', transposed, exchange: 'library' });
  });

  it.each([
    [{ n: 46340 }, 'int32'],
    [{ n: 46341 }, 'int64'],
    [{ n: 8192, columns: 2 ** 18 - 1 }, 'int32'],
    [{ n: 8192, columns: 2 ** 18 }, 'int64'],
    [{ n: 0, columns: 0 }, 'int32'],
  ] as const)('of %o has %s pivots: int32 count less than 2^31 elements', (change, pivots) => {
    expect(plan(change).pivots).toBe(pivots);
  });

  it.each([
    [{ count: 1 }, 'kernel'],
    [{ count: 1, n: 2047 }, 'library'],
    [{ count: 1, n: 2048 }, 'kernel'],
    [{ count: 1, n: 12_288 }, 'kernel'],
    [{ count: 1, n: 12_289 }, 'library'],
    [{ count: 2 }, 'library'],
    [{ count: 1, dtype: 'float64' }, 'library'],
    [{ count: 1, columns: 2 ** 18 }, 'library'],
    [{}, 'library'],
  ] as const)(
    'of %o exchanges rows by the %s: of one large matrix in float32',
    (change, exchange) => {
      expect(plan(change).exchange).toBe(exchange);
    },
  );

  it('turns the matrix exactly where the solve turns it back', () => {
    const a = { rows: 3, columns: 3, rowStride: 3, columnStride: 1 } as MatrixOperand;
    expect(factored(a, undefined)).toBe(a);
    expect(factored(a, plan({}))).toBe(a);
    const turned = factored(a, plan({ dtype: 'float64' }));
    expect(turned).toMatchObject({ rowStride: 1, columnStride: 3 });
  });
});
