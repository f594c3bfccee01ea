import { own } from '@mercer/options';
import { SharedWork, type DebugOption } from '@mercer/jit-cache';
import type { Steps } from '@mercer/formula';
import {
  isBeyondCompiler,
  isInterpreted,
  type DeviceLimits,
  type PairwiseProgram,
  type Scalars,
} from '@mercer/kernels';
import { executorForKernels, isTooLong } from './cpu-executor.js';
import type { Device, LoadedKernel, LoadOptions, PointerArgument, Stream } from './device.js';
import { inSlices } from './in-slices.js';
import { planKey } from './plan-key.js';
import { RecentMap } from './recent-map.js';

/** A plan whose kernels are loaded on a device. */
export interface LoadedProgram<P> {
  readonly plan: P;
  readonly program: PairwiseProgram;
  readonly steps: readonly LoadedStep[];
}

/** A kernel of a program. */
export interface LoadedStep {
  readonly kernel: LoadedKernel;
  /** Names of the pointer parameters, in order. */
  readonly pointers: readonly string[];
  /** Scalars of this launch beside those of all. */
  readonly scalars?: Scalars | undefined;
}

/** What the pointer parameters of a program are bound to, by name; address 0 for what is not in memory. */
export type Pointers = Readonly<Record<string, PointerArgument>>;

/** A problem of any family of kernels whose programs are steps. */
export interface ProgramProblem<P extends object> {
  /** A text that two problems share exactly when they are the same problem. */
  readonly key: string;
  /** What `key` names by ids that are only unique while it lives; held as long as the key is remembered. */
  readonly holds?: object | undefined;
  /** In steps where it may take long: they are taken in slices, between which the event loop runs. */
  readonly plan: (limits: DeviceLimits) => P | Steps<P>;
  readonly emit: (plan: P) => PairwiseProgram | Steps<PairwiseProgram>;
}

interface Remembered {
  readonly holds: object | undefined;
  readonly loaded: SharedWork<LoadedProgram<unknown>>;
}

interface DevicePrograms {
  readonly byPlan: RecentMap<string, SharedWork<LoadedProgram<unknown>>>;
  /** Programs that are found without planning again. */
  readonly byProblem: RecentMap<string, Remembered>;
}

const NO_OPTIONS: LoadOptions = {};

const programs = new WeakMap<Device, DevicePrograms>();

function programsOf(device: Device): DevicePrograms {
  let known = programs.get(device);
  if (known === undefined) {
    const limit = (): number => device.kernelLimit;
    known = { byPlan: new RecentMap(limit), byProblem: new RecentMap(limit) };
    programs.set(device, known);
  }
  return known;
}

/** A program of so many characters of text counts twice. */
const USUAL_TEXT = 2 ** 15;

/** What a program counts among those that are remembered: long ones count as several. */
function weightOf({ program }: LoadedProgram<unknown>): number {
  const text = program.steps.reduce((sum, { kernel }) => {
    const words = kernel.dialect === 'cpu' ? (kernel.program?.words.length ?? 0) : 0;
    return sum + kernel.source.length + 8 * words;
  }, 0);
  return 1 + Math.floor(text / USUAL_TEXT);
}

/**
 * Plans a problem and loads its kernels, once per plan and device. Keys of problems of different families must differ. On a CPU the
 * interpreter computes what is beyond the compiler: a text that would be too long, or takes too long to compile.
 *
 * @throws the planner's, the compiler's or the loader's error, the signal's reason; a failure is not remembered
 */
export async function loadProblem<P extends object>(
  device: Device,
  problem: ProgramProblem<P>,
  options?: LoadOptions,
): Promise<LoadedProgram<P>> {
  const { key, holds, plan, emit } = own(problem, 'key', 'holds', 'plan', 'emit');
  const { debug, signal } = own(options ?? NO_OPTIONS, 'debug', 'signal');
  const { byProblem } = programsOf(device);
  const same = isQuiet(debug) ? byProblem.get(key) : undefined;
  if (same?.loaded.abandoned === false) {
    return same.loaded.join(signal) as Promise<LoadedProgram<P>>;
  }
  const loaded = new SharedWork(async (abandoned): Promise<LoadedProgram<P>> => {
    const within = { debug, signal: abandoned };
    const planAndLoad = async (limits: DeviceLimits): Promise<LoadedProgram<P>> =>
      loadPlan(device, await inSlices(plan(limits), abandoned), emit, within);
    try {
      const limits = await planningLimits(device);
      const done = await planAndLoad(limits).catch((error: unknown) => {
        if (limits.kind === 'cuda' || isInterpreted(limits) || !isForInterpreter(error))
          throw error;
        return planAndLoad({ ...limits, interpreted: true });
      });
      byProblem.set(key, { holds, loaded }, weightOf(done));
      return done;
    } catch (error) {
      if (!abandoned.aborted) byProblem.delete(key);
      throw error;
    }
  });
  byProblem.set(key, { holds, loaded });
  return loaded.join(signal);
}

