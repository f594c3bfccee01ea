import { withConstants, type BuiltinKernel } from '../emitted-kernel.js';
import { int64 } from '../kernel-param.js';
import { rowsCost, rowsParams, type RowsPlan } from './plan-rows.js';

/** Rows of one task. */
const TASK_ROWS = 64;
/** Elements that make a chunk of tasks worth fetching. */
const CHUNK_ELEMENTS = 1 << 18;

/** The kernel that scales and normalises rows on a CPU. */
export function cpuRowsKernel(plan: RowsPlan): BuiltinKernel {
  const { dtype, layout, scale, normalise } = plan;
  const own = rowsParams(plan);
  // a null pointer or 0 in the place of what the plan has not
  const params = rowsParams({ ...plan, scale: true, norms: true }).map((param) =>
    own.some(({ name }) => name === param.name) ? param : int64(param.name),
  );
  const absent = params.filter(({ name }) => !own.some((one) => one.name === name));
  const kernel = withConstants(
    {
      name: plan.summary,
      entry: 'prepare_rows',
      params,
      tasks: ({ m = 0, batch = 0 }) => Math.ceil(m / TASK_ROWS) * batch,
      chunk: ({ k = 0 }) => Math.max(1, Math.floor(CHUNK_ELEMENTS / (TASK_ROWS * Math.max(k, 1)))),
      cost: (scalars) => rowsCost(plan, scalars),
    },
    {
      wide: +(dtype === 'float64'),
      columns: +(layout === 'column'),
      scaled: +scale,
      normalise: +normalise,
    },
  );
  const zeros = Object.fromEntries(absent.map(({ name }) => [name, 0]));
  return { ...kernel, constants: { ...zeros, ...kernel.constants } };
}
