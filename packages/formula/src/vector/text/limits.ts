import type { OptionNames } from '@mercer/options';
import { readOptions } from '../../read-options.js';
import { FormulaError } from '../../formula-error.js';
import type { VectorExpr } from '../vector-expr.js';
import { unrolledSize } from '../unrolled-size.js';

/** What text may ask for. Text from a stranger keeps the defaults. */
export interface TextLimits {
  /** Characters, default 65536. */
  readonly maxLength?: number;
  /** Brackets, calls, signs and powers inside one another, default 128. */
  readonly maxDepth?: number;
  /** Nodes made or looked up while reading and differentiating, default 100,000. */
  readonly maxSteps?: number;
  /** Scalar operations for one pair of rows (`unrolledSize`), default 2^26. */
  readonly maxUnrolledSize?: number;
}

/** The limits that hold where none is given. */
export const DEFAULT_LIMITS: Required<TextLimits> = {
  maxLength: 65_536,
  maxDepth: 128,
  maxSteps: 100_000,
  maxUnrolledSize: 2 ** 26,
};

const LIMIT_NAMES: OptionNames<TextLimits> = {
  maxLength: true,
  maxDepth: true,
  maxSteps: true,
  maxUnrolledSize: true,
};

/** The limits of a call: those given, the defaults for all others. */
export function limitsOf(what: string, given: TextLimits | undefined): Required<TextLimits> {
  const {
    maxLength = DEFAULT_LIMITS.maxLength,
    maxDepth = DEFAULT_LIMITS.maxDepth,
    maxSteps = DEFAULT_LIMITS.maxSteps,
    maxUnrolledSize = DEFAULT_LIMITS.maxUnrolledSize,
  } = readOptions(`${what}: limits`, given, LIMIT_NAMES);
  return { maxLength, maxDepth, maxSteps, maxUnrolledSize };
}

/** Throws `FormulaError` with code `LIMIT_EXCEEDED`. */
export function checkSize(expr: VectorExpr, limits: Required<TextLimits>): void {
  const size = unrolledSize(expr);
  if (size > limits.maxUnrolledSize) tooMuch('maxUnrolledSize', size, limits.maxUnrolledSize);
}

/** The error for one limit. */
export function tooMuch(limit: keyof TextLimits, found: number, most: number): never {
  throw new FormulaError(
    'LIMIT_EXCEEDED',
    `cannot read the formula: it has ${WHAT[limit]} ${found} and the limit '${limit}' is ${most}. ` +
      `Write a smaller formula, or raise the limit for text that you trust.`,
  );
}

const WHAT: { readonly [K in keyof Required<TextLimits>]: string } = {
  maxLength: 'length',
  maxDepth: 'depth',
  maxSteps: 'steps',
  maxUnrolledSize: 'unrolled size',
};
