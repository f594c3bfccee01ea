import { own } from '@mercer/options';
import { SharedWork } from '@mercer/jit-cache';
import type { Steps } from '@mercer/formula/plan';
import {
  isBeyondCompiler,
  isEmitted,
  type DeviceLimits,
  type KernelProgram,
  type LaunchableKernel,
  type Scalars,
} from '@mercer/kernels';
import type { CpuExecutor } from './cpu-executor.js';
import type { Device, LoadedKernel, PointerArgument, Stream } from './device.js';
import { Executable, type CallLoadOptions } from './executable.js';
import { inSlices } from './in-slices.js';
import type { KernelTable } from './kernel-table.js';
import { coreOf } from './operations.js';
import { planKey } from './plan-key.js';
import { RecentMap } from './recent-map.js';

/** What a plan says beside its own once its kernels are loaded. */
export interface Executed {
  /** What runs the kernels on the CPU; absent on a GPU, and where all are built-in functions. */
  readonly executor?: CpuExecutor;
}

/** A program of texts and built-in functions. */
type LaunchedProgram = KernelProgram<LaunchableKernel>;

/** A plan whose kernels are loaded on a device. */
export interface LoadedProgram<P> {
  readonly plan: P & Executed;
  readonly program: LaunchedProgram;
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
  readonly emit: (plan: P) => LaunchedProgram | Steps<LaunchedProgram>;
}

/** A plan with its kernels, before they are loaded. */
interface Planned<P> {
  readonly plan: P;
  readonly program: LaunchedProgram;
}

/** A plan that was found or made, and what it counts among those that are remembered. */
interface Found<P> {
  readonly executable: Executable<LoadedProgram<P>>;
  readonly weight: number;
}

interface Remembered {
  readonly holds: object | undefined;
  readonly found: SharedWork<Found<unknown>>;
}

interface DevicePrograms {
  readonly byPlan: RecentMap<string, SharedWork<Found<unknown>>>;
  /** Programs that are found without planning again. */
  readonly byProblem: RecentMap<string, Remembered>;
}

const NO_OPTIONS: CallLoadOptions = {};

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
function weightOf({ steps }: LaunchedProgram): number {
  const text = steps.reduce((sum, { kernel }) => {
    const words = kernel.dialect === 'cpu' ? (kernel.program?.words.length ?? 0) : 0;
    return sum + (isEmitted(kernel) ? kernel.source.length : 0) + 8 * words;
  }, 0);
  return 1 + Math.floor(text / USUAL_TEXT);
}

/**
 * Plans a problem and loads its kernels, once per plan and device. Keys of problems of different families must differ. On a CPU the
 * interpreter, for which a plan is made anew, computes what is beyond the compiler (a text that would be too long, or takes too long
 * to compile), and calls that say how many `values` they compute where that takes less time than the compiler.
 *
 * @throws the planner's, the compiler's or the loader's error, the signal's reason; a failure is not remembered
 */
export async function loadProblem<P extends object>(
  device: Device,
  problem: ProgramProblem<P>,
  options?: CallLoadOptions,
): Promise<LoadedProgram<P>> {
  const { key, holds, plan, emit } = own(problem, 'key', 'holds', 'plan', 'emit');
  const given = own(options ?? NO_OPTIONS, 'debug', 'signal', 'values');
  const { byProblem } = programsOf(device);
  const same = byProblem.get(key);
  if (same?.found.abandoned === false) {
    const { executable } = (await same.found.join(given.signal)) as Found<P>;
    return executable.load(given);
  }
  const found = new SharedWork(async (abandoned): Promise<Found<P>> => {
    const { limits } = device;
    const planned = async (of: DeviceLimits, signal: AbortSignal): Promise<P> =>
      inSlices(plan(of), signal);
    const interpreted = (signal: AbortSignal): Promise<P> =>
      planned(limits.kind === 'cpu' ? { ...limits, interpreted: true } : limits, signal);
    const find = async (of: P, replan?: typeof interpreted): Promise<Found<P>> =>
      findPlan(device, of, emit, replan).join(abandoned);
    try {
      const only = (await coreOf(device).executors([])) === 'interpreted';
      const done = only
        ? await find(await interpreted(abandoned))
        : await planned(limits, abandoned)
            .then((of) => find(of, interpreted))
            .catch(async (error: unknown) => {
              if (limits.kind === 'cuda' || !isBeyond(error)) throw error;
              return find(await interpreted(abandoned));
            });
      byProblem.set(key, { holds, found }, done.weight);
      return done;
    } catch (error) {
      if (!abandoned.aborted) byProblem.delete(key);
      throw error;
    }
  });
  byProblem.set(key, { holds, found });
  return (await found.join(given.signal)).executable.load(given);
}

