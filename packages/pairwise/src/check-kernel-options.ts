import { describeList } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { isCustomKernel } from './custom-kernel.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { checkValue, parametersOf } from './kernel-parameters.js';
import type { AnyRunKernelOptions } from './run-kernel-options.js';

const PLAIN = [
  'out',
  'stream',
  'device',
  'debug',
  'signal',
  'align',
  'symmetric',
  'scale',
  'regularization',
  'regularizationOffset',
];

/**
 * Checks the options of a call by themselves: every parameter that the descriptor needs is there, none that it does not use,
 * and numbers are in their ranges.
 *
 * @throws MercerError INVALID_ARGUMENT
 */
export function checkKernelOptions(
  what: string,
  descriptor: KernelDescriptor,
  options: AnyRunKernelOptions,
): void {
  const { needed, exponents, optional } = parametersOf(descriptor);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const names = given.map(([name]) => name);
  const custom = isCustomKernel(descriptor.kernel) && descriptor.kernel.parameters.length > 0;
  const usable: readonly string[] = [
    ...needed,
    ...exponents,
    ...optional,
    ...(exponents.length > 0 ? ['p'] : []),
    ...(custom ? ['parameters'] : []),
  ];
  for (const name of names) {
    if (PLAIN.includes(name) || usable.includes(name)) continue;
    throw invalid(
      what,
      `${describe(descriptor)} does not use ${name}`,
      `Its parameters are: ${usable.join(', ') || 'none'}`,
    );
  }
  for (const name of needed) {
    if (!names.includes(name)) throw missing(what, descriptor, name);
  }
  checkExponents(what, descriptor, exponents, names);
  for (const [name, value] of given) {
    if (usable.includes(name) && name !== 'parameters') checkValue(what, name, value);
  }
  for (const name of ['scale', 'regularization'] as const) {
    if (options[name] !== undefined) checkValue(what, name, options[name]);
  }
  if (isCustomKernel(descriptor.kernel)) {
    checkCustom(what, descriptor.kernel.parameters, options.parameters ?? {});
  }
  checkInfinity(what, descriptor, options);
  checkOffset(what, options);
}

function checkExponents(
  what: string,
  descriptor: KernelDescriptor,
  exponents: readonly string[],
  names: readonly string[],
): void {
  const apart = exponents.filter((name) => names.includes(name));
  if (names.includes('p')) {
    if (apart.length === 0) return;
    throw invalid(
      what,
      `p and ${apart.join(' and ')} were given, and p sets innerP = p and outerP = 1/p`,
      'Pass p alone, or the exponents apart',
    );
  }
  const absent = exponents.find((name) => !names.includes(name));
  if (absent !== undefined) throw missing(what, descriptor, `${absent}, or p`);
}

function checkInfinity(
  what: string,
  { innerPower, outerPower }: KernelDescriptor,
  { p }: AnyRunKernelOptions,
): void {
  if (p !== Infinity || (innerPower === 'pow' && outerPower === 'pow')) return;
  throw invalid(
    what,
    `p is Infinity and the descriptor has innerPower '${innerPower}', outerPower '${outerPower}'`,
    "Only a norm, with 'pow' for both, has p = Infinity; pass a finite p",
  );
}

function checkCustom(
  what: string,
  wanted: readonly string[],
  given: Readonly<Record<string, unknown>>,
): void {
  const names = Object.keys(given).filter((name) => given[name] !== undefined);
  const absent = wanted.filter((name) => !names.includes(name));
  const strange = names.filter((name) => !wanted.includes(name));
  if (absent.length > 0 || strange.length > 0) {
    throw invalid(
      what,
      absent.length > 0
        ? `the custom kernel needs ${absent.join(', ')} and they are not in the option parameters`
        : `the custom kernel has no parameter ${strange.join(', ')}`,
      `Pass parameters: { ${wanted.map((name) => `${name}: ...`).join(', ')} }`,
    );
  }
  for (const name of wanted) checkValue(what, name, given[name]);
}

function checkOffset(
  what: string,
  { regularization, regularizationOffset: offset }: AnyRunKernelOptions,
): void {
  if (offset === undefined) return;
  if (regularization === undefined) {
    throw invalid(
      what,
      'regularizationOffset was given without regularization',
      'Pass both, or neither',
    );
  }
  const pair: readonly unknown[] = Array.isArray(offset) ? offset : [];
  if (pair.length === 2 && pair.every((value) => Number.isSafeInteger(value))) return;
  throw invalid(
    what,
    `regularizationOffset is ${describeList(offset)}`,
    'Pass [x, y], the numbers of rows and columns in front of this tile',
  );
}

function missing(what: string, descriptor: KernelDescriptor, name: string): MercerError {
  return invalid(
    what,
    `${describe(descriptor)} needs ${name}`,
    'Pass it in the options, as a number or a tensor',
  );
}

/** A descriptor in words. */
function describe({ innerOperator, innerPower, outerPower, kernel }: KernelDescriptor): string {
  const name = typeof kernel === 'string' ? kernel : 'custom';
  return `the descriptor (${innerOperator}, ${innerPower}, ${outerPower}, ${name})`;
}

function invalid(what: string, why: string, remedy: string): MercerError {
  return new MercerError('INVALID_ARGUMENT', `${what}: ${why}. ${remedy}.`);
}
