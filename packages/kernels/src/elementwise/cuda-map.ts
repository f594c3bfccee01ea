import { emitCudaExpressions } from '../emit/cuda-expression.js';
import { cudaType } from '../emit/literals.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines } from '../emit/text.js';
import { parameterList } from '../emit/parameter-text.js';
import { type CudaKernel, scalar } from '../emitted-kernel.js';
import { conversionsText, prelude } from './conversion-text.js';
import { blocksGeometry, linearGeometry } from './cuda-geometry.js';
import { assigned, contiguousInputs, lanesOf, packName, packTypes } from './cuda-packs.js';
import { stridedBody, stridedTypes } from './cuda-strided.js';
import { elementInfo } from './element-type.js';
import { loadName, mapConversions, mapFormulas, storeName } from './map-formula.js';
import {
  mapCost,
  mapCount,
  mapName,
  mapParams,
  mapResults,
  mapSpelling,
  mapVariables,
  segmentIntegers,
  segmentNames,
} from './map-params.js';
import type { MapPlan } from './map-plan-types.js';
import { stridedGeometry } from './map-walk.js';

const ENTRY = 'mercer_map';

/** A map in CUDA C++. No pointer is `__restrict__`: a result may be an input. */
export function emitCudaMap(plan: MapPlan): CudaKernel {
  const { inputs, parameters, indices } = mapVariables(plan);
  const names = [...inputs, ...parameters, ...indices];
  const formula = emitCudaExpressions(mapFormulas(plan), {
    dtype: plan.dtype,
    bindings: Object.fromEntries(names.map((name) => [name, name])),
    uniform: parameters,
  });
  const T = cudaType(plan.dtype);
  const arguments_ = [...inputs, ...indices].map((name) => `${T} ${name}`).join(', ');
  const source = lines(
    prelude('cuda').trimEnd(),
    conversionsText(mapConversions(plan), 'cuda').trimEnd(),
    cudaHelpers(formula.helpers, plan.dtype),
    plan.mode === 'strided' && stridedTypes(plan),
    packTypes(
      [...contiguousInputs(plan), ...plan.results].map(({ dtype }) => dtype),
      plan.walk?.lanes ?? lanesOf(plan),
    ),
    valuesType(plan),
    'extern "C" __global__ void __launch_bounds__(256)',
    `${ENTRY}(${parameterList(mapParams(plan), { ...mapSpelling(plan), restricts: () => false })}) {`,
    indent(lines(...formula.uniformStatements)),
    `  const auto value = [&](${arguments_}) {`,
    indent(lines(...formula.statements, `return ${storedValues(plan, formula.results)};`), 4),
    '  };',
    plan.segments !== undefined && segmentText(plan),
    plan.mode === 'linear' ? linearBody(plan, T) : stridedBody(plan, T),
    '}',
  );
  return {
    dialect: 'cuda',
    name: mapName(plan),
    entry: ENTRY,
    source: `${source}\n`,
    params: mapParams(plan),
    options: [],
    geometry: (scalars) => {
      if (plan.segments !== undefined) return blocksGeometry(scalar(scalars, lastEnd(plan)));
      if (plan.mode === 'strided') return stridedGeometry(plan, scalars);
      return linearGeometry(mapCount(plan, scalars), lanesOf(plan));
    },
    cost: (scalars) => ({
      ...mapCost(plan, scalars),
      issueSlots: mapCount(plan, scalars) * formula.issueSlots,
      specialOps: mapCount(plan, scalars) * formula.special,
    }),
  };
}

/** The type of an element of each result, where there are several. */
const valuesType = (plan: MapPlan): string | false =>
  plan.results.length > 1 &&
  `struct Values { ${plan.results.map(({ dtype }, r) => `${elementInfo(dtype).storage} v${r};`).join(' ')} };`;

function storedValues(plan: MapPlan, values: readonly string[]): string {
  const stored = plan.results.map(
    ({ dtype }, r) => `${storeName(plan, dtype)}(${values[r] ?? ''})`,
  );
  return stored.length === 1 ? (stored[0] ?? '') : `Values{${stored.join(', ')}}`;
}

/** The block behind the last segment's last. */
const lastEnd = (plan: MapPlan): string => segmentNames(plan).at(-1)?.('end') ?? '';

