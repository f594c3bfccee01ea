import { lapack } from '@mercer/cpu-runtime';
import { pointerAt, type CallSteps } from '@mercer/tensor/operation';
import type { Setting } from './checks.js';
import { cudaRoutine } from './cuda/run-cuda.js';
import { fallbackRoutine } from './fallback/run-fallback.js';
import { scalarsOf, viewsOf, type PlannedArguments } from './routine.js';
import { isOnGpus, needsLapack, routines, type FieldsOf, type RoutineName } from './routines.js';

/** A call that is being written down. */
export interface Composed {
  readonly steps: CallSteps;
  readonly setting: Setting;
}

const NOWHERE = { kind: 'none' } as const;

/** Does the work of a routine, one task for each batch entry. */
export function runRoutine<K extends RoutineName>(
  { steps, setting: { batchShape: _, ...common } }: Composed,
  batchShape: readonly number[],
  name: K,
  args: PlannedArguments<FieldsOf<K>>,
): void {
  const { device, dtype } = common;
  const setting = { ...common, batchShape };
  const routine = routines[name];
  const views = Object.entries(viewsOf(routine, args));
  const step = {
    values: 0,
    pointers: Object.fromEntries(
      views.map(([field, view]) => [field, view === undefined ? NOWHERE : pointerAt(view)]),
    ),
    scalars: scalarsOf(routine, args, batchShape),
  };
  const kernel = routine.kernels[dtype];
  if (device.kind === 'cuda' && isOnGpus(name)) {
    steps.addRoutine(`${name} ${dtype}`, cudaRoutine(name, setting, args as never), step);
  } else if (needsLapack(name) && !lapack.isAvailable()) {
    steps.addRoutine(`${name} ${dtype}`, fallbackRoutine(name, setting, args), step);
  } else {
    steps.addKernel(kernel.name, kernel, step);
  }
}
