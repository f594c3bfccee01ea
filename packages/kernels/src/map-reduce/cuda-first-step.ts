import type { CudaExpressions } from '../emit/cuda-expression.js';
import { indent, lines } from '../emit/indent.js';
import { CUDA_THREADS } from './choose-tile.js';
import { outputText, stateWords } from './cuda-text.js';
import { batchStrideName, inputName, strideName } from './params.js';
import { componentsOf, type CudaMapReducePlan } from './plan.js';
import type { Reducer } from './reducers/reducer.js';
import type { UsedComponents } from './used-components.js';

/** The body of the kernel that computes the formula. */
export function firstStepText(
  plan: CudaMapReducePlan,
  reducer: Reducer,
  used: UsedComponents,
  { statements, results }: Pick<CudaExpressions, 'statements' | 'results'>,
): string {
  const [kept, reduced] = plan.axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const split = plan.splits > 1;
  const threads = String(CUDA_THREADS);
  const rows = String(plan.rowsPerThread);
  const tile = String(plan.tile);
  const own = used.of(kept);
  const other = used.of(reduced);
  const [ownRow, otherRow] = [used.rowNumber(kept), used.rowNumber(reduced)];
  const width = String(Math.max(1, componentsOf(plan.inputs, reduced)));
  const target = reducer.rounds ? 's[r]' : 'total[r]';
  const perRow = lines(
    ...own.map(({ name }, q) => `const V ${name} = own[r][${String(q)}];`),
    ownRow !== undefined && `const V ${ownRow} = (V)(first + threadIdx.x + r * ${threads});`,
    ...statements,
    `add(${target}, ${[...results, '(I)(start + q)'].join(', ')});`,
  );
  const unrolled = (body: string): string =>
    lines('#pragma unroll', `for (int r = 0; r < ${rows}; ++r) {`, indent(body), '}');
  return lines(
    `const long long kept = ${plan.axis === 1 ? 'rowsI' : 'rowsJ'}, reduced = ${plan.axis === 1 ? 'rowsJ' : 'rowsI'};`,
    `const long long first = (long long)blockIdx.x * ${String(CUDA_THREADS * plan.rowsPerThread)};`,
    split
      ? lines(
          'const int part = blockIdx.y;',
          `const long long tiles = (reduced + ${tile} - 1) / ${tile};`,
          `const long long length = (tiles + ${String(plan.splits)} - 1) / ${String(plan.splits)} * ${tile};`,
          'const long long from = part * length < reduced ? part * length : reduced;',
          'const long long end = from + length < reduced ? from + length : reduced;',
        )
      : 'const long long from = 0, end = reduced;',
    other.length > 0 && `__shared__ V staged[${tile} * ${width}];`,
    'for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {',
    indent(
      lines(
        ...used
          .of('parameter')
          .map(
            ({ name, position: p, component }) =>
              `const V ${name} = ${inputName(p)}[layer * ${batchStrideName(p)} + ${String(component)}];`,
          ),
        own.length > 0 && `V own[${rows}][${String(own.length)}];`,
        `State total[${rows}];`,
        unrolled(
          lines(
            'total[r] = empty();',
            own.length > 0 &&
              lines(
                '// a row past the end computes what the last one does, and nothing of it is written',
                `const long long wanted = first + threadIdx.x + r * ${threads};`,
                'const long long row = wanted < kept ? wanted : kept - 1;',
                ...own.map(
                  ({ position: p, component }, q) =>
                    `own[r][${String(q)}] = ${inputName(p)}[layer * ${batchStrideName(p)} + row * ${strideName(p)} + ${String(component)}];`,
                ),
              ),
          ),
        ),
        `for (long long start = from; start < end; start += ${tile}) {`,
        `  const int count = end - start < ${tile} ? (int)(end - start) : ${tile};`,
        other.length > 0 &&
          indent(lines('__syncthreads();', stagingText(plan, reduced), '__syncthreads();')),
        reducer.rounds && `  State s[${rows}];`,
        reducer.rounds && indent(unrolled('s[r] = empty();')),
        '  #pragma unroll 1',
        '  for (int q = 0; q < count; ++q) {',
        ...other.map(
          ({ name, place }) => `    const V ${name} = staged[q * ${width} + ${String(place)}];`,
        ),
        otherRow !== undefined && `    const V ${otherRow} = (V)(start + q);`,
        indent(unrolled(perRow), 4),
        '  }',
        reducer.rounds && indent(unrolled('merge(total[r], s[r]);')),
        '}',
        unrolled(
          lines(
            `const long long row = first + threadIdx.x + r * ${threads};`,
            'if (row < kept) {',
            '  const State& s = total[r];',
            indent(split ? stateWords(plan, reducer).store('s') : outputText(plan, reducer)),
            '}',
          ),
        ),
      ),
    ),
    '}',
  );
}

/** Copies `count` rows of every input of the reduced side into shared memory, row by row. */
function stagingText(plan: CudaMapReducePlan, reduced: 'i' | 'j'): string {
  const inputs = plan.inputs.filter(({ category }) => category === reduced);
  const width = String(componentsOf(plan.inputs, reduced));
  let place = 0;
  const copies = inputs.map(({ position: p, dim }) => {
    const d = String(dim);
    const to = String(place);
    place += dim;
    return lines(
      '#pragma unroll 1',
      `for (int e = threadIdx.x; e < count * ${d}; e += ${String(CUDA_THREADS)})`,
      `  staged[e / ${d} * ${width} + ${to} + e % ${d}] = ${inputName(p)}[layer * ${batchStrideName(p)} + (start + e / ${d}) * ${strideName(p)} + e % ${d}];`,
    );
  });
  return lines(...copies);
}