/** Finds the segment of a block by halves: its pointers and its integers, the number of the block in it, and of a linear one how many there are. */
export function segmentText(plan: MapPlan): string {
  const one = { ...plan, segments: undefined };
  const spelling = { ...mapSpelling(one), restricts: () => false };
  const pointers = mapParams(one).filter(({ kind }) => kind === 'pointer');
  const names = segmentNames(plan);
  const integers = segmentIntegers(plan).filter((name) => name !== 'end');
  const isLinear = plan.mode === 'linear';
  const found = (from: number, to: number): string => {
    const nameOf = names[from] ?? String;
    if (to - from === 1) {
      const before = names[from - 1]?.('end');
      const moved = [...pointers.map(({ name }) => name), ...integers].map(
        (n) => `${n} = ${nameOf(n)};`,
      );
      const own = before === undefined ? '' : ` - ${before}`;
      const counted = [
        before !== undefined && `block -= ${before};`,
        isLinear && `blocks = ${nameOf('end')}${own};`,
      ].filter((one) => one !== false);
      return lines(moved.join(' '), counted.join(' '));
    }
    const half = (from + to) >> 1;
    return lines(
      `if (block < ${names[half - 1]?.('end') ?? ''}) {`,
      indent(found(from, half)),
      '} else {',
      indent(found(half, to)),
      '}',
    );
  };
  return lines(
    ...pointers.map((param) => `  ${parameterList([param], spelling)};`),
    `  i64 ${integers.join(', ')}, block = blockIdx.x${isLinear ? ', blocks' : ''};`,
    indent(found(0, names.length)),
  );
}

function linearBody(plan: MapPlan, T: string): string {
  const [block, blocks] =
    plan.segments === undefined ? ['(i64)blockIdx.x', '(i64)gridDim.x'] : ['block', 'blocks'];
  const lanes = String(lanesOf(plan));
  const packed = contiguousInputs(plan);
  const results = mapResults(plan).map((one, r, all) => ({
    ...one,
    made: all.length === 1 ? 'result' : `result${r}`,
  }));
  const alignments = [...packed, ...results.map(({ pointer, dtype }) => ({ name: pointer, dtype }))]
    .map(({ name, dtype }) => `(u64)${name} % sizeof(${packName(dtype)})`)
    .join(' | ');
  const call = (at: string, element: (name: string) => string): string => {
    const inputs = plan.inputs.map((input, k) => {
      const name = `x${k}`;
      return input.repeated ? `same_${name}` : `${loadName(input)}(${element(name)})`;
    });
    const indices = plan.indices.map((_, j) => `(${T})(i${j} + (${at}) * i${j}_0)`);
    return `value(${[...inputs, ...indices].join(', ')})`;
  };
  return lines(
    ...plan.inputs.map(
      (input, k) => input.repeated && `  const ${T} same_x${k} = ${loadName(input)}(*x${k});`,
    ),
    `  const i64 first = ${block} * 256 + threadIdx.x;`,
    `  const i64 step = ${blocks} * 256;`,
    '  i64 done = 0;',
    `  if ((${alignments}) == 0) {`,
    `    const i64 packs = n0 / ${lanes};`,
    // unrolled, the addresses of all operands would not stay in registers
    plan.segments !== undefined && '#pragma unroll 1',
    '    for (i64 i = first; i < packs; i += step) {',
    ...packed.map(
      ({ name, dtype }) =>
        `      const ${packName(dtype)} in_${name} = reinterpret_cast<const ${packName(dtype)}*>(${name})[i];`,
    ),
    ...results.map(({ dtype, made }) => `      ${packName(dtype)} ${made};`),
    '#pragma unroll',
    `      for (int j = 0; j < ${lanes}; ++j) ${assigned(
      results.map(({ made }) => `${made}.v[j]`),
      call(`i * ${lanes} + j`, (name) => `in_${name}.v[j]`),
    )}`,
    ...results.map(
      ({ dtype, pointer, made }) =>
        `      reinterpret_cast<${packName(dtype)}*>(${pointer})[i] = ${made};`,
    ),
    '    }',
    `    done = packs * ${lanes};`,
    '  }',
    `  for (i64 i = done + first; i < n0; i += step) ${assigned(
      results.map(({ pointer }) => `${pointer}[i]`),
      call('i', (name) => `${name}[i]`),
    )}`,
  );
}
