import { own } from '@mercer/options';
import type { DType } from '../dtype.js';
import type { KernelParam } from '../kernel-param.js';

/** How a text spells the parameters that a launch packs: their order and their sizes are those of the list itself. */
export interface ParameterSpelling {
  /** The names of the integer types; default `int` and `long long`. */
  readonly integers?: Integers;
  /** Pointers to this dtype are pointers to `T`. */
  readonly dtypeOfT?: DType;
  /** What a pointer points to in the text, by its name, where that is not what its dtype says. */
  readonly elements?: Readonly<Record<string, string>>;
  /** The name in the text; default: the parameter's. */
  readonly nameOf?: (name: string) => string;
}

/** A parameter list in CUDA C++. */
export interface ListSpelling extends ParameterSpelling {
  /** Whether nothing else points to where a pointer does; default: nothing does. */
  readonly restricts?: (name: string) => boolean;
  /** Names of the parameters that begin a line. */
  readonly lines?: readonly string[];
}

/** The arguments of a host kernel as a struct. */
export interface StructSpelling extends ParameterSpelling {
  /** Whether a declaration has a line of its own; default: all stand in one line. */
  readonly inLines?: boolean;
  /** Whether a parameter has a declaration of its own, even where the one before has its type. */
  readonly apart?: (param: KernelParam) => boolean;
  /** Prefixes of int64 numbers from 0 on that are members of one array: `n0`, `n1` become `n[2]`. */
  readonly arrays?: readonly string[];
}

interface Integers {
  readonly int32: string;
  readonly int64: string;
}

const PLAIN: Integers = { int32: 'int', int64: 'long long' };
/** The types that `prelude` declares. */
export const SHORT_INTEGERS: Integers = { int32: 'i32', int64: 'i64' };
/** Those of `stdint.h`. */
export const STANDARD_INTEGERS: Integers = { int32: 'int32_t', int64: 'int64_t' };

/** `valueStride` as `value_stride`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

interface Declaration {
  readonly type: string;
  /** `*` or nothing. */
  readonly star: string;
  readonly name: string;
  readonly param: KernelParam;
}

/** The parameters of a CUDA kernel as text between parentheses. */
export function parameterList(params: readonly KernelParam[], spelling: ListSpelling = {}): string {
  const { restricts = () => true, lines = [] } = own(spelling, 'restricts', 'lines');
  return params
    .map((param, at) => {
      const { type, star, name } = declaration(param, spelling);
      const qualifier = star !== '' && restricts(param.name) ? ' __restrict__' : '';
      const before = at === 0 ? '' : lines.includes(param.name) ? ',\n    ' : ', ';
      return `${before}${type}${star}${qualifier} ${name}`;
    })
    .join('');
}

/** The struct `Args` of a host kernel's packed parameters, with its semicolon. */
export function argumentsStruct(
  params: readonly KernelParam[],
  spelling: StructSpelling = {},
): string {
  const {
    inLines = false,
    apart = () => false,
    arrays = [],
  } = own(spelling, 'inLines', 'apart', 'arrays');
  const runs: Declaration[][] = [];
  for (const one of withArrays(params, arrays).map((param) => declaration(param, spelling))) {
    const run = runs.at(-1);
    const isShared = run?.[0]?.type === one.type && run[0].star === one.star && !apart(one.param);
    if (isShared) run.push(one);
    else runs.push([one]);
  }
  const members = runs.map(([first, ...others]) => {
    if (first === undefined) return '';
    const { type, star, name } = first;
    if (others.length === 0) return `${type}${star} ${name};`;
    return `${type} ${[first, ...others].map((one) => one.star + one.name).join(', ')};`;
  });
  return inLines
    ? `struct Args {\n${members.map((member) => `  ${member}\n`).join('')}};`
    : `struct Args { ${members.join(' ')} };`;
}

/** The parameters with an array for every prefix. */
function withArrays(params: readonly KernelParam[], arrays: readonly string[]): KernelParam[] {
  const prefixOf = (name: string): string | undefined =>
    arrays.find((prefix) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)));
  const size = (prefix: string): number =>
    params.filter(({ name }) => prefixOf(name) === prefix).length;
  return params.flatMap((param) => {
    const prefix = prefixOf(param.name);
    if (prefix === undefined) return [param];
    return param.name === `${prefix}0` ? [{ ...param, name: `${prefix}[${size(prefix)}]` }] : [];
  });
}

function declaration(param: KernelParam, spelling: ParameterSpelling): Declaration {
  const {
    integers = PLAIN,
    dtypeOfT,
    elements = {},
    nameOf = (name: string): string => name,
  } = own(spelling, 'integers', 'dtypeOfT', 'elements', 'nameOf');
  const names: Readonly<Record<string, string>> = {
    ...integers,
    float32: 'float',
    float64: 'double',
    float16: 'u16',
    bfloat16: 'u16',
  };
  const name = nameOf(param.name);
  if (param.kind === 'tensorMap') throw new TypeError(`the tensor map ${name} has no text`);
  if (param.kind === 'scalar') return { type: names[param.type] ?? '', star: '', name, param };
  const named = Object.hasOwn(elements, param.name) ? elements[param.name] : undefined;
  const element = named ?? (param.dtype === dtypeOfT ? 'T' : names[param.dtype]);
  if (element === undefined) throw new TypeError(`${name} points to ${param.dtype}: name its type`);
  return { type: `${param.access === 'read' ? 'const ' : ''}${element}`, star: '*', name, param };
}
