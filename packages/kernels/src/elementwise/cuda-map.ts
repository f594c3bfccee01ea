import { emitCudaExpression } from '../emit/cuda-expression.js';
import { cudaType } from '../emit/cuda-literal.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines } from '../emit/indent.js';
import { parameterList } from '../emit/parameter-text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { conversionsText, prelude } from './conversion-text.js';
import { scalar } from './copy-params.js';
import { linearGeometry, rowsGeometry, ROW_INDEXING } from './cuda-geometry.js';
import { elementInfo } from './element-type.js';
import { loadName, mapConversions, mapFormula } from './map-formula.js';
import { mapCost, mapCount, mapName, mapParams, mapSpelling, mapVariables } from './map-params.js';
import type { MapPlan } from './map-plan.js';
import { productOf, QUOTIENT, unravel } from './strided-text.js';

const ENTRY = 'mercer_map';
/** Most elements that a thread holds at once where all lie in a row. */
const MOST_LANES = 4;
/** Columns of a block where an input runs across the rows: the sectors that it brings serve the rows below too. */
const NARROW_BLOCK = 32;

/** A map in CUDA C++. No pointer is `__restrict__`: the output may be an input. */
export function emitCudaMap(plan: MapPlan): CudaKernel {
  const { inputs, parameters, indices } = mapVariables(plan);
  const names = [...inputs, ...parameters, ...indices];
  const formula = emitCudaExpression(mapFormula(plan), {
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
    'extern "C" __global__ void __launch_bounds__(256)',
    `${ENTRY}(${parameterList(mapParams(plan), { ...mapSpelling(plan), restricts: () => false })}) {`,
    indent(lines(...formula.uniformStatements)),
    `  const auto value = [&](${arguments_}) {`,
    indent(lines(...formula.statements, `return store(${formula.result});`), 4),
    '  };',
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
      const count = mapCount(plan, scalars);
      if (plan.mode === 'linear') return linearGeometry(count, lanesOf(plan));
      const last = String(plan.rank - 1);
      const inner = scalar(scalars, `n${last}`);
      const across = plan.inputs.some((_, k) => Math.abs(scalar(scalars, `s${k}_${last}`)) > 1);
      return rowsGeometry(count / inner, inner, across ? NARROW_BLOCK : undefined);
    },
    cost: (scalars) => ({
      ...mapCost(plan, scalars),
      issueSlots: mapCount(plan, scalars) * formula.slots,
      specialOps: mapCount(plan, scalars) * formula.special,
    }),
  };
}

const contiguous = (plan: MapPlan): readonly (MapPlan['inputs'][number] & { name: string })[] =>
  plan.inputs.flatMap((input, k) => (input.repeated ? [] : [{ ...input, name: `x${k}` }]));

/** Packs of up to 16 bytes. */
function lanesOf(plan: MapPlan): number {
  const widest = [plan.out, ...contiguous(plan).map(({ dtype }) => dtype)].map(
    (dtype) => elementInfo(dtype).bytes,
  );
  return Math.min(MOST_LANES, 16 / Math.max(...widest));
}

function packTypes(plan: MapPlan): string {
  const lanes = lanesOf(plan);
  const types = new Set([...contiguous(plan).map(({ dtype }) => dtype), plan.out]);
  return [...types]
    .map((dtype) => {
      const { storage, bytes, tag } = elementInfo(dtype);
      return `struct alignas(${lanes * bytes}) Pack_${tag} { ${storage} v[${lanes}]; };`;
    })
    .join('\n');
}

const pack = (dtype: MapPlan['out']): string => `Pack_${elementInfo(dtype).tag}`;

function linearBody(plan: MapPlan, T: string): string {
  const lanes = String(lanesOf(plan));
  const packed = contiguous(plan);
  const alignments = [...packed, { name: 'out', dtype: plan.out }]
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
    '  const i64 first = (i64)blockIdx.x * 256 + threadIdx.x;',
    '  const i64 step = (i64)gridDim.x * 256;',
    '  i64 done = 0;',
    `  if ((${alignments}) == 0) {`,
    `    const i64 packs = n0 / ${lanes};`,
    '    for (i64 i = first; i < packs; i += step) {',
    ...packed.map(
      ({ name, dtype }) =>
        `      const ${pack(dtype)} in_${name} = reinterpret_cast<const ${pack(dtype)}*>(${name})[i];`,
    ),
    `      ${pack(plan.out)} result;`,
    '#pragma unroll',
    `      for (int j = 0; j < ${lanes}; ++j) result.v[j] = ${call(`i * ${lanes} + j`, (name) => `in_${name}.v[j]`)};`,
    `      reinterpret_cast<${pack(plan.out)}*>(out)[i] = result;`,
    '    }',
    `    done = packs * ${lanes};`,
    '  }',
    `  for (i64 i = done + first; i < n0; i += step) out[i] = ${call('i', (name) => `${name}[i]`)};`,
  );
}

function stridedBody(plan: MapPlan, T: string): string {
  const last = String(plan.rank - 1);
  const offsets = [
    { name: 'to', start: '0', stride: 'd' },
    ...plan.inputs.map((_, k) => ({
      name: `from${k}`,
      start: '0',
      stride: `s${k}_`,
    })),
    ...plan.indices.map((_, j) => ({
      name: `index${j}`,
      start: `i${j}`,
      stride: `i${j}_`,
    })),
  ];
  const inputs = plan.inputs.map((input, k) => {
    const [name, number] = [`x${k}`, String(k)];
    return `${loadName(input)}(${name}[from${number} + x * s${number}_${last}])`;
  });
  const indices = plan.indices.map((_, j) => `(${T})(index${j} + x * i${j}_${last})`);
  return lines(
    `  const i64 rows = ${productOf('n', plan.rank - 1)};`,
    ROW_INDEXING,
    '  for (i64 row = firstRow; row < rows; row += rowStep) {',
    `    i64 ${plan.rank > 1 ? 'rest = row, ' : ''}${offsets.map(({ name, start }) => `${name} = ${start}`).join(', ')};`,
    unravel(plan.rank - 1, offsets, (prefix, i) => prefix + String(i)),
    // unrolled further, the 64-bit steps of all operands outgrow what the compiler keeps in registers
    '#pragma unroll 2',
    `    for (i64 x = firstX; x < n${last}; x += xStep) out[to + x * d${last}] = value(${[...inputs, ...indices].join(', ')});`,
    '  }',
  );
}
