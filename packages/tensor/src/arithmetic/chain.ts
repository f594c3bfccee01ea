import type { DType } from '@mercer/kernels';
import type { Device } from '../device.js';
import type { LaunchOptions, Unlaunched } from '../unlaunched.js';
import type { LaterRead } from './later-read.js';
import type { OperatorName } from './operators.js';

/** A number that is part of the kernel, where its value decides the formula. */
export interface Literal {
  readonly literal: number;
}

/** What an elementwise operation is applied to. */
export type ChainOperand =
  /** A number that the kernel is given at each launch. */
  | number
  | Literal
  | LaterRead
  /** Computed in the same kernel. */
  | ChainNode
  /** Computed before. */
  | Unlaunched;

/** An elementwise operation with its operands, of which some are computed in the same kernel. */
export interface Chain {
  /** A cast has the value of its operand, and only another dtype. */
  readonly operator: OperatorName | 'cast';
  /** For messages. */
  readonly what: string;
  readonly operands: readonly ChainOperand[];
  /** What is computed before, each in a kernel of its own, also for operands that are computed in the same kernel. */
  readonly before: readonly Unlaunched[];
  /** Tensors that are read, also by operands that are computed in the same kernel. */
  readonly reads: readonly LaterRead[];
  /** How long the text of the whole chain is, in operations. */
  readonly operations: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly computesIn: 'float32' | 'float64';
  readonly device: Device;
}

/** A result that is the last operation of a chain. */
export interface ChainNode {
  readonly chain: Chain;
}

/** A chain that can be launched. */
export interface LaunchableChain extends ChainNode {
  /** Among calls: it reads what those before it write. */
  readonly place: number;
  /** The tensor of one of `before`, which is launched for it. @throws as launches do, the signal's reason */
  launchedBefore(one: Unlaunched, options: LaunchOptions): Promise<LaterRead>;
  /** What it reads is no longer kept for it, nor for what is computed in the same kernel. */
  spend(): void;
}

/** Whether an operand is a number that is part of the kernel. */
export const isLiteral = (operand: ChainOperand): operand is Literal =>
  typeof operand === 'object' && Object.hasOwn(operand, 'literal');

/** Whether an operand is a chain, computed in the same kernel or before. */
export const isChain = (operand: ChainOperand): operand is ChainNode =>
  typeof operand === 'object' && Object.hasOwn(operand, 'chain');
