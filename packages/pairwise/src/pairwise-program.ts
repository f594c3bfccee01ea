import {
  emitPairwise,
  planPairwise,
  type PairwisePlan,
  type PairwiseProblem,
  type PairwiseProgram,
  type Scalars,
} from '@mercer/kernels';
import {
  type DebugOption,
  type Device,
  type LoadedKernel,
  type Stream,
  type Tensor,
} from '@mercer/tensor';
import { problemKey } from './problem-key.js';

/** A plan whose kernels are loaded on a device. */
export interface LoadedProgram {
  readonly plan: PairwisePlan;
  readonly program: PairwiseProgram;
  readonly kernels: readonly LoadedKernel[];
}

/** Problems whose programs are found without planning again; beyond this many, the memory starts anew. */
const REMEMBERED_PROBLEMS = 4096;

interface DevicePrograms {
  readonly byPlan: Map<string, Promise<LoadedProgram>>;
  /** The expressions are held, so that their ids, which are in the key, are not given to others. */
  readonly byProblem: Map<string, { problem: PairwiseProblem; loaded: Promise<LoadedProgram> }>;
}

const programs = new WeakMap<Device, DevicePrograms>();

function programsOf(device: Device): DevicePrograms {
  let known = programs.get(device);
  if (known === undefined) {
    known = { byPlan: new Map(), byProblem: new Map() };
    programs.set(device, known);
  }
  return known;
}

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
  const { byPlan, byProblem } = programsOf(device);
  const quiet = debug === undefined || debug === false;
  const problemId = problemKey(problem);
  const same = quiet ? byProblem.get(problemId) : undefined;
  if (same !== undefined) return same.loaded;
  const plan = planPairwise(problem, device.limits);
  const planId = JSON.stringify(plan);
  const loaded = (quiet ? byPlan.get(planId) : undefined) ?? load(device, plan, debug);
  if (byProblem.size >= REMEMBERED_PROBLEMS) byProblem.clear();
  byPlan.set(planId, loaded);
  byProblem.set(problemId, { problem, loaded });
  try {
    return await loaded;
  } catch (error) {
    byPlan.delete(planId);
    byProblem.delete(problemId);
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
    bytes === 0
      ? undefined
      : stream.device.allocate(bytes, { stream, purpose: 'workspace of a pairwise kernel' });
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
