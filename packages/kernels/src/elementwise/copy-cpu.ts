import { argumentsStruct, SHORT_INTEGERS } from '../emit/parameter-text.js';
import type { CpuGeometry, CpuKernel, Scalars } from '../emitted-kernel.js';
import { copyProgram } from '../interpret/copy-program.js';
import { conversionText, prelude } from './conversion-text.js';
import { copyCost, copyEntry, copyParams, elementCount, scalar } from './copy-params.js';
import type { CopyPlan } from './copy-plan.js';
import { CPU_TASK_ELEMENTS, cpuSpans } from './cpu-spans.js';
import { elementInfo } from './element-type.js';
import { indices, QUOTIENT, unravel } from './strided-text.js';

const TILE = 64;

/** A copy or cast in host C++. */
export function emitCopyCpu(plan: CopyPlan): CpuKernel {
  const { text, geometry } = MODES[plan.mode](plan);
  return {
    dialect: 'cpu',
    name: copyEntry(plan).replace('mercer_', ''),
    entry: copyEntry(plan),
    source: `${prelude('cpu')}${conversionText(plan.from, plan.to, 'cpu')}${text}`,
    program: copyProgram(plan),
    params: copyParams(plan),
    options: [],
    geometry,
    cost: (scalars) => copyCost(plan, scalars),
  };
}

interface Body {
  readonly text: string;
  readonly geometry: (scalars: Scalars) => CpuGeometry;
}

const MODES: { readonly [M in CopyPlan['mode']]: (plan: CopyPlan) => Body } = {
  linear,
  strided,
  tiled,
};

function storages(plan: CopyPlan): { S: string; D: string } {
  return { S: elementInfo(plan.from).storage, D: elementInfo(plan.to).storage };
}

function argsText(plan: CopyPlan): string {
  const { S, D } = storages(plan);
  return argumentsStruct(copyParams(plan), {
    integers: SHORT_INTEGERS,
    elements: { src: S, dst: D },
    arrays: ['n', 's', 'd'],
    apart: () => true,
  });
}

const byElements = (plan: CopyPlan) => (scalars: Scalars) => ({
  tasks: Math.ceil(elementCount(plan, scalars) / CPU_TASK_ELEMENTS),
  chunk: 1,
  scratchBytes: 0,
});

function linear(plan: CopyPlan): Body {
  const { S, D } = storages(plan);
  const text = `${argsText(plan)}

extern "C" void ${copyEntry(plan)}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& p = *(const Args*)args;
  const ${S}* __restrict__ src = p.src;
  ${D}* __restrict__ dst = p.dst;
  const i64 stop = end * ${CPU_TASK_ELEMENTS} < p.count ? end * ${CPU_TASK_ELEMENTS} : p.count;
  for (i64 i = begin * ${CPU_TASK_ELEMENTS}; i < stop; ++i) dst[i] = convert(src[i]);
}
`;
  return { text, geometry: byElements(plan) };
}

function strided(plan: CopyPlan): Body {
  const { S, D } = storages(plan);
  const span = `const ${S}* __restrict__ s = p.src + from;
      ${D}* __restrict__ d = p.dst + to;
      if (ss == 1 && ds == 1) { for (i64 x = 0; x < run; ++x) d[x] = convert(s[x]); }
      else if (ss == 0 && ds == 1) { const ${D} v = convert(*s); for (i64 x = 0; x < run; ++x) d[x] = v; }
      else { for (i64 x = 0; x < run; ++x) d[x * ds] = convert(s[x * ss]); }`;
  const text = `${argsText(plan)}
${QUOTIENT}
extern "C" void ${copyEntry(plan)}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& p = *(const Args*)args;
  const i64 ss = p.s[${plan.rank - 1}], ds = p.d[${plan.rank - 1}];
${cpuSpans(
  plan.rank,
  [
    { name: 'from', stride: 's' },
    { name: 'to', stride: 'd' },
  ],
  span,
)}
}
`;
  return { text, geometry: byElements(plan) };
}

/** Square tiles, so that a cache line read across the source is used by the rows that follow. */
function tiled(plan: CopyPlan): Body {
  const { S, D } = storages(plan);
  const x = `[${plan.rank - 1}]`;
  const y = `[${plan.rank - 2}]`;
  const text = `${argsText(plan)}
${QUOTIENT}
extern "C" void ${copyEntry(plan)}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& p = *(const Args*)args;
  const i64 tilesX = (p.n${x} + ${TILE - 1}) / ${TILE}, tilesY = (p.n${y} + ${TILE - 1}) / ${TILE};
  const i64 sx = p.s${x}, sy = p.s${y}, dy = p.d${y};
  for (i64 t = begin; t < end; ++t) {
    const i64 plane = quotient(t, tilesX), x0 = (t - plane * tilesX) * ${TILE};
    i64 rest = quotient(plane, tilesY), from = 0, to = 0;
    const i64 y0 = (plane - rest * tilesY) * ${TILE};
${unravel(
  plan.rank - 2,
  [
    { name: 'from', stride: 's' },
    { name: 'to', stride: 'd' },
  ],
  (prefix, i) => `p.${prefix}[${i}]`,
)}
    const i64 w = p.n${x} - x0 < ${TILE} ? p.n${x} - x0 : ${TILE};
    const i64 h = p.n${y} - y0 < ${TILE} ? p.n${y} - y0 : ${TILE};
    for (i64 j = 0; j < h; ++j) {
      const ${S}* __restrict__ s = p.src + from + (y0 + j) * sy + x0 * sx;
      ${D}* __restrict__ d = p.dst + to + (y0 + j) * dy + x0;
      for (i64 i = 0; i < w; ++i) d[i] = convert(s[i * sx]);
    }
  }
}
`;
  return {
    text,
    geometry: (scalars) => {
      const planes = indices(plan.rank - 2).reduce((n, i) => n * scalar(scalars, `n${i}`), 1);
      const across = Math.ceil(scalar(scalars, `n${plan.rank - 1}`) / TILE);
      const down = Math.ceil(scalar(scalars, `n${plan.rank - 2}`) / TILE);
      return { tasks: planes * across * down, chunk: 4, scratchBytes: 0 };
    },
  };
}
