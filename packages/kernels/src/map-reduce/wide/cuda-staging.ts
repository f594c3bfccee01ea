import { dtypeBytes } from '../../dtype.js';
import { lines } from '../../emit/indent.js';
import { loaded } from '../half-storage.js';
import { inputName, strideName } from '../params.js';
import { keptSide } from './kept-side.js';
import type { TileDialect } from './tile-text.js';
import type { WideLoad } from './wide-formula.js';
import { CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';

/** Threads of a block. */
export const WIDE_THREADS = CUDA_SIDE * CUDA_SIDE;

/**
 * Copies of what a loop over components reads, `steps` components of all rows of a block at a time: component
 * after component, the rows of a thread side by side. `reducedRow(at)` is the number of row `at` of the
 * block's reduced rows.
 */
export function cudaStaging(
  plan: CudaWidePlan,
  rows: number,
  reducedRow: (at: string) => string,
): TileDialect['stage'] {
  const { steps, groups, dtype } = plan;
  if (steps === 0) return undefined;
  const kept = keptSide(plan);
  const stored = new Map(plan.inputs.map((input) => [input.position, input]));
  const pad = 16 / dtypeBytes(dtype);
  return (loads, counter, size) => {
    const copied = loads.filter(
      ({ line, category }) => line?.counter === counter && category !== 'parameter',
    );
    if (copied.length === 0) return undefined;
    const isOwn = ({ category }: WideLoad): boolean => category === kept;
    const rowsOf = (load: WideLoad): number => CUDA_SIDE * (isOwn(load) ? groups : rows);
    const name = (load: WideLoad): string => `copy${load.name}`;
    const copyText = (load: WideLoad): string => {
      const { position, line } = load;
      const row = isOwn(load)
        ? '(blockFirst + at < limit ? blockFirst + at : limit - 1)'
        : reducedRow('at');
      const k = `(${counter}_first + step < ${String(size)} ? ${counter}_first + step : ${String(size - 1)})`;
      const component = `${k} * ${String(line?.step ?? 1)} + ${String(line?.offset ?? 0)}`;
      return lines(
        '#pragma unroll 2',
        `for (int e = threadIdx.x; e < ${String(steps * rowsOf(load))}; e += ${String(WIDE_THREADS)}) {`,
        `  const int step = e % ${String(steps)}, at = e / ${String(steps)};`,
        `  ${name(load)}[step][at] = ${loaded(stored.get(position) ?? {}, `in${inputName(position)}[${row} * ${strideName(position)} + ${component}]`)};`,
        '}',
      );
    };
    const byName = new Map(copied.map((load) => [load.name, load]));
    return {
      steps,
      copy: lines(
        ...copied.map(
          (load) =>
            `__shared__ __align__(16) V ${name(load)}[${String(steps)}][${String(rowsOf(load) + pad)}];`,
        ),
        '__syncthreads();',
        ...copied.map(copyText),
        '__syncthreads();',
      ),
      read: (wanted, r, g) => {
        const load = byName.get(wanted);
        if (load === undefined) return undefined;
        const at = isOwn(load) ? `ty * ${String(groups)} + ${g}` : `tx * ${String(rows)} + ${r}`;
        return `${name(load)}[${counter} - ${counter}_first][${at}]`;
      },
    };
  };
}
