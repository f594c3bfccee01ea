import type { OptionNames } from '@mercer/options';
import type { Tree } from '@mercer/autodiff';
import { leavesOf, replaced } from '@mercer/autodiff/transform';
import { MercerError, tensor, type DeviceLike, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions } from '@mercer/tensor/operation';
import {
  listSafetensors,
  readSafetensors,
  writeSafetensors,
  type SafetensorsInput,
} from '@mercer/tensor/safetensors';

/** Names of torch's modules that are written otherwise here. */
const TORCH_NAMES: Readonly<Record<string, string>> = {
  inProjWeight: 'in_proj_weight',
  inProjBias: 'in_proj_bias',
  outProj: 'out_proj',
  runningMean: 'running_mean',
  runningVar: 'running_var',
};

/** The name of a tensor in a state dict of torch: `layers[0].outProj.weight` as `layers.0.out_proj.weight`. */
function torchName(path: string): string {
  const parts = path.replaceAll(/\[(\d+)\]/g, '.$1').split('.');
  return parts
    .filter((part) => part !== '')
    .map((part) => (Object.hasOwn(TORCH_NAMES, part) ? (TORCH_NAMES[part] ?? part) : part))
    .join('.');
}

/** How many batches torch's batch norm has seen, of which nothing here depends. */
const BATCHES = 'num_batches_tracked';
const MEAN = 'running_mean';

/** Options of {@link saveWeights}. */
export interface SaveWeightsOptions {
  /** What layers know beside their parameters, such as running statistics. */
  readonly state?: object | undefined;
  /** Texts by name. Default: `{ format: 'pt' }`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

const SAVE: OptionNames<SaveWeightsOptions> = { state: true, metadata: true };

const named = async (
  what: string,
  trees: readonly (object | undefined)[],
): Promise<ReadonlyMap<string, Tensor>> => {
  const all = new Map<string, Tensor>();
  for (const tree of trees) {
    for (const { value, path } of tree === undefined ? [] : await leavesOf(tree, '')) {
      const name = torchName(path);
      if (name === '' || all.has(name)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          name === ''
            ? `${what}: the parameters are one tensor without a name. Pass an object, such as { weight }.`
            : `${what}: two tensors have the name ${JSON.stringify(name)}. Name parameters and state differently.`,
        );
      }
      all.set(name, value);
    }
  }
  return all;
};

/**
 * Writes parameters as a .safetensors file, whole or not at all, with the names and shapes of torch's modules, which read it by `load_state_dict(load_file(path))`.
 *
 * @param params a tree of tensors; names are those of the tree, joined by dots
 * @throws MercerError INVALID_ARGUMENT; NpyError NPY_IO, NPY_NOT_FOUND
 */
export async function saveWeights(
  path: string | URL,
  params: Tree,
  options?: SaveWeightsOptions,
): Promise<void> {
  const what = 'saveWeights';
  const { state, metadata = { format: 'pt' } } = readOptions(what, options, SAVE);
  const arrays = new Map<string, SafetensorsInput>();
  for (const [name, value] of await named(what, [params, state])) {
    const { shape, dtype } = value;
    const data = (await value.toTypedArray({ raw: true })) as SafetensorsInput['data'];
    arrays.set(name, { data, shape, dtype });
    if (!name.endsWith(MEAN)) continue;
    arrays.set(`${name.slice(0, -MEAN.length)}${BATCHES}`, {
      data: BigInt64Array.of(0n),
      shape: [],
    });
  }
  await writeSafetensors(path, arrays, { metadata });
}

/** Options of {@link loadWeights}. */
export interface LoadWeightsOptions<S extends object = object> {
  /** A state like that of the file: what `initState` gave. */
  readonly state?: S | undefined;
  /** Default: where the parameters are that are passed. */
  readonly device?: DeviceLike | undefined;
}

const LOAD: OptionNames<LoadWeightsOptions> = { state: true, device: true };

/** Parameters of a file, and the state beside them. */
export interface LoadedWeights<P, S> {
  readonly params: P;
  readonly state: S;
}

/**
 * Reads parameters from a .safetensors file, such as one of torch: new tensors with the names, shapes and dtypes of those that are passed. Nothing is read where a name is missing, a shape differs, or the
 * file has a name more.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { layers } from '@mercer/optim';
 * import { random } from '@mercer/tensor';
 *
 * const file = join(await mkdtemp(join(tmpdir(), 'weights-')), 'model.safetensors');
 * const layer = layers.linear({ inputs: 2, outputs: 3 });
 * const trained = await layer.init(random.key(1), { device: 'cpu' });
 * await layers.saveWeights(file, trained);
 * const { params } = await layers.loadWeights(file, await layer.init(random.key(2), { device: 'cpu' }));
 * console.log(params.weight.shape); // [ 3, 2 ]
 * ```
 *
 * @param like a tree like the one that was saved, as `init` gives it, which stays as it is
 * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT; NpyError as `readSafetensors`
 */
export async function loadWeights<P extends Tree, S extends object>(
  path: string | URL,
  like: P,
  options?: LoadWeightsOptions<S>,
): Promise<LoadedWeights<P, S | undefined>> {
  const what = 'loadWeights';
  const { state, device } = readOptions(what, options, LOAD);
  const wanted = await named(what, [like, state]);
  const { arrays: entries } = await listSafetensors(path);
  const missing = [...wanted.keys()].filter((name) => !entries.has(name));
  const surplus = [...entries.keys()].filter(
    (name) => !wanted.has(name) && !name.endsWith(BATCHES),
  );
  if (missing.length > 0 || surplus.length > 0) {
    const list = (names: readonly string[]): string =>
      names.length === 0 ? 'none' : names.slice(0, 8).join(', ');
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${String(path)} has other tensors than the parameters. Missing: ${list(missing)}; more: ${list(surplus)}. Pass parameters of the network that was saved, and { state } for running statistics.`,
    );
  }
  for (const [name, { shape }] of wanted) {
    const own = entries.get(name)?.shape ?? [];
    if (formatShape(own) === formatShape(shape)) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} has shape ${formatShape(own)} in ${String(path)}, and the parameters have ${formatShape(shape)}. Pass parameters of the network that was saved.`,
    );
  }
  const { arrays } = await readSafetensors(path, { names: [...wanted.keys()] });
  const made: Tensor[] = [];
  try {
    for (const [name, { dtype, device: own }] of wanted) {
      const read = await tensor(arrays.get(name) as never, { device: device ?? own });
      made.push(read as Tensor);
      if ((read as Tensor).dtype === dtype) continue;
      made[made.length - 1] = await (read as Tensor).cast(dtype);
      (read as Tensor).dispose();
    }
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
  const count = (await leavesOf(like, '')).length;
  return {
    params: replaced(like, made.slice(0, count)) as P,
    state: state === undefined ? undefined : (replaced(state, made.slice(count)) as S),
  };
}
