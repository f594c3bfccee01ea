import { createHash } from 'node:crypto';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, tensor, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions } from '@mercer/tensor/operation';
import {
  NpyError,
  readSafetensors,
  writeSafetensors,
  type SafetensorsArray,
  type SafetensorsInput,
} from '@mercer/tensor/safetensors';
import { checkFlag } from '../checks.js';
import { optionsOf } from '../optimiser-of.js';
import { OptimError } from '../optim-error.js';
import type { Optimiser, OptimiserState } from '../optimiser.js';
import { otherRefreshes, refreshCounts } from '../refresh-names.js';
import { forget, isGoneOnFrom } from '../second-order/refreshes.js';
import { stepsTaken } from '../steps-taken.js';
import { namedLeaves } from '../tree.js';
import { inTurn } from '../turns.js';

/** What a checkpoint is of. */
export interface CheckpointOf {
  readonly optimiser: Optimiser;
  /** A tree of tensors. */
  readonly params: unknown;
  readonly state: OptimiserState;
}

const CHECKPOINT: OptionNames<CheckpointOf> = { optimiser: true, params: true, state: true };

/** What a checkpoint says of itself. */
export interface CheckpointHeader {
  readonly version: 1;
  /** Such as `adam`. */
  readonly optimiser: string;
  /** Calls of `step` before it was saved. */
  readonly step: number;
  /** Those of the optimiser: numbers, words and lists as they are; of `lr` `'a function'` or `'a tensor'` where it is one. Other functions are left out. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What the program that saved it says beside. */
  readonly about: Readonly<Record<string, unknown>>;
}

/** Options of {@link saveCheckpoint}. */
export interface SaveCheckpointOptions {
  /** What else the header is to hold, such as the model and the seed: anything that JSON has words for. */
  readonly about?: Readonly<Record<string, unknown>> | undefined;
}

const SAVE: OptionNames<SaveCheckpointOptions> = { about: true };

/** Options of {@link loadCheckpoint}. */
export interface LoadCheckpointOptions {
  /** Whether options of the optimiser may differ from those that were saved, such as a smaller `lr`; default false, as the steps after it would be others. */
  readonly otherOptions?: boolean | undefined;
}

const LOAD: OptionNames<LoadCheckpointOptions> = { otherOptions: true };

const METADATA = 'mercer.optim';
const CHECKSUM = 'mercer.optim.sha256';
const [PARAMS, STATE] = ['params/', 'state/'];

/**
 * Saves parameters and the state of their optimiser: a .safetensors file with `params/<path>`, `state/<path>/<slot>` and a header in JSON. What is loaded from it goes on bit
 * for bit as if it had not been interrupted, on either device. The file is written whole or not at all, and has a SHA-256 checksum of all that is in it.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { adam, loadCheckpoint, saveCheckpoint } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const params = { w: await tensor([1, 2], { device: 'cpu' }) };
 * const optimiser = adam({ lr: 0.5, eps: 0 });
 * using state = await optimiser.init(params);
 * await optimiser.step(params, { w: await tensor([1, -1], { device: 'cpu' }) }, state);
 * const path = join(await mkdtemp(join(tmpdir(), 'checkpoint-')), 'step-1.safetensors');
 * await saveCheckpoint(path, { optimiser, params, state });
 * await params.w.fill(0);
 * const { step } = await loadCheckpoint(path, { optimiser, params, state });
 * console.log(step, await params.w.toNested()); // 1 [ 0.5, 2.5 ]
 * ```
 *
 * @throws NpyError NPY_NOT_FOUND, NPY_IO; OptimError WRONG_STATE for the state of another optimiser; MercerError INVALID_ARGUMENT, DISPOSED
 */
export async function saveCheckpoint(
  path: string | URL,
  of: CheckpointOf,
  options?: SaveCheckpointOptions,
): Promise<void> {
  const what = 'saveCheckpoint';
  const { about = {} } = readOptions(what, options, SAVE);
  const { optimiser, params, state } = readOptions(what, of, CHECKPOINT);
  assertObjects(what, { optimiser, state });
  if (optimiser.name !== state.optimiser) {
    throw new OptimError(
      'WRONG_STATE',
      `${what}: the optimiser is ${optimiser.name}, and the state is one of ${state.optimiser}. Pass the optimiser whose init() made the state.`,
    );
  }
  const { header, arrays } = await inTurn(state, what, async () => {
    const tensors = await tensorsOf(params, state);
    const told: CheckpointHeader = {
      version: 1,
      optimiser: state.optimiser,
      step: await stepsTaken(state),
      options: optionsOf(optimiser),
      about,
    };
    const text = jsonOf(told, what);
    // all begin before one is waited for: they are of one moment
    const read = [...tensors].map(async ([name, one]): Promise<[string, SafetensorsInput]> => {
      const { shape, dtype } = one;
      return [name, { data: await one.toTypedArray({ raw: true }), shape, dtype }];
    });
    return { header: text, arrays: new Map(await Promise.all(read)) };
  });
  await writeSafetensors(path, arrays, {
    metadata: { [METADATA]: header, [CHECKSUM]: checksumOf(header, arrays) },
  });
}

