import { isTensor, MercerError } from '@mercer/tensor';
import type { KernelDescriptor } from './descriptor-types.js';
import { valueInWords } from './value-in-words.js';

/** The parameters of all kernels and powers. */
export const PARAMETERS = [
  'p',
  'innerP',
  'outerP',
  'bandwidth',
  'alpha',
  'gamma',
  'offset',
  'degree',
  'epsilon',
] as const;

/** The name of a parameter. */
export type ParameterName = (typeof PARAMETERS)[number];

/** The parameters of a descriptor. */
export interface DescriptorParameters {
  /** Needed by every call. */
  readonly needed: readonly ParameterName[];
  /** Exponents: all of them, or p instead. */
  readonly exponents: readonly ParameterName[];
  readonly optional: readonly ParameterName[];
}

/** Which parameters a descriptor has. */
export function parametersOf(descriptor: KernelDescriptor): DescriptorParameters {
  const { innerOperator, innerPower, outerPower, kernel } = descriptor;
  return {
    needed: typeof kernel === 'string' ? neededBy(kernel) : [],
    exponents: [
      ...(innerPower === 'pow' ? (['innerP'] as const) : []),
      ...(outerPower === 'pow' ? (['outerP'] as const) : []),
    ],
    optional: innerOperator === 'diff' ? ['epsilon'] : [],
  };
}

function neededBy(kernel: Extract<KernelDescriptor['kernel'], string>): readonly ParameterName[] {
  if (kernel === 'none' || kernel === 'cosine') return [];
  if (kernel === 'polynomial') return ['gamma', 'offset', 'degree'];
  if (kernel === 'sigmoid') return ['gamma', 'offset'];
  return kernel === 'rationalQuadratic' ? ['bandwidth', 'alpha'] : ['bandwidth'];
}

interface NumberRule {
  readonly holds: (value: number) => boolean;
  readonly wanted: string;
}

const positive: NumberRule = {
  holds: (value) => value > 0 && value < Infinity,
  wanted: 'a positive finite number',
};
const finite: NumberRule = { holds: Number.isFinite, wanted: 'a finite number' };

const RULES: Readonly<Record<ParameterName, NumberRule>> = {
  p: {
    holds: (value) => value > 0,
    wanted: 'a positive number, or Infinity for the largest difference',
  },
  innerP: positive,
  outerP: positive,
  bandwidth: positive,
  alpha: positive,
  gamma: finite,
  offset: finite,
  degree: {
    holds: (value) => Number.isSafeInteger(value) && value >= 0,
    wanted: 'an integer from 0',
  },
  epsilon: {
    holds: (value) => value >= 0 && value < Infinity,
    wanted: 'a finite number from 0',
  },
};

/**
 * Checks a value: a tensor (looked at later) or a number in the parameter's range.
 *
 * @throws MercerError INVALID_ARGUMENT with the value
 */
export function checkValue(what: string, name: string, value: unknown): void {
  if (isTensor(value)) return;
  const rule = Object.hasOwn(RULES, name) ? RULES[name as ParameterName] : finite;
  if (typeof value === 'number' && rule.holds(value)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${valueInWords(value)}. Pass ${rule.wanted}, or a tensor with one value or one per batch entry.`,
  );
}
