import { emitCpuExpressions } from '../emit/cpu-expression.js';
import { cpuHelpers } from '../emit/cpu-math.js';
import { vectorPrelude } from '../emit/cpu-vector.js';
import { indent, lines } from '../emit/text.js';
import { argumentsStruct } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { mapProgram } from '../interpret/family-programs.js';
import { conversionsText, prelude } from './conversion-text.js';
import { CPU_TASK_ELEMENTS, cpuSpans, QUOTIENT } from './strided-text.js';
import { elementInfo } from './element-type.js';
import { loadName, mapConversions, mapFormulas, storeName } from './map-formula.js';
import {
  mapCost,
  mapName,
  mapOffsets,
  mapParams,
  mapResults,
  mapSpelling,
  mapVariables,
  segmentCounts,
  stridePrefixes,
} from './map-params.js';
import type { MapPlan } from './map-plan-types.js';

const ENTRY = 'mercer_map';
/** Most elements that are converted together. */
const BLOCK = 256;
/** The elements of a vector of any level, or more. */
const LEAST_BLOCK = 16;
/** Elements of the buffers of one kernel, which stay in a cache. */
const MOST_BUFFERED = 40 * BLOCK;

/** A map in host C++: blocks of elements are read into vectors' memory, computed and written. */
export function emitCpuMap(plan: MapPlan, level: CpuKernelLevel): CpuKernel {
  const { inputs, parameters, indices } = mapVariables(plan);
  const formula = emitCpuExpressions(mapFormulas(plan), {
    dtype: plan.dtype,
    name: 'value',
    parameters: [...inputs, ...indices],
    uniforms: Object.fromEntries(parameters.map((name) => [name, `p.${name}`])),
  });
  const source = lines(
    vectorPrelude(level, plan.dtype),
    prelude('cpu').trimEnd(),
    conversionsText(mapConversions(plan), 'cpu').trimEnd(),
    cpuHelpers(formula.helpers, plan.dtype, level),
    QUOTIENT.trimEnd(),
    plan.inputs.length > 0 && fillTexts(plan),
    formula.text,
    argsText(plan),
    plan.segments === undefined
      ? lines(
          `extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void*) {`,
          '  const Args& p = *(const Args*)args;',
        )
      : 'static void segment(const Args& p, i64 begin, i64 end) {',
    ...formula.uniforms.map(({ name, value }) =>
      indent(
        lines(
          `const double ${name}_wide = ${value};`,
          `const V ${name} = splat((T)${name}_wide), ${name}_low = splat((T)(${name}_wide - (double)(T)${name}_wide));`,
        ),
      ),
    ),
    loopText(plan, formula.call),
    '}',
    plan.segments !== undefined && segmentsText(plan, plan.segments),
  );
  return {
    dialect: 'cpu',
    name: mapName(plan),
    entry: ENTRY,
    source: `${source}\n`,
    program: mapProgram(plan),
    params: mapParams(plan),
    options: [],
    geometry: (scalars) => ({
      tasks: segmentCounts(plan, scalars).reduce(
        (tasks, count) => tasks + Math.ceil(count / CPU_TASK_ELEMENTS),
        0,
      ),
      chunk: 1,
      scratchBytes: 0,
    }),
    cost: (scalars) => mapCost(plan, scalars),
  };
}

type CpuKernelLevel = Extract<MapPlan['target'], { readonly kind: 'cpu' }>['level'];

/** Of one segment, with the numbers of all. */
function argsText(plan: MapPlan): string {
  const arrays = ['n', ...stridePrefixes(plan)];
  const one = { ...plan, segments: undefined };
  return argumentsStruct(mapParams(one), {
    ...mapSpelling(one),
    arrays,
    apart: () => true,
  });
}

/** The entry of a kernel of several segments, which shares out tasks to them. */
function segmentsText(plan: MapPlan, segments: number): string {
  const words = (mapParams(plan).length - plan.parameters.length) / segments;
  return `extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void*) {
  const i64* const words = (const i64*)args;
  for (i64 s = 0, first = 0; s < ${segments} && first < end; ++s) {
    Args p;
    __builtin_memcpy(&p, words + s * ${words}, ${words * 8});
    __builtin_memcpy((i64*)&p + ${words}, words + ${segments * words}, sizeof p - ${words * 8});
    const i64 tasks = (p.n[0] + ${CPU_TASK_ELEMENTS} - 1) / ${CPU_TASK_ELEMENTS};
    const i64 from = begin > first ? begin - first : 0, to = end - first < tasks ? end - first : tasks;
    if (from < to) segment(p, from, to);
    first += tasks;
  }
}`;
}

/** Elements that are converted together. */
function blockOf({ results, inputs, indices }: MapPlan): number {
  const buffers = results.length + inputs.length + indices.length;
  let block = BLOCK;
  while (block > LEAST_BLOCK && block * buffers > MOST_BUFFERED) block /= 2;
  return block;
}