/** @throws MercerError INVALID_ARGUMENT for what is missing */
function assertObjects(what: string, given: Readonly<Record<string, unknown>>): void {
  for (const [name, one] of Object.entries(given)) {
    if (typeof one === 'object' && one !== null) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(one)}. Pass { optimiser, params, state }.`,
    );
  }
}

/** Of the header and of each array in the order of the names, with what its bytes mean. */
function checksumOf(header: string, arrays: ReadonlyMap<string, SafetensorsInput>): string {
  const hash = createHash('sha256').update(header);
  for (const name of [...arrays.keys()].sort()) {
    const { data, shape, dtype } = arrays.get(name) as SafetensorsInput;
    hash.update(`\0${JSON.stringify([name, dtype, shape])}\0`);
    hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return hash.digest('hex');
}

/** @throws MercerError INVALID_ARGUMENT */
function jsonOf(header: CheckpointHeader, what: string): string {
  try {
    return JSON.stringify(header);
  } catch (error) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: about cannot be written as JSON: ${(error as Error).message}. Pass strings, numbers, flags, and lists and objects of them.`,
    );
  }
}

/**
 * Reads a checkpoint into parameters and a state, as `init` makes it, in place: all of it or, where anything does not fit, nothing. Options of the optimiser are not read: they have to be
 * those that were saved, unless `otherOptions` is true.
 *
 * @returns what the checkpoint says of itself
 * @throws OptimError BAD_CHECKPOINT for a file that is truncated, damaged, or none of `saveCheckpoint`; WRONG_STATE for one of another optimiser, with other options, or of other parameters; NpyError
 * NPY_NOT_FOUND, NPY_IO; MercerError INVALID_ARGUMENT, DISPOSED
 */
export async function loadCheckpoint(
  path: string | URL | Uint8Array,
  into: CheckpointOf,
  options?: LoadCheckpointOptions,
): Promise<CheckpointHeader> {
  const what = 'loadCheckpoint';
  const otherOptions = checkFlag(
    readOptions(what, options, LOAD).otherOptions ?? false,
    what,
    'otherOptions',
  );
  const { optimiser, params, state } = readOptions(what, into, CHECKPOINT);
  assertObjects(what, { optimiser, state });
  const targets = await tensorsOf(params, state);
  const { arrays, header } = await readFile(path, what);
  if (header.optimiser !== optimiser.name || header.optimiser !== state.optimiser) {
    throw new OptimError(
      'WRONG_STATE',
      `${what}: the file is of ${header.optimiser}, and the optimiser is ${optimiser.name} with a state of ${state.optimiser}. Pass the optimiser that was saved.`,
    );
  }
  const why = otherRefreshes('the file', arrays.keys(), targets.keys());
  if (why !== undefined) {
    throw new OptimError('WRONG_STATE', `${what}: ${why}. Nothing was changed.`);
  }
  if (!otherOptions) assertOptions(what, header.options, optimiser);
  for (const name of arrays.keys()) {
    if (!targets.has(name))
      throw otherTensors(what, `the file has ${name}, and there is no such tensor`);
  }
  for (const [name, { shape, dtype }] of targets) {
    const found = arrays.get(name);
    if (found === undefined) throw otherTensors(what, `the file has no ${name}`);
    if (found.dtype === dtype && String(found.shape) === String(shape)) continue;
    throw otherTensors(
      what,
      `${name} is ${found.dtype} ${formatShape(found.shape)} in the file, and ${dtype} ${formatShape(shape)} here`,
    );
  }
  const isUnrefreshed = (name: string): boolean => Number(arrays.get(name)?.data[0]) === 0;
  if (isGoneOnFrom(state) && refreshCounts(arrays.keys()).some(isUnrefreshed)) {
    throw new OptimError(
      'WRONG_STATE',
      `${what}: the file is of a state before its first refresh, and prepare() has captured a refresh of this one, which goes on from bases that the file has not. Load it into another state, of init(), and call refresh() once before another is captured. Nothing was changed.`,
    );
  }
  const read: (readonly [Tensor, Tensor])[] = [];
  try {
    for (const [name, target] of targets) {
      const { data, shape, dtype } = arrays.get(name) as SafetensorsArray;
      const made = await tensor(
        { data, shape } as never,
        { device: target.device, dtype } as never,
      );
      read.push([target, made]);
    }
    await inTurn(state, what, async () => {
      // what was under way is of the steps before
      await forget(state);
      for (const [target, from] of read) await target.copyFrom(from);
      state.step = header.step;
    });
  } finally {
    for (const [, one] of read) one.dispose();
  }
  return header;
}

