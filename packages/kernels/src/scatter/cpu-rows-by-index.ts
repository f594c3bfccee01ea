import { prelude } from '../elementwise/conversion-text.js';
import { elementInfo } from '../elementwise/element-type.js';
import {
  argumentsStruct,
  SHORT_INTEGERS,
  snakeCase,
  type StructSpelling,
} from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { textProgram } from '../interpret/text-program.js';
import { missingElement } from './missing-element.js';
import {
  countRowsCost,
  countRowsParams,
  gatherRowsCost,
  gatherRowsParams,
} from './scatter-params.js';
import type { CountRowsPlan, GatherRowsPlan } from './scatter-plan-types.js';

/** Entries of one task of a gather. */
const TASK_ENTRIES = 256;
/** Elements that make a chunk of tasks worth fetching. */
const CHUNK_ELEMENTS = 1 << 16;

const spelling = (elements: Record<string, string>): StructSpelling => ({
  integers: SHORT_INTEGERS,
  nameOf: snakeCase,
  elements,
});

/** The kernel that counts the entries of each row on a CPU; tasks own rows. */
export function cpuCountRowsKernel(plan: CountRowsPlan): CpuKernel {
  const D = elementInfo(plan.to).storage;
  const params = countRowsParams(plan);
  const source = `${prelude('cpu')}
typedef ${D} D;
${argumentsStruct(params, spelling({ out: 'D' }))}

extern "C" void mercer_count_rows(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  for (i64 task = begin; task < end; task++) {
    const i64 r0 = task * g.rows_per_task;
    const i64 rows = g.rows - r0 < g.rows_per_task ? g.rows - r0 : g.rows_per_task;
    D* const to = g.out + r0;
    for (i64 r = 0; r < rows; r++) to[r] = 0;
    for (i64 n = 0; n < g.count; n++) {
      const u64 r = (u64)(i64)g.index[n] - (u64)r0;
      if (r < (u64)rows) to[r]++;
    }
  }
}
`;
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: 'mercer_count_rows',
    source,
    program: textProgram(source),
    params,
    options: [],
    geometry: ({ rows = 0, rowsPerTask = 1 }) => ({
      tasks: Math.ceil(rows / rowsPerTask),
      chunk: 1,
      scratchBytes: 0,
    }),
    cost: (scalars) => countRowsCost(plan, scalars),
  };
}

/** The kernel that takes rows by index on a CPU. */
export function cpuGatherRowsKernel(plan: GatherRowsPlan): CpuKernel {
  const params = gatherRowsParams(plan);
  const { type, bits } = missingElement(plan.dtype);
  const source = `${prelude('cpu')}
typedef ${type} T;
${argumentsStruct(params, spelling({ x: 'T', out: 'T' }))}

extern "C" void mercer_gather_rows(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  const i64 last = end * ${TASK_ENTRIES} < g.count ? end * ${TASK_ENTRIES} : g.count;
  for (i64 n = begin * ${TASK_ENTRIES}; n < last; n++) {
    const u64 r = (u64)(i64)g.index[n];
    T* const to = g.out + n * g.columns;
    if (r < (u64)g.rows) {
      const T* const from = g.x + (i64)r * g.table_stride;
      for (i64 c = 0; c < g.columns; c++) to[c] = from[c];
    } else {
      for (i64 c = 0; c < g.columns; c++) to[c] = (T)${bits};
    }
  }
}
`;
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: 'mercer_gather_rows',
    source,
    program: textProgram(source),
    params,
    options: [],
    geometry: ({ count = 0, columns = 0 }) => ({
      tasks: columns === 0 ? 0 : Math.ceil(count / TASK_ENTRIES),
      chunk: Math.max(1, Math.floor(CHUNK_ELEMENTS / (TASK_ENTRIES * Math.max(columns, 1)))),
      scratchBytes: 0,
    }),
    cost: (scalars) => gatherRowsCost(plan, scalars),
  };
}
