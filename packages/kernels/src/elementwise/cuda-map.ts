import { emitCudaExpressions } from '../emit/cuda-expression.js';
import { cudaType } from '../emit/literals.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines } from '../emit/text.js';
import { parameterList } from '../emit/parameter-text.js';
import type { DType } from '../dtype.js';
import { type CudaKernel, scalar } from '../emitted-kernel.js';
import { conversionsText, prelude } from './conversion-text.js';
import {
  blocksGeometry,
  linearGeometry,
  NARROW_BLOCK,
  rowsGeometry,
  ROW_INDEXING,
  segmentIndexing,
} from './cuda-geometry.js';
import { elementInfo } from './element-type.js';
import { loadName, mapConversions, mapFormulas, storeName } from './map-formula.js';
import {
  contiguousInputs,
  isAcross,
  lanesOf,
  mapCost,
  mapCount,
  mapName,
  mapOffsets,
  mapParams,
  mapResults,
  mapSpelling,
  mapVariables,
  segmentIntegers,
  segmentNames,
} from './map-params.js';
import type { MapPlan } from './map-plan-types.js';
import { productOf, QUOTIENT, unravel } from './strided-text.js';

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
    plan.rank > 2 && QUOTIENT.trimEnd(),
    plan.mode === 'linear' && packTypes(plan),
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
      const count = mapCount(plan, scalars);
      if (plan.mode === 'linear') return linearGeometry(count, lanesOf(plan));
      const last = String(plan.rank - 1);
      const inner = scalar(scalars, `n${last}`);
      const widest = isAcross(plan, scalars) ? NARROW_BLOCK : undefined;
      return rowsGeometry(count / inner, inner, widest);
    },
    cost: (scalars) => ({
      ...mapCost(plan, scalars),
      issueSlots: mapCount(plan, scalars) * formula.slots,
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

/** Puts what `value` gives where the results go. */
function assigned(targets: readonly string[], value: string): string {
  if (targets.length === 1) return `${targets[0] ?? ''} = ${value};`;
  const stores = targets.map((target, r) => `${target} = v.v${r};`);
  return `{ const Values v = ${value}; ${stores.join(' ')} }`;
}

function packTypes(plan: MapPlan): string {
  const lanes = lanesOf(plan);
  const types = new Set([...contiguousInputs(plan), ...plan.results].map(({ dtype }) => dtype));
  return [...types]
    .map((dtype) => {
      const { storage, bytes, tag } = elementInfo(dtype);
      return `struct alignas(${lanes * bytes}) Pack_${tag} { ${storage} v[${lanes}]; };`;
    })
    .join('\n');
}

const pack = (dtype: DType): string => `Pack_${elementInfo(dtype).tag}`;

/** The block behind the last segment's last. */
const lastEnd = (plan: MapPlan): string => segmentNames(plan).at(-1)?.('end') ?? '';

/** Finds the segment of a block by halves: its pointers and its integers, and the number of the block in it. */
export function segmentText(plan: MapPlan): string {
  const one = { ...plan, segments: undefined };
  const spelling = { ...mapSpelling(one), restricts: () => false };
  const pointers = mapParams(one).filter(({ kind }) => kind === 'pointer');
  const names = segmentNames(plan);
  const integers = segmentIntegers(plan).filter((name) => name !== 'end');
  const found = (from: number, to: number): string => {
    const nameOf = names[from] ?? String;
    if (to - from === 1) {
      const before = names[from - 1]?.('end');
      const moved = [...pointers.map(({ name }) => name), ...integers].map(
        (n) => `${n} = ${nameOf(n)};`,
      );
      return lines(
        moved.join(' '),
        before === undefined
          ? `blocks = ${nameOf('end')};`
          : `block -= ${before}; blocks = ${nameOf('end')} - ${before};`,
      );
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
    `  i64 ${integers.join(', ')}, block = blockIdx.x, blocks;`,
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
    .map(({ name, dtype }) => `(u64)${name} % sizeof(${pack(dtype)})`)
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
        `      const ${pack(dtype)} in_${name} = reinterpret_cast<const ${pack(dtype)}*>(${name})[i];`,
    ),
    ...results.map(({ dtype, made }) => `      ${pack(dtype)} ${made};`),
    '#pragma unroll',
    `      for (int j = 0; j < ${lanes}; ++j) ${assigned(
      results.map(({ made }) => `${made}.v[j]`),
      call(`i * ${lanes} + j`, (name) => `in_${name}.v[j]`),
    )}`,
    ...results.map(
      ({ dtype, pointer, made }) =>
        `      reinterpret_cast<${pack(dtype)}*>(${pointer})[i] = ${made};`,
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

function stridedBody(plan: MapPlan, T: string): string {
  const last = String(plan.rank - 1);
  const results = mapResults(plan);
  const offsets = mapOffsets(plan);
  const inputs = plan.inputs.map((input, k) => {
    const [name, number] = [`x${k}`, String(k)];
    return `${loadName(input)}(${name}[from${number} + x * s${number}_${last}])`;
  });
  const indices = plan.indices.map((_, j) => `(${T})(index${j} + x * i${j}_${last})`);
  return lines(
    `  const i64 rows = ${productOf('n', plan.rank - 1)};`,
    plan.segments === undefined ? ROW_INDEXING : segmentIndexing(`n${last}`),
    '  for (i64 row = firstRow; row < rows; row += rowStep) {',
    `    i64 ${plan.rank > 1 ? 'rest = row, ' : ''}${offsets.map(({ name, start }) => `${name} = ${start}`).join(', ')};`,
    unravel(plan.rank - 1, offsets, (prefix, i) => prefix + String(i)),
    // unrolled further, the 64-bit steps of all operands outgrow what the compiler keeps in registers
    '#pragma unroll 2',
    `    for (i64 x = firstX; x < n${last}; x += xStep) ${assigned(
      results.map(({ pointer, offset, stride }) => `${pointer}[${offset} + x * ${stride}${last}]`),
      `value(${[...inputs, ...indices].join(', ')})`,
    )}`,
    '  }',
  );
}
