import { ops, reduction, vi, vj } from '@mercer/formula';
import { test } from 'vitest';
import { emitMapReduce } from '../emit.js';
import { planWide } from './wide-plan.js';
import { emitCpuWide } from './cpu-wide.js';
import { planMapReduce } from '../plan.js';
import { writeFileSync, appendFileSync } from 'node:fs';

test('bench', () => {
  writeFileSync('/tmp/wb/run.sh', 'set -e\ncd /tmp/wb\n');
  const N = 10000;
  for (const level of (process.env['LEVELS'] ?? 'x86-64-v4').split(','))
  for (const [D, C] of (process.env['CASES'] ?? '3x1,10x1,32x1,100x1,256x1,1000x1,3x300,100x300').split(',').map((s) => s.split('x').map(Number)) as [number, number][]) {
    const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 49152, l2Bytes: 1 << 20 } as any;
    const one = reduction('Sum', ops.mul(ops.exp(ops.neg(ops.sqDist(vi(0, D), vj(1, D)))), vj(2, C)));
    const problem = { reduction: one, dtype: 'float32', rowsI: N, rowsJ: N, batch: 1 } as const;
    for (const kind of ['wide', 'plain']) {
      if (kind === 'plain' && (D > 120 || C > 64)) continue;
      const ins = [{ position: 0, category: 'i', dim: D }, { position: 1, category: 'j', dim: D }, { position: 2, category: 'j', dim: C }] as const;
      const program = kind === 'plain' ? emitMapReduce(planMapReduce(problem, limits)) : emitCpuWide(planWide(problem, ins, limits) as any);
      const { kernel } = program.steps[0]! as any;
      const name = `${kind}-${level}-${D}x${C}`;
      writeFileSync(`/tmp/wb/${name}.cpp`, kernel.source);
      const g = kernel.geometry({ rowsI: N, rowsJ: N, batch: 1 });
      appendFileSync('/tmp/wb/run.sh', `/usr/bin/time -f "compile %es" g++ -shared -fPIC -O3 -fno-math-errno -fno-trapping-math -march=${level} ${name}.cpp -o ./${name}.so\necho "${kind} ${kernel.name}"; ./bench ./${name}.so ${D} ${C} ${N} ${g.tasks} ${g.scratchBytes} \${THREADS:-1}\n`);
    }
  }
});