/**
 * What a checkpoint says of itself, such as which optimiser it is of and what `about` it was saved with: for making the parameters and the optimiser that
 * `loadCheckpoint` reads it into.
 *
 * @throws OptimError BAD_CHECKPOINT; NpyError NPY_NOT_FOUND, NPY_IO
 */
export async function readCheckpointHeader(
  path: string | URL | Uint8Array,
): Promise<CheckpointHeader> {
  return (await readFile(path, 'readCheckpointHeader')).header;
}

/** All tensors by their names in a file. */
async function tensorsOf(
  params: unknown,
  state: OptimiserState,
): Promise<ReadonlyMap<string, Tensor>> {
  const leaves = (await namedLeaves(params)).map(
    ({ name, tensor: one }) => [PARAMS + name, one] as const,
  );
  for (const one of state.tensors.values()) one.assertAlive();
  return new Map([
    ...leaves,
    ...[...state.tensors].map(([name, one]) => [STATE + name, one] as const),
  ]);
}

const otherTensors = (what: string, why: string): OptimError =>
  new OptimError(
    'WRONG_STATE',
    `${what}: ${why}. Pass parameters and a state of the shapes and dtypes that were saved. Nothing was changed.`,
  );

/** @throws OptimError WRONG_STATE where options are not those of the file */
function assertOptions(
  what: string,
  saved: CheckpointHeader['options'],
  optimiser: Optimiser,
): void {
  const now = JSON.parse(JSON.stringify(optionsOf(optimiser))) as CheckpointHeader['options'];
  const differing = differences(saved, now);
  if (differing.length === 0) return;
  throw new OptimError(
    'WRONG_STATE',
    `${what}: options of ${optimiser.name} differ from those of the file: ${differing.join('; ')}. Pass the optimiser with the options that were saved, or { otherOptions: true } to go on with others. Nothing was changed.`,
  );
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Such as `lr is 0.1 in the file and 0.2 here`, by path. */
function differences(saved: unknown, now: unknown, path = ''): readonly string[] {
  if (isRecord(saved) && isRecord(now)) {
    return [...new Set([...Object.keys(saved), ...Object.keys(now)])].flatMap((name) =>
      differences(saved[name], now[name], path === '' ? name : `${path}.${name}`),
    );
  }
  const [before, after] = [saved, now].map((one) =>
    one === undefined ? 'not given' : typeof one === 'string' ? one : JSON.stringify(one),
  );
  return before === after ? [] : [`${path} is ${before ?? ''} in the file and ${after ?? ''} here`];
}

const bad = (what: string, why: string, cause?: unknown): OptimError =>
  new OptimError(
    'BAD_CHECKPOINT',
    `${what}: ${why}. Pass a file that saveCheckpoint() wrote. Nothing was changed.`,
    cause === undefined ? undefined : { cause },
  );

async function readFile(
  path: string | URL | Uint8Array,
  what: string,
): Promise<{
  readonly arrays: ReadonlyMap<string, SafetensorsArray>;
  readonly header: CheckpointHeader;
}> {
  try {
    const { arrays, metadata } = await readSafetensors(path);
    const text = metadata.get(METADATA);
    const header = headerOf(text, what);
    const [told, found] = [metadata.get(CHECKSUM), checksumOf(text ?? '', arrays)];
    if (told === found) return { arrays, header };
    throw bad(
      what,
      told === undefined
        ? `the file has no metadata '${CHECKSUM}'`
        : `the file is damaged: its checksum is ${told}, and what is in it has ${found}`,
    );
  } catch (error) {
    const isOfFile =
      error instanceof NpyError && ['NPY_NOT_FOUND', 'NPY_IO', 'NPY_ARGUMENT'].includes(error.code);
    if (error instanceof OptimError || isOfFile || !(error instanceof NpyError)) throw error;
    throw bad(what, `the file cannot be read: ${error.message}`, error);
  }
}

/** @throws OptimError BAD_CHECKPOINT */
function headerOf(text: string | undefined, what: string): CheckpointHeader {
  if (text === undefined) throw bad(what, `the file has no metadata '${METADATA}'`);
  let header: Partial<CheckpointHeader>;
  try {
    header = JSON.parse(text) as Partial<CheckpointHeader>;
  } catch (error) {
    throw bad(what, `its header is no JSON`, error);
  }
  const { version, optimiser, step, options = {}, about = {} } = header;
  if ((version as unknown) !== 1) {
    throw bad(
      what,
      `its header is of version ${describeValue(version)}, and version 1 is read here`,
    );
  }
  if (typeof optimiser !== 'string' || !Number.isSafeInteger(step) || (step as number) < 0) {
    throw bad(
      what,
      `its header has optimiser ${describeValue(optimiser)} and step ${describeValue(step)}`,
    );
  }
  return { version: 1, optimiser, step: step as number, options, about };
}
