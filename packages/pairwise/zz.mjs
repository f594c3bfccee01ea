import { cdistSpec } from './dist/cdist-spec.js';
import { ofRows } from './dist/backward-formulas.js';
import { reduction } from '@mercer/formula';
import * as k from '@mercer/kernels';
import { writeFileSync } from 'node:fs';
const limits = { kind: 'cuda', arch: 'sm_90a', computeCapability: [9, 0], multiprocessors: 132, maxThreadsPerBlock: 1024, sharedMemPerBlockOptin: 232448, sharedMemPerMultiprocessor: 233472, registersPerMultiprocessor: 65536, l2Bytes: 52428800 };
console.log(Object.keys(k).filter((n) => /mapReduce/i.test(n)).join(' '));
for (const [m, K] of [[4000,64],[10000,64],[4000,1024]]) for (const p of [1,1.3,2]) {
  const spec = cdistSpec({ p, skipEpilogue: false, dtype: 'float32' }, {});
  const f = ofRows({ ...spec, p }, 'float32', K, 'a', undefined);
  const problem = { dtype: 'float32', rowsI: m, rowsJ: m, batch: 1, reduction: reduction('Sum', f.formulas[0]) };
  const plan = k.planMapReduce(problem, limits);
  const e = k.emitMapReduce(plan);
  const kernel = e.steps[0].kernel;
  writeFileSync(`/tmp/nv/g-${m}-${K}-${p}.cu`, kernel.source);
  console.log(m, K, p, e.steps.map((s) => s.kernel.name), kernel.source.length);
}
