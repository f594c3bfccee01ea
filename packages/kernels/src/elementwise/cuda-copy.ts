import { upTo } from '../emit/text.js';
import { parameterList, SHORT_INTEGERS } from '../emit/parameter-text.js';
import { type CudaGeometry, type CudaKernel, type Scalars, scalar } from '../emitted-kernel.js';
import { conversionText, prelude } from './conversion-text.js';
import { copyCost, copyEntry, copyParams, elementCount } from './copy-params.js';
import type { CopyPlan, ElementsPlan, FillPlan } from './plan-copy.js';
import { linearGeometry, rowsGeometry, ROW_INDEXING } from './cuda-geometry.js';
import { elementInfo } from './element-type.js';
import { productOf, QUOTIENT, unravel } from './strided-text.js';

const TILE = 32;
const TILE_ROWS = 8;
const MAX_GRID_X = 2 ** 31 - 1;

/** A copy, a cast or a fill in CUDA C++. */
export function emitCudaCopy(plan: ElementsPlan): CudaKernel {
  const { text, geometry } = bodyOf(plan);
  const conversion = plan.family === 'copy' ? conversionText(plan.from, plan.to, 'cuda') : '';
  return {
    dialect: 'cuda',
    name: copyEntry(plan).replace('mercer_', ''),
    entry: copyEntry(plan),
    source: `${prelude('cuda')}${conversion}${text}`,
    params: copyParams(plan),
    options: [],
    geometry,
    cost: (scalars) => copyCost(plan, scalars),
  };
}

interface Body {
  readonly text: string;
  readonly geometry: (scalars: Scalars) => CudaGeometry;
}

function bodyOf(plan: ElementsPlan): Body {
  if (plan.mode === 'linear') return linear(plan);
  return plan.mode === 'tiled' ? tiled(plan) : strided(plan);
}

const storage = (plan: CopyPlan, side: 'from' | 'to'): string => elementInfo(plan[side]).storage;

/** The first lines of a kernel. */
function head(plan: ElementsPlan, threads = 256): string {
  const dst = elementInfo(plan.to).storage;
  const elements = plan.family === 'copy' ? { src: storage(plan, 'from'), dst } : { dst };
  return `extern "C" __global__ void __launch_bounds__(${threads})
${copyEntry(plan)}(${parameterList(copyParams(plan), { integers: SHORT_INTEGERS, elements })}) {`;
}

/** Declares the element that is written everywhere. */
function valueText({ to }: FillPlan): string {
  const type = elementInfo(to).storage;
  const bits = type === 'u64' ? '(u64)(u32)lo | ((u64)(u32)hi << 32)' : `(${type})(u32)lo`;
  return `  const ${type} value = ${bits};`;
}

/** Packs of up to 16 bytes where the pointers allow them, single elements where not; a fill has one pack for all. */
function linear(plan: ElementsPlan): Body {
  const isCopy = plan.family === 'copy';
  const to = elementInfo(plan.to);
  const from = isCopy ? elementInfo(plan.from) : to;
  const lanes = 16 / Math.max(from.bytes, to.bytes);
  const pack = (name: string, { storage, bytes }: typeof to): string =>
    `struct alignas(${lanes * bytes}) ${name} { ${storage} v[${lanes}]; };\n`;
  const text = `${isCopy ? pack('SourcePack', from) + pack('TargetPack', to) : pack('Pack', to)}
${head(plan)}
${isCopy ? '' : `${valueText(plan)}\n`}  const i64 first = (i64)blockIdx.x * 256 + threadIdx.x;
  const i64 step = (i64)gridDim.x * 256;
  i64 done = 0;
  if (${isCopy ? '((u64)src % sizeof(SourcePack) | (u64)dst % sizeof(TargetPack))' : '(u64)dst % 16'} == 0) {
    const i64 packs = count / ${lanes};
${
  isCopy
    ? `    for (i64 i = first; i < packs; i += step) {
      const SourcePack in = reinterpret_cast<const SourcePack*>(src)[i];
      TargetPack out;
#pragma unroll
      for (int j = 0; j < ${lanes}; ++j) out.v[j] = convert(in.v[j]);
      reinterpret_cast<TargetPack*>(dst)[i] = out;
    }`
    : `    Pack pack;
#pragma unroll
    for (int j = 0; j < ${lanes}; ++j) pack.v[j] = value;
    for (i64 i = first; i < packs; i += step) reinterpret_cast<Pack*>(dst)[i] = pack;`
}
    done = packs * ${lanes};
  }
  for (i64 i = done + first; i < count; i += step) dst[i] = ${isCopy ? 'convert(src[i])' : 'value'};
}
`;
  return { text, geometry: (scalars) => linearGeometry(scalar(scalars, 'count'), lanes) };
}

