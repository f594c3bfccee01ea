import type { RealExpr } from '@mercer/formula';
import { emitMap } from '../elementwise/emit.js';
import { planOne } from '../elementwise/one-result.test-support.js';
import type { PairwiseDType } from '../dtype.js';
import { runInterpreted } from '../testing/cpu-program.test-support.js';
import type { CpuLevel } from './cpu-vector.js';

/** What the expressions of a and b give at pairs of values on the interpreter: one row for each expression. */
export function runInterpretedExpressions(
  exprs: readonly RealExpr[],
  on: {
    readonly level: CpuLevel;
    readonly dtype: PairwiseDType;
    readonly scalars: Readonly<Record<string, number>>;
  },
  { x, y }: { readonly x: readonly number[]; readonly y: readonly number[] },
): Float32Array | Float64Array {
  const { level, dtype, scalars: parameters } = on;
  const count = x.length;
  const Values = dtype === 'float32' ? Float32Array : Float64Array;
  const [a, b] = [new Values(x), new Values(y)];
  const results = new Values(exprs.length * count);
  const operand = (name: string) => ({ name, dtype, strides: [1] });
  exprs.forEach((expr, i) => {
    const { plan, scalars, inputs } = planOne(
      {
        expr,
        shape: [count],
        inputs: [operand('a'), operand('b')],
        out: { dtype, strides: [1] },
        parameters,
      },
      { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 },
    );
    const out = new Values(count);
    const pointers = Object.fromEntries(
      inputs.map(({ index }, k) => [`x${k}`, index === 0 ? a : b]),
    );
    runInterpreted(emitMap(plan), level, { scalars, pointers: { ...pointers, out } });
    results.set(out, i * count);
  });
  return results;
}
