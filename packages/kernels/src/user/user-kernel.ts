import {
  conversionsText,
  prelude,
  type Conversion,
  type Dialect,
} from '../elementwise/conversion-text.js';
import { elementInfo } from '../elementwise/element-type.js';
import { lines } from '../emit/text.js';
import { argumentsStruct, parameterList, SHORT_INTEGERS } from '../emit/parameter-text.js';
import type { EmittedKernel, Scalars } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';

/** A kernel whose body a user wrote. */
export interface UserKernel {
  /** An identifier of C. */
  readonly name: string;
  /** Pointers and scalars whose names are identifiers of C. */
  readonly params: readonly KernelParam[];
  /** Text that stands before the kernel: functions, constants, includes. */
  readonly helpers: string;
  /** What stands between the kernel's braces. */
  readonly body: string;
}

/**
 * The text of a user's kernel. Its signature follows from the parameters, and is the same list in both dialects. A body for the host computes
 * the tasks from `begin` to `end`. The compiler counts lines in the user's text, and calls it `<name>.cuda` or `<name>.cpu`.
 *
 * A launch says its geometry by scalars: `grid.x` to `block.z` and `sharedBytes`; on the host `tasks` and `chunk`.
 */
export function emitUserKernel(
  { name, params, helpers, body }: UserKernel,
  dialect: Dialect,
): EmittedKernel {
  const entry = `user_${name}`;
  const spelling = { integers: SHORT_INTEGERS, elements: elementsOf(params) };
  const signature = parameterList(params, spelling);
  const used = HALF_CONVERSIONS.filter((one) => `${helpers}${body}`.includes(one.name));
  const before = lines(
    `${prelude(dialect)}${conversionsText(used, dialect)}`.trimEnd(),
    helpers !== '' && lines(`#line 1 "helpers of ${name}.${dialect}"`, helpers),
    `#line 1 "signature of ${name}.${dialect}"`,
  );
  const inside = lines(`#line 1 "${name}.${dialect}"`, body, '}');
  const kernel = { name, entry, params, options: [] };
  if (dialect === 'cuda') {
    const head = `extern "C" __global__ void ${entry}(${signature}) {`;
    const source = `${lines(before, head, inside)}\n`;
    const found = { ...kernel, dialect, source, geometry: cudaOf };
    // variables outlive a launch and are no parameters
    const hasVariables = helpers !== '' || /\bstatic\b/.test(body);
    return hasVariables ? { ...found, hasVariables } : found;
  }
  const given = params.map((param) => `p.${param.name}`).join(', ');
  const source = lines(
    before,
    `static inline void user_body(${signature}, const i64 begin, const i64 end) {`,
    inside,
    argumentsStruct(params, spelling),
    `extern "C" void ${entry}(const void* args, int64_t begin, int64_t end, void*) {`,
    '  const Args& p = *(const Args*)args;',
    `  user_body(${given}, begin, end);`,
    '}',
  );
  return { ...kernel, dialect, source: `${source}\n`, geometry: cpuOf };
}

/** What pointers point to in the text. */
const elementsOf = (params: readonly KernelParam[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    params.flatMap((param) =>
      param.kind === 'pointer' && param.dtype !== 'byte'
        ? [[param.name, elementInfo(param.dtype).storage]]
        : [],
    ),
  );

/** Floats of 16 bits are read and written through functions. */
const HALF_CONVERSIONS = (['float16', 'bfloat16'] as const).flatMap((half): Conversion[] => [
  { name: `from_${half}`, from: half, to: 'float32' },
  { name: `to_${half}`, from: 'float32', to: half },
]);

const extentsOf = (scalars: Scalars, what: 'grid' | 'block') =>
  [scalars[`${what}.x`] ?? 1, scalars[`${what}.y`] ?? 1, scalars[`${what}.z`] ?? 1] as const;

const cudaOf = (scalars: Scalars) => ({
  grid: extentsOf(scalars, 'grid'),
  block: extentsOf(scalars, 'block'),
  sharedMemBytes: scalars['sharedBytes'] ?? 0,
});

const cpuOf = ({ tasks = 0, chunk = 1 }: Scalars) => ({ tasks, chunk, scratchBytes: 0 });