/** The offsets of an element on the sides that there are. */
const FROM = { name: 'from', stride: 's' };
const TO = { name: 'to', stride: 'd' };

const offsetsText = (
  count: number,
  offsets: readonly { readonly name: string; readonly stride: string }[],
): string => unravel(count, offsets, (prefix, i) => `${prefix}${i}`);

function strided(plan: ElementsPlan): Body {
  const isCopy = plan.family === 'copy';
  const last = String(plan.rank - 1);
  const offsets = isCopy ? [FROM, TO] : [TO];
  const value = isCopy ? `convert(src[from + x * s${last}])` : 'value';
  const text = `${plan.rank > 2 ? QUOTIENT : ''}
${head(plan)}
${isCopy ? '' : `${valueText(plan)}\n`}  const i64 rows = ${productOf('n', plan.rank - 1)};
${ROW_INDEXING}
  for (i64 row = firstRow; row < rows; row += rowStep) {
    ${plan.rank > 1 ? 'i64 rest = row, ' : 'i64 '}${offsets.map(({ name }) => `${name} = 0`).join(', ')};
${offsetsText(plan.rank - 1, offsets)}
    for (i64 x = firstX; x < n${last}; x += xStep) dst[to + x * d${last}] = ${value};
  }
}
`;
  return {
    text,
    geometry: (scalars) => {
      const inner = scalar(scalars, `n${last}`);
      return rowsGeometry(elementCount(plan, scalars) / inner, inner);
    },
  };
}

/** Through shared memory, one column of padding against bank conflicts. */
function tiled(plan: CopyPlan): Body {
  const D = storage(plan, 'to');
  const x = String(plan.rank - 1);
  const y = String(plan.rank - 2);
  const text = `${QUOTIENT}
${head(plan, TILE * TILE_ROWS)}
  __shared__ ${D} tile[${TILE}][${TILE + 1}];
  const i64 tilesX = (n${x} + ${TILE - 1}) / ${TILE}, tilesY = (n${y} + ${TILE - 1}) / ${TILE};
  const i64 tiles = tilesX * tilesY * ${productOf('n', plan.rank - 2)};
  for (i64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const i64 plane = quotient(t, tilesX), tx = t - plane * tilesX;
    i64 rest = quotient(plane, tilesY), from = 0, to = 0;
    const i64 ty = plane - rest * tilesY;
${offsetsText(plan.rank - 2, [FROM, TO])}
    const i64 x0 = tx * ${TILE}, y0 = ty * ${TILE};
    const i64 readY = y0 + threadIdx.x, writeX = x0 + threadIdx.x;
#pragma unroll
    for (int j = 0; j < ${TILE}; j += ${TILE_ROWS}) {
      const i64 readX = x0 + j + threadIdx.y;
      if (readX < n${x} && readY < n${y}) {
        tile[j + threadIdx.y][threadIdx.x] = convert(src[from + readY * s${y} + readX * s${x}]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ${TILE}; j += ${TILE_ROWS}) {
      const i64 writeY = y0 + j + threadIdx.y;
      if (writeX < n${x} && writeY < n${y}) {
        dst[to + writeY * d${y} + writeX * d${x}] = tile[threadIdx.x][j + threadIdx.y];
      }
    }
    __syncthreads();
  }
}
`;
  return {
    text,
    geometry: (scalars) => {
      const outer = upTo(plan.rank - 2).reduce((p, i) => p * scalar(scalars, `n${i}`), 1);
      const across = Math.ceil(scalar(scalars, `n${x}`) / TILE);
      const down = Math.ceil(scalar(scalars, `n${y}`) / TILE);
      return {
        grid: [Math.min(outer * across * down, MAX_GRID_X), 1, 1],
        block: [TILE, TILE_ROWS, 1],
        sharedMemBytes: 0,
      };
    },
  };
}
