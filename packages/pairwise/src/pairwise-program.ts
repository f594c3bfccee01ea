import {
  emitPairwise,
  planPairwise,
  type PairwisePlan,
  type PairwiseProblem,
  type PairwiseProgram,
  type Scalars,
} from '@mercer/kernels';
import {
  empty,
  type DebugOption,
  type Device,
  type LoadedKernel,
  type Stream,
  type Tensor,
} from '@mercer/tensor';

/** A plan whose kernels are loaded on a device. */
export interface LoadedProgram {
  readonly plan: PairwisePlan;
  readonly program: PairwiseProgram;
  readonly kernels: readonly LoadedKernel[];
}

const loaded = new WeakMap<Device, Map<string, Promise<LoadedProgram>>>();

/**
 * Plans a problem and loads its kernels, once per plan and device.
 *
 * @throws the compiler's or the loader's error; a failure is not remembered
 */
export async function loadProgram(
  device: Device,
  problem: PairwiseProblem,
  debug?: DebugOption,
): Promise<LoadedProgram> {
  const plan = planPairwise(problem, device.limits);
  const key = JSON.stringify(plan);
  let programs = loaded.get(device);
  if (programs === undefined) loaded.set(device, (programs = new Map()));
  const known = programs.get(key);
  if (known !== undefined && (debug === undefined || debug === false)) return known;
  const pending = load(device, plan, debug);
  programs.set(key, pending);
  try {
    return await pending;
  } catch (error) {
    programs.delete(key);
    throw error;
  }
}

async function load(
  device: Device,
  plan: PairwisePlan,
  debug: DebugOption | undefined,
): Promise<LoadedProgram> {
  const program = emitPairwise(plan);
  const kernels = await Promise.all(
    program.steps.map((step) => device.load(step.kernel, debug === undefined ? {} : { debug })),
  );
  return { plan, program, kernels };
}

/** Enqueues a program's kernels on a stream; the workspace, if any, returns to the pool behind them. */
export function launchProgram(
  { program, kernels }: LoadedProgram,
  stream: Stream,
  tensors: readonly [a: Tensor, b: Tensor, out: Tensor],
  scalars: Scalars,
): void {
  const bytes = program.workspaceBytes(scalars);
  const workspace =
    bytes === 0 ? undefined : empty([bytes], { dtype: 'uint8', device: stream.device, stream });
  try {
    for (const [index, kernel] of kernels.entries()) {
      const step = program.steps[index];
      const takesWorkspace = step?.kernel.params.at(-1)?.name === 'workspace';
      const pointers =
        takesWorkspace && workspace !== undefined ? [...tensors, workspace] : tensors;
      kernel.launch(stream, { pointers, scalars });
    }
  } finally {
    workspace?.dispose();
  }
}
