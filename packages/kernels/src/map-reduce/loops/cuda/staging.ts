import { dtypeBytes } from '../../../dtype.js';
import { cpp, indent, lines, upTo } from '../../../emit/text.js';
import { loaded } from '../../half-storage.js';
import { inputName, sidesOf, strideName } from '../../params.js';
import type { TileNeeds } from './dialect.js';
import type { StagedLoads, TileDialect } from '../tile-dialect.js';
import { isOfOneSide, type ComponentLoad } from '../loop-formula.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

/** Threads of a block. */
export const PAIR_TILE_THREADS = CUDA_SIDE * CUDA_SIDE;
const VECTOR_BYTES = 16;

/**
 * Copies of what a loop over components reads, `steps` components of all rows of a block at a time: component
 * after component, in two buffers, so that a part is fetched into registers while the one before is computed with.
 * A thread fetches components of one row that lie side by side. The rows of a thread lie in vectors, those of neighbouring threads
 * next to each other: no two threads meet in a bank. `reducedRow(thread, r)` is the number of the reduced row `r`
 * of a thread of a row of threads.
 */
export function cudaStaging(
  plan: CudaPairTilePlan,
  rows: number,
  reducedRow: (thread: string, r: string) => string,
  { others }: TileNeeds,
): TileDialect['stage'] {
  if (plan.steps === 0) return undefined;
  return (loads, counter, size) => {
    const copied = loads.filter((load) => load.line?.counter === counter && isOfOneSide(load));
    if (copied.length === 0) return undefined;
    const half = `${counter}_half`;
    const copies = copied.map((load) =>
      copyOf(plan, load, { rows, size, half, reducedRow, others }),
    );
    const byName = new Map(copies.map((copy) => [copy.name, copy]));
    return {
      steps: plan.steps,
      setup: lines(...copies.map(({ setup }) => setup), `int ${half} = 0;`, '__syncthreads();'),
      fetch: (first) => lines(...copies.map(({ fetch }) => fetch(first))),
      commit: lines(`${half} ^= 1;`, ...copies.map(({ commit }) => commit), '__syncthreads();'),
      read: (wanted, r, g) => {
        const copy = byName.get(wanted);
        return copy && `copy${wanted}[${half}][${counter}_step][${copy.place(r, g)}]`;
      },
    };
  };
}

interface Copy extends Pick<StagedLoads, 'setup' | 'fetch' | 'commit'> {
  readonly name: string;
  /** Where a thread's row lies. */
  readonly place: (r: string, g: string) => string;
}

interface CopyOptions {
  readonly rows: number;
  readonly size: number;
  readonly half: string;
  readonly reducedRow: (thread: string, r: string) => string;
  readonly others: TileNeeds['others'];
}

function copyOf(
  plan: CudaPairTilePlan,
  { name, position, category, line }: ComponentLoad,
  { rows, size, half, reducedRow, others }: CopyOptions,
): Copy {
  const { steps, keptPerThread, dtype } = plan;
  const { step = 1, offset = 0 } = line ?? {};
  const { storage } = plan.inputs.find((input) => input.position === position) ?? {};
  const isOwn = category === sidesOf(plan).kept;
  const inVector = VECTOR_BYTES / dtypeBytes(dtype);
  const lanes = Math.min(steps, inVector);
  const threadRows = isOwn ? keptPerThread : rows;
  const fetches = (CUDA_SIDE * threadRows * steps) / lanes;
  const rounds = Math.ceil(fetches / PAIR_TILE_THREADS);
  const element = `((int)threadIdx.x + n * ${PAIR_TILE_THREADS})`;
  const [at, first] = [
    `(${element} / ${steps / lanes})`,
    `(${element} % ${steps / lanes} * ${lanes})`,
  ];
  const each = (body: string): string => {
    const isWhole = fetches % PAIR_TILE_THREADS === 0;
    return cpp`
      #pragma unroll
      for (int n = 0; n < ${rounds}; ++n) {
        ${!isWhole && `if (${element} < ${fetches}) {`}
        ${isWhole ? body : indent(body)}
        ${!isWhole && '}'}
      }
    `;
  };
  // vectors of the rows of a thread, for all threads of a row
  const side = String(Math.min(rows, inVector));
  const span = String(CUDA_SIDE * Math.min(rows, inVector));
  const row = isOwn
    ? `(blockFirst + ${at} < limit ? blockFirst + ${at} : limit - 1)`
    : reducedRow(`(${at} % ${span} / ${side})`, `(${at} / ${span} * ${side} + ${at} % ${side})`);
  const type = storage === undefined ? 'V' : 'u16';
  const [from, fetched] = [`from${name}`, `fetched${name}`];
  const isWhole = size % steps === 0;
  if (!isWhole) others.add('least_step');
  const singles = (k: string): string =>
    lines(
      ...upTo(lanes).map((c) => {
        const place = isWhole ? `${k} + ${c}` : `least_step(${k} + ${c}, ${size - 1})`;
        return `${fetched}[n][${c}] = ${from}[n][(${place}) * ${step}];`;
      }),
    );
  const canVector = storage === undefined && step === 1 && lanes === inVector;
  const vector = dtype === 'float32' ? 'float4' : 'double2';
  const start = `in${inputName(position)}`;
  const stored = storage === undefined ? {} : { storage };
  return {
    name,
    setup: cpp`
      __shared__ __align__(16) V copy${name}[2][${steps}][${CUDA_SIDE * threadRows + inVector}];
      const ${type}* ${from}[${rounds}];
      ${type} ${fetched}[${rounds}][${lanes}];
      ${each(`${from}[n] = ${start} + ${row} * ${strideName(position)} + ${offset};`)}
      ${canVector && `const bool vectors${name} = ((unsigned long long)(${start} + ${offset}) | (unsigned long long)${strideName(position)} * sizeof(V)) % ${VECTOR_BYTES} == 0;`}
    `,
    fetch: (begin) => {
      const k = `(${begin} + ${first})`;
      if (!canVector) return each(singles(k));
      return each(cpp`
        if (vectors${name}${isWhole ? '' : ` && ${k} + ${lanes} <= ${size}`}) {
          const ${vector} all = *reinterpret_cast<const ${vector}*>(${from}[n] + ${k});
          ${upTo(lanes).map((c) => `${fetched}[n][${c}] = all.${'xyzw'[c] ?? ''};`)}
        } else {
          ${singles(k)}
        }
      `);
    },
    commit: each(
      lines(
        ...upTo(lanes).map(
          (c) =>
            `copy${name}[${half}][${first} + ${c}][${at}] = ${loaded(stored, `${fetched}[n][${c}]`)};`,
        ),
      ),
    ),
    place: (r, g) =>
      isOwn
        ? `ty * ${keptPerThread} + ${g}`
        : `${r} / ${side} * ${span} + tx * ${side} + ${r} % ${side}`,
  };
}