/** Whether a text was too much for the compiler, by its length or by its time. */
const isForInterpreter = (error: unknown): boolean =>
  isTooLong(error) ||
  isBeyondCompiler(error) ||
  (error instanceof Error && Object.hasOwn(error, 'cause') && isForInterpreter(error.cause));

/** What a plan may know of a device: of a CPU also that it interprets. */
async function planningLimits({ limits }: Device): Promise<DeviceLimits> {
  if (limits.kind === 'cuda' || (await executorForKernels()) === 'compiled') return limits;
  return { ...limits, interpreted: true };
}

/**
 * Loads the kernels of a plan of any family whose programs are steps, once per plan and device. Plans of different
 * families must differ as JSON.
 *
 * @throws the compiler's or the loader's error, the signal's reason; a failure is not remembered
 */
export async function loadPlan<P extends object>(
  device: Device,
  plan: P,
  emit: ProgramProblem<P>['emit'],
  options?: LoadOptions,
): Promise<LoadedProgram<P>> {
  const { debug, signal } = own(options ?? NO_OPTIONS, 'debug', 'signal');
  const { byPlan } = programsOf(device);
  const planId = await inSlices(planKey(plan), signal);
  const known = isQuiet(debug) ? byPlan.get(planId) : undefined;
  if (known?.abandoned === false) return known.join(signal) as Promise<LoadedProgram<P>>;
  const loaded = new SharedWork(async (abandoned): Promise<LoadedProgram<P>> => {
    try {
      const program = await inSlices(emit(plan), abandoned);
      const done = await load(device, plan, program, { debug, signal: abandoned });
      byPlan.set(planId, loaded, weightOf(done));
      return done;
    } catch (error) {
      if (!abandoned.aborted) byPlan.delete(planId);
      throw error;
    }
  });
  byPlan.set(planId, loaded);
  return loaded.join(signal);
}

const isQuiet = (debug: DebugOption | undefined): boolean => debug === undefined || debug === false;

async function load<P>(
  device: Device,
  plan: P,
  program: PairwiseProgram,
  options: LoadOptions,
): Promise<LoadedProgram<P>> {
  const steps = program.steps.map(async (step): Promise<LoadedStep> => {
    const kernel = await device.load(step.kernel, options);
    const pointers = step.kernel.params.filter((param) => param.kind === 'pointer');
    return {
      kernel,
      pointers: pointers.map((param) => param.name),
      scalars: own(step, 'scalars').scalars,
    };
  });
  return { plan, program, steps: await Promise.all(steps) };
}

/**
 * Enqueues a program's kernels on a stream, each with the pointers and scalars that it names; others are not looked at.
 * The workspace, if any, returns to the pool behind them.
 */
export function launchProgram(
  { program, steps }: LoadedProgram<unknown>,
  stream: Stream,
  pointers: Pointers,
  scalars: Scalars,
): void {
  const bytes = program.workspaceBytes(scalars);
  const workspace =
    bytes === 0
      ? undefined
      : stream.device.allocate(bytes, { stream, purpose: 'workspace of a kernel' });
  try {
    for (const { kernel, pointers: names, scalars: own } of steps) {
      const bound = names.map((name) => {
        const pointer = name === 'workspace' ? workspace : pointers[name];
        if (pointer !== undefined) return pointer;
        throw new Error(`${kernel.kernel.name}: nothing is bound to the pointer '${name}'`);
      });
      kernel.launch(stream, {
        pointers: bound,
        scalars: own === undefined ? scalars : { ...scalars, ...own },
      });
    }
  } finally {
    workspace?.dispose();
  }
}