/** Whether a text was too long for the compiler. */
const isBeyond = (error: unknown): boolean =>
  isBeyondCompiler(error) ||
  (error instanceof Error && Object.hasOwn(error, 'cause') && isBeyond(error.cause));

/**
 * Loads the kernels of a plan of any family whose programs are steps, once per plan and device. Plans of different
 * families must differ as JSON. The interpreter runs the kernels' own programs, as `loadProblem` says.
 *
 * @throws the compiler's or the loader's error, the signal's reason; a failure is not remembered
 */
export async function loadPlan<P extends object>(
  device: Device,
  plan: P,
  emit: ProgramProblem<P>['emit'],
  options?: CallLoadOptions,
): Promise<LoadedProgram<P>> {
  const given = own(options ?? NO_OPTIONS, 'debug', 'signal', 'values');
  const found = findPlan(device, plan, emit);
  return (await found.join(given.signal)).executable.load(given);
}

/** `replan` makes the plan for the interpreter. */
function findPlan<P extends object>(
  device: Device,
  plan: P,
  emit: ProgramProblem<P>['emit'],
  replan?: (signal: AbortSignal) => Promise<P>,
): SharedWork<Found<P>> {
  return new SharedWork(async (signal): Promise<Found<P>> => {
    const { byPlan } = programsOf(device);
    const planId = await inSlices(planKey(plan), signal);
    const known = byPlan.get(planId);
    if (known?.abandoned === false) return known.join(signal) as Promise<Found<P>>;
    const found = new SharedWork(async (abandoned): Promise<Found<P>> => {
      try {
        const program = await inSlices(emit(plan), abandoned);
        const weight = weightOf(program);
        byPlan.set(planId, found, weight);
        return { executable: executableOf(device, { plan, program }, emit, replan), weight };
      } catch (error) {
        if (!abandoned.aborted) byPlan.delete(planId);
        throw error;
      }
    });
    byPlan.set(planId, found);
    return found.join(signal);
  });
}

function executableOf<P extends object>(
  device: Device,
  planned: Planned<P>,
  emit: ProgramProblem<P>['emit'],
  replan: ((signal: AbortSignal) => Promise<P>) | undefined,
): Executable<LoadedProgram<P>> {
  const { kernels } = coreOf(device);
  return new Executable({
    ...kernels.partsOf(kernelsOf(planned)),
    compiled: (options) => load(planned, (kernel) => kernels.compiled(kernel, options)),
    asked: () => load(planned, (kernel) => kernels.asked(kernel)),
    interpreted: async (signal, debug) => {
      let own = planned;
      if (replan !== undefined) {
        const plan = await replan(signal);
        own = { plan, program: await inSlices(emit(plan), signal) };
      }
      return {
        form: await load(own, (kernel) => kernels.interpreted(kernel, debug)),
        milliseconds: (values) => kernels.interpreterMs(kernelsOf(own), values),
      };
    },
  });
}

const kernelsOf = ({ program }: Planned<unknown>): Parameters<KernelTable['partsOf']>[0] =>
  program.steps.map(({ kernel }) => kernel);

async function load<P extends object>(
  { plan, program }: Planned<P>,
  loaded: (kernel: LaunchableKernel) => LoadedKernel | Promise<LoadedKernel>,
): Promise<LoadedProgram<P>> {
  const steps = await Promise.all(
    program.steps.map(async (step): Promise<LoadedStep> => {
      const kernel = await loaded(step.kernel);
      const pointers = step.kernel.params.filter((param) => param.kind === 'pointer');
      return {
        kernel,
        pointers: pointers.map((param) => param.name),
        scalars: own(step, 'scalars').scalars,
      };
    }),
  );
  const executor = steps.find(({ kernel }) => kernel.executor !== undefined)?.kernel.executor;
  return {
    plan: executor === undefined ? plan : Object.freeze({ ...plan, executor }),
    program,
    steps,
  };
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
