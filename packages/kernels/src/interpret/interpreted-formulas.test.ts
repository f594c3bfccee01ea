import { describe, expect, it } from 'vitest';
import { emitMap } from '../elementwise/emit-map.js';
import { planMap } from '../elementwise/map-plan.js';
import { ALL, compare, expected, SCALARS } from '../emit/every-op.test.helper.js';
import { runnableLevels } from '../testing/cpu-harness.test.helper.js';
import { runInterpreted } from '../testing/cpu-program.test.helper.js';

describe.each(runnableLevels())('formulas on the interpreter for %s', (level) => {
  it.each(['float32', 'float64'] as const)('mean what the evaluator says, %s', (dtype) => {
    const { x, y } = expected(dtype);
    const count = x.length;
    const Values = dtype === 'float32' ? Float32Array : Float64Array;
    const [a, b] = [new Values(x), new Values(y)];
    const results = new Values(ALL.length * count);
    ALL.forEach((expr, i) => {
      const operand = (name: string) => ({ name, dtype, strides: [1] });
      const { plan, scalars, inputs } = planMap(
        {
          ...{ expr, shape: [count], inputs: [operand('a'), operand('b')] },
          ...{ out: { dtype, strides: [1] }, parameters: SCALARS },
        },
        { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 },
      );
      const out = new Values(count);
      const pointers = Object.fromEntries(
        inputs.map(({ index }, k) => [`x${String(k)}`, [a, b][index] ?? a]),
      );
      runInterpreted(emitMap(plan), level, { scalars, pointers: { ...pointers, out } });
      results.set(out, i * count);
    });
    expect(compare(dtype, results).slice(0, 20)).toEqual([]);
  });
});
