import type { Expr } from '@mercer/formula';
import type { DType, EmittedKernel, PlannedMap } from '@mercer/kernels';
import type { Device } from './device.js';
import type { MapInputs } from './map-inputs.js';
import type { MapOptions } from './map-options.js';
import { RecentMap } from './recent-map.js';
import { isTensor, type Tensor } from './tensor.js';

/** A map that was checked and planned for layouts: what is left to do for a call with the same. */
export interface KnownMap {
  readonly device: Device;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Undefined where there is no element. */
  readonly work: { readonly planned: PlannedMap; readonly kernel: EmittedKernel } | undefined;
}

/** Layouts of one formula that are remembered. */
const REMEMBERED_LAYOUTS = 256;

/** By formula and key; those of a formula that nobody holds are forgotten with it. */
const known = new WeakMap<Expr, RecentMap<string, KnownMap>>();

/**
 * All that checks and plan of a map depend on but the formula: the device, names, dtypes, shapes and strides. Undefined where
 * an argument is not what it should be, so that the checks say so.
 */
export function mapKey(inputs: MapInputs, options: MapOptions): string | undefined {
  const { out, dtype, parameters, indices } = options;
  const parts: string[] = [String(dtype)];
  let device: string | undefined;
  const add = (name: string, value: unknown): boolean => {
    if (!isTensor(value)) return false;
    const tensor: Tensor = value;
    device ??= tensor.device.id;
    parts.push(named(name), tensor.dtype, tensor.shape.join(), tensor.strides.join());
    return tensor.device.id === device;
  };
  if (!isRecord(inputs)) return undefined;
  for (const name of Object.keys(inputs)) if (!add(name, inputs[name])) return undefined;
  parts.push('out');
  if (out !== undefined && !add('', out)) return undefined;
  for (const record of [parameters, indices]) {
    if (record !== undefined && !isRecord(record)) return undefined;
  }
  parts.push('parameters');
  for (const [name, value] of Object.entries<unknown>(parameters ?? {})) {
    if (typeof value !== 'number') return undefined;
    parts.push(named(name));
  }
  for (const [name, axis] of Object.entries<unknown>(indices ?? {})) {
    if (typeof axis !== 'number') return undefined;
    parts.push(String(axis), named(name));
  }
  return device === undefined ? undefined : `${device}\n${parts.join('\n')}`;
}

/** What was remembered for a key; nothing where the output may be memory of an input, which depends on more than layouts. */
export function knownMap(
  expr: Expr,
  key: string | undefined,
  inputs: MapInputs,
  out: Tensor | undefined,
): KnownMap | undefined {
  const found = key === undefined ? undefined : known.get(expr)?.get(key);
  if (found === undefined || out === undefined) return found;
  return Object.values(inputs).some(({ storage }) => storage === out.storage) ? undefined : found;
}

/** Remembers a map for a key. */
export function rememberMap(expr: Expr, key: string | undefined, map: KnownMap): void {
  if (key === undefined) return;
  let ofFormula = known.get(expr);
  if (ofFormula === undefined) {
    ofFormula = new RecentMap<string, KnownMap>(() => REMEMBERED_LAYOUTS);
    known.set(expr, ofFormula);
  }
  ofFormula.set(key, map);
}

/** With its length, so that no name can be taken for two parts. */
const named = (name: string): string => `${name.length} ${name}`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
