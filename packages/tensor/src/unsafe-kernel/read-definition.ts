import {
  emitUserKernel,
  type DType,
  type EmittedKernel,
  type KernelParam,
  type ScalarType,
} from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkDType } from '../check-argument.js';
import { MercerError } from '../mercer-error.js';
import { readOptions } from '../read-options.js';
import type { UnsafeKernelDefinition, UnsafeLaunch, UnsafeText } from './definition.js';

/** A parameter that points to elements. */
export interface TensorParameter {
  readonly name: string;
  readonly dtype: DType;
}

/** A parameter that is a number. */
export interface NumberParameter {
  readonly name: string;
  readonly type: ScalarType;
}

/** A definition that was checked, with its kernels. */
export interface ReadDefinition {
  readonly name: string;
  readonly inputs: readonly TensorParameter[];
  readonly outputs: readonly TensorParameter[];
  /** Numbers that each call brings, and those that follow from them. */
  readonly scalars: readonly NumberParameter[];
  readonly sizes: readonly NumberParameter[];
  readonly kernels: { readonly cuda: EmittedKernel; readonly cpu: EmittedKernel | undefined };
  readonly sizesOf: ((given: object) => object) | undefined;
  readonly launchOf: (call: object) => UnsafeLaunch;
}

type Parameter =
  | { readonly kind: 'input' | 'output'; readonly name: string; readonly type: DType }
  | { readonly kind: 'scalar' | 'size'; readonly name: string; readonly type: ScalarType };

const NAMES: OptionNames<UnsafeKernelDefinition> = {
  name: true,
  parameters: true,
  cuda: true,
  cpu: true,
  sizes: true,
  launch: true,
};

const KINDS = { input: true, output: true, scalar: true, size: true } as const;
const TEXT = { helpers: true, body: true } as const;

/** Identifiers that C++ does not keep for itself. */
const IDENTIFIER = /^(?!__)(?!_[A-Z])[A-Za-z_]\w*$/;
/** What a body of the host calls its range of tasks. */
const RANGE = ['begin', 'end'];

const NUMBERS: { readonly [K in 'scalar' | 'size']: readonly ScalarType[] } = {
  scalar: ['int32', 'int64', 'float32', 'float64'],
  size: ['int32', 'int64'],
};

const invalid = (message: string): MercerError => new MercerError('INVALID_ARGUMENT', message);

/** @throws MercerError INVALID_ARGUMENT */
export function readDefinition(definition: UnsafeKernelDefinition): ReadDefinition {
  const given = readOptions('unsafeKernel', definition, NAMES);
  const name: unknown = given.name ?? 'kernel';
  if (typeof name !== 'string' || !IDENTIFIER.test(name)) {
    throw invalid(
      `unsafeKernel: the name is ${describeValue(name)}. Use an identifier of C without leading __.`,
    );
  }
  const what = `unsafeKernel ${name}`;
  const parameters = readParameters(what, given.parameters);
  const { sizes, launch } = given;
  if (sizes === undefined && parameters.some(({ kind }) => kind === 'size')) {
    throw invalid(`${what}: it has parameters that are sizes. Give sizes, which computes them.`);
  }
  for (const [rule, call] of Object.entries({ launch, ...(sizes && { sizes }) })) {
    if (typeof call === 'function') continue;
    throw invalid(`${what}: ${rule} is ${describeValue(call)}. Pass a function.`);
  }
  const params = parameters.map(paramOf);
  const emit = (dialect: 'cuda' | 'cpu'): EmittedKernel =>
    emitUserKernel({ name, params, ...readText(`${what}: ${dialect}`, given[dialect]) }, dialect);
  return {
    name,
    inputs: pointersOf(parameters, 'input'),
    outputs: pointersOf(parameters, 'output'),
    scalars: numbersOf(parameters, 'scalar'),
    sizes: numbersOf(parameters, 'size'),
    kernels: { cuda: emit('cuda'), cpu: given.cpu === undefined ? undefined : emit('cpu') },
    sizesOf: sizes,
    launchOf: launch,
  };
}

function readParameters(what: string, given: unknown): readonly Parameter[] {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw invalid(
      `${what}: the parameters are ${describeValue(given)}. Pass an object such as { x: { input: 'float32' }, y: { output: 'float32' } }.`,
    );
  }
  const parameters = Object.entries(given).map(([name, one]) => readParameter(what, name, one));
  if (parameters.some(({ kind }) => kind === 'output')) return parameters;
  throw invalid(`${what}: it has no output. Give a parameter such as y: { output: 'float32' }.`);
}

function readParameter(what: string, name: string, given: unknown): Parameter {
  const which = `${what}: parameter '${name}'`;
  if (!IDENTIFIER.test(name) || RANGE.includes(name)) {
    throw invalid(
      `${which}: it cannot have this name. Use an identifier of C without leading __, other than ${RANGE.join(' and ')}.`,
    );
  }
  const kinds = Object.entries(readOptions<object>(which, given as object, KINDS)).filter(
    ([, type]) => type !== undefined,
  ) as [keyof typeof KINDS, unknown][];
  const [first, ...others] = kinds;
  if (first === undefined || others.length > 0) {
    throw invalid(
      `${which}: it is ${first === undefined ? 'nothing' : kinds.map(([kind]) => kind).join(' and ')}. Give one of input, output, scalar and size.`,
    );
  }
  const [kind, type] = first;
  if (kind === 'input' || kind === 'output') {
    return { kind, name, type: checkDType(type as DType, which) };
  }
  const known = NUMBERS[kind].find((one) => one === type);
  if (known !== undefined) return { kind, name, type: known };
  throw invalid(
    `${which}: ${describeValue(type)} is no type of a ${kind}. Use ${NUMBERS[kind].join(', ')}.`,
  );
}

const pointersOf = (
  all: readonly Parameter[],
  wanted: 'input' | 'output',
): readonly TensorParameter[] =>
  all.flatMap((one) => (one.kind === wanted ? [{ name: one.name, dtype: one.type }] : []));

const numbersOf = (
  all: readonly Parameter[],
  wanted: 'scalar' | 'size',
): readonly NumberParameter[] =>
  all.flatMap((one) => (one.kind === wanted ? [{ name: one.name, type: one.type }] : []));

function readText(which: string, given: UnsafeText | undefined) {
  const { helpers = '', body } =
    typeof given === 'string' ? { body: given } : readOptions(which, given, TEXT);
  for (const [part, text] of Object.entries({ helpers, body })) {
    if (
      typeof text === 'string' &&
      !text.includes('\0') &&
      (part === 'helpers' || text.trim() !== '')
    )
      continue;
    throw invalid(
      `${which}: the ${part} is ${describeValue(text)}. Pass the text of a kernel's body, or { helpers, body }.`,
    );
  }
  return { helpers, body };
}

function paramOf({ kind, name, type }: Parameter): KernelParam {
  if (kind === 'scalar' || kind === 'size') return { name, kind: 'scalar', type };
  return { name, kind: 'pointer', dtype: type, access: kind === 'input' ? 'read' : 'write' };
}