function loopText(plan: MapPlan, call: (...args: readonly string[]) => string): string {
  const last = `[${plan.rank - 1}]`;
  const block = String(blockOf(plan));
  const results = mapResults(plan);
  const offsets = mapOffsets(plan);
  const span = lines(
    `for (i64 x = 0; x < run; x += ${block}) {`,
    `  const i64 m = run - x < ${block} ? run - x : ${block}, n = lines * m;`,
    ...plan.inputs.map((input, k) => indent(readText(input, k, plan))),
    ...plan.indices.map((_, j) => {
      return `  for (i64 y = 0; y < lines; ++y) for (i64 e = 0; e < m; ++e) index_values${j}[y * m + e] = (T)(p.i${j} + index${j} + y * i${j}_r + (x + e) * i${j}_s);`;
    }),
    ...results.map(({ dtype, pointer, stride, offset }, r) =>
      lines(
        `  auto* const d${r} = p.${pointer} + ${offset} + x * ${stride}s;`,
        `  const bool in_row${r} = ${stride}s == 1 && (lines == 1 || ${stride}r == m);`,
        dtype === plan.dtype
          ? `  T* const r${r} = in_row${r} && n % LANES == 0 ? (T*)d${r} : results${r};`
          : `  T* const r${r} = results${r};`,
      ),
    ),
    '  for (i64 e = 0; e < n; e += LANES) {',
    `    V ${results.map((_, r) => `v${r}`).join(', ')};`,
    `    ${call(
      ...plan.inputs.map((_, k) => `*(const VU*)&values${k}[e]`),
      ...plan.indices.map((_, j) => `*(const VU*)&index_values${j}[e]`),
      ...results.map((_, r) => `v${r}`),
    )};`,
    ...results.map((_, r) => `    *(VU*)&r${r}[e] = v${r};`),
    '  }',
    ...results.map(({ dtype, stride }, r) => {
      const store = storeName(plan, dtype);
      const copy = lines(
        `if (in_row${r}) { for (i64 e = 0; e < n; ++e) d${r}[e] = ${store}(r${r}[e]); }`,
        `else { for (i64 y = 0; y < lines; ++y) for (i64 e = 0; e < m; ++e) d${r}[y * ${stride}r + e * ${stride}s] = ${store}(r${r}[y * m + e]); }`,
      );
      return indent(
        dtype === plan.dtype ? lines(`if (r${r} == results${r}) {`, indent(copy), '}') : copy,
      );
    }),
    '}',
  );
  const buffers = [
    ...results.map((_, r) => `results${r}`),
    ...plan.inputs.map((_, k) => `buffer${k}`),
    ...plan.indices.map((_, j) => `index_values${j}`),
  ];
  return lines(
    ...buffers.map((name) => `  alignas(64) T ${name}[${block}] = {};`),
    ...offsets.map(
      ({ stride }) =>
        `  const i64 ${stride}s = p.${stride}${last}, ${stride}r = ${plan.rank > 1 ? `p.${stride}[${plan.rank - 2}]` : '0'};`,
    ),
    plan.inputs.length > 0 && `  Held held[${plan.inputs.length}] = {};`,
    cpuSpans(plan.rank, offsets, Number(block), indent(span, 6).trimStart()),
  );
}

const fillName = (input: MapPlan['inputs'][number]): string =>
  `fill_${elementInfo(input.dtype).tag}`;

/** Functions that convert elements, one for each dtype: with loops of each input a compiler takes minutes for hundreds of them. */
function fillTexts({ inputs }: MapPlan): string {
  const byName = new Map(inputs.map((input) => [fillName(input), input]));
  const texts = [...byName].map(([name, input]) => {
    const { storage } = elementInfo(input.dtype);
    const load = loadName(input);
    return lines(
      `static __attribute__((noinline)) void ${name}(Held& held, T* to, const ${storage}* from, i64 lines, i64 m, i64 down, i64 stride) {`,
      // what repeats is the same block after block
      '  const bool repeats = (lines == 1 ? stride : down) == 0;',
      '  if (repeats && held.source == from && held.n >= lines * m) return;',
      '  held.source = from, held.n = repeats ? lines * m : 0;',
      '  if (lines == 1) down = m * stride;',
      '  if (down == m * stride) { m *= lines; lines = 1; }',
      '  const i64 n = lines * m;',
      '  i64 done = 0;',
      // rows that repeat are made of those before
      '  for (; done < n && (down != 0 || done == 0); from += down, done += m) {',
      `    if (stride == 1) { for (i64 e = 0; e < m; ++e) to[done + e] = ${load}(from[e]); }`,
      `    else if (stride == 0) { const T v = ${load}(*from); for (i64 e = 0; e < m; ++e) to[done + e] = v; }`,
      `    else { for (i64 e = 0; e < m; ++e) to[done + e] = ${load}(from[e * stride]); }`,
      '  }',
      '  for (; done < n;) {',
      '    const i64 more = n - done < done ? n - done : done;',
      '    __builtin_memcpy(to + done, to, more * sizeof(T));',
      '    done += more;',
      '  }',
      '}',
    );
  });
  return lines('struct Held { const void* source; i64 n; };', ...texts);
}

/** Declares `values<k>`: the elements of an input as the computing type, in place where they are so already. */
function readText(input: MapPlan['inputs'][number], k: number, plan: MapPlan): string {
  const { storage } = elementInfo(input.dtype);
  const at = `const ${storage}* const source${k} = p.x${k} + from${k} + x * s${k}_s;`;
  const fill = `${fillName(input)}(held[${k}], buffer${k}, source${k}, lines, m, s${k}_r, s${k}_s);`;
  if (input.dtype !== plan.dtype) {
    return lines(at, `const T* const values${k} = buffer${k};`, fill);
  }
  return lines(
    at,
    `const bool in_place${k} = s${k}_s == 1 && (lines == 1 || s${k}_r == m) && n % LANES == 0;`,
    `const T* const values${k} = in_place${k} ? source${k} : buffer${k};`,
    `if (!in_place${k}) {`,
    indent(fill),
    '}',
  );
}
