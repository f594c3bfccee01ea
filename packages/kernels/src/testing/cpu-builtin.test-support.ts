import { fileURLToPath } from 'node:url';
import type { CpuLevel } from '../emit/cpu-vector.js';
import { compileKernel, compilers } from './cpu-harness.test-support.js';

const NATIVE = fileURLToPath(new URL('../../../cpu-runtime/native/kernels/', import.meta.url));

/** Headers of the runtime's kernels with the functions that each defines, by the names of the built-in functions. */
const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'elements.h': { copy: 'copy', fill: 'fill', sum: 'sum' },
  'rows-by-index.h': {
    scatter_add: 'scatterAdd',
    scatter_add_sorted: 'scatterAddSorted',
    count_rows: 'countRows',
    gather_rows: 'gatherRows',
  },
  'prepared-rows.h': {
    prepare_rows: 'prepareRows',
    rows_gradient: 'rowsGradient',
    diagonal: 'diagonal',
  },
  'along-rows.h': { arg_sort: 'argSort', cum_sum: 'cumSum' },
};

/** The symbol of a built-in function in {@link builtinLibrary}. */
export const builtinSymbol = (entry: string): string => `mercer_${entry}`;

/** Compiles a built-in function for a level into a shared object, from the source that the addon is made of. */
export function builtinLibrary(entry: string, level: CpuLevel): string {
  const [header, functions] =
    Object.entries(HEADERS).find(([, names]) => Object.hasOwn(names, entry)) ?? [];
  if (functions === undefined) throw new TypeError(`no header defines ${entry}`);
  const symbols = Object.entries(functions).map(
    ([
      name,
      run,
    ]) => `extern "C" void ${builtinSymbol(name)}(const void* args, int64_t begin, int64_t end, void* scratch) {
  mercer::cpu::kernels::${run}(args, begin, end, scratch);
}`,
  );
  const source = `#include "${NATIVE}kernels.h"
namespace mercer::cpu::kernels {
namespace {
#include "${NATIVE}${header}"
}
}
${symbols.join('\n')}
`;
  return compileKernel(compilers()[0] ?? 'c++', source, level);
}
