import { describeValue, refusePromise } from '@mercer/options';
import { MercerError } from '@mercer/tensor';
import { isCustomKernel } from './custom-kernel.js';
import type { KernelDescriptor } from './descriptor-types.js';

const OPERATORS: readonly unknown[] = ['diff', 'dot'];
const POWERS: readonly unknown[] = ['none', 'abs', 'square', 'sqrt', 'pow'];
const PLAIN: readonly unknown[] = ['none', 'laplace', 'gaussian'];
const RADIAL: readonly unknown[] = [
  'matern12',
  'matern32',
  'matern52',
  'cauchy',
  'rationalQuadratic',
  'inverseMultiquadric',
];
const PRODUCT: readonly unknown[] = ['cosine', 'polynomial', 'sigmoid'];
const FIELDS = ['innerOperator', 'innerPower', 'outerPower', 'kernel'] as const;

const NO_FIELDS = Object.fromEntries(FIELDS.map((name) => [name, undefined]));

const checked = new WeakSet();

/**
 * Checks a descriptor's parts and their combination; what is frozen is checked once.
 *
 * @throws MercerError INVALID_ARGUMENT saying what is wrong and what to write instead
 */
export function checkDescriptor(value: unknown, what: string): asserts value is KernelDescriptor {
  refusePromise(value, `${what}: the descriptor`);
  if (typeof value !== 'object' || value === null) {
    throw invalid(
      what,
      `the descriptor is ${value === null ? 'null' : `a ${typeof value}`}`,
      'Pass one of the ready-made ones, such as kernels.gaussian, or what kernelDescriptor returned',
    );
  }
  if (checked.has(value)) return;
  const fields: Readonly<Record<string, unknown>> = { ...NO_FIELDS, ...value };
  for (const name of Object.keys(fields)) {
    if ((FIELDS as readonly string[]).includes(name)) continue;
    throw invalid(
      what,
      `'${name}' is no part of a descriptor`,
      `Its parts are ${FIELDS.join(', ')}`,
    );
  }
  oneOf(what, 'innerOperator', fields['innerOperator'], OPERATORS);
  oneOf(what, 'innerPower', fields['innerPower'], POWERS);
  oneOf(what, 'outerPower', fields['outerPower'], POWERS);
  const { kernel } = fields;
  if (!isCustomKernel(kernel)) oneOf(what, 'kernel', kernel, [...PLAIN, ...RADIAL, ...PRODUCT]);
  if (RADIAL.includes(kernel)) {
    demand(what, fields, ['diff', 'square', 'none'], 'a kernel of the squared distance');
  }
  if (PRODUCT.includes(kernel)) {
    demand(what, fields, ['dot', 'none', 'none'], 'a kernel of the inner product');
  }
  if (Object.isFrozen(value)) checked.add(value);
}

function oneOf(what: string, name: string, value: unknown, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return;
  const remedy = name === 'kernel' ? ', or what customKernel returned' : '';
  throw invalid(
    what,
    `${name} is ${typeof value === 'string' ? `'${value}'` : String(value)}`,
    `Use one of ${allowed.join(', ')}${remedy}`,
  );
}

function demand(
  what: string,
  fields: Readonly<Record<string, unknown>>,
  wanted: readonly [operator: string, inner: string, outer: string],
  why: string,
): void {
  const given = FIELDS.slice(0, 3).map((name) => String(fields[name]));
  if (given.every((value, i) => value === wanted[i])) return;
  throw invalid(
    what,
    `${describeValue(fields['kernel'])} is ${why} and the descriptor has innerOperator '${given[0] ?? ''}', innerPower '${given[1] ?? ''}', outerPower '${given[2] ?? ''}'`,
    `Use innerOperator '${wanted[0]}', innerPower '${wanted[1]}', outerPower '${wanted[2]}'`,
  );
}

function invalid(what: string, why: string, remedy: string): MercerError {
  return new MercerError('INVALID_ARGUMENT', `${what}: ${why}. ${remedy}.`);
}
