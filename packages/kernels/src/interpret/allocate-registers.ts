import { visitSteps, type Steps } from '@mercer/formula/plan';
import type { TileCode } from './tile-program.js';

/** What an instruction reads. `value` is the result of the instruction with that number, `table` begins at a constant. */
export interface Operand {
  readonly kind: 'constant' | 'uniform' | 'uniformLow' | 'input' | 'value' | 'table';
  readonly index: number;
}

/** An instruction whose result has no place yet. */
export interface VirtualInstruction {
  readonly operation: number;
  readonly args: readonly Operand[];
}

const KINDS = { constant: 0, uniform: 1, uniformLow: 2, input: 3, value: 4, table: 5 } as const;

/**
 * Gives every result a register, the same one again where the value before is no longer read: few tiles
 * stay in the first-level cache. `results` keep theirs to the end, and share them with nobody.
 */
export function* allocateRegisters(
  instructions: readonly VirtualInstruction[],
  results: readonly number[],
): Steps<TileCode> {
  const slots: [number, number][] = [];
  const known = new Map<string, number>();
  const slotOf = ({ kind, index }: Operand): number => {
    const key = `${kind} ${index}`;
    let slot = known.get(key);
    if (slot === undefined) {
      slot = slots.push([KINDS[kind], kind === 'value' ? (registers[index] ?? 0) : index]) - 1;
      known.set(key, slot);
    }
    return slot;
  };
  const lastUse = new Map<number, number>();
  yield* visitSteps(instructions, ({ args }, i) => {
    for (const { kind, index } of args) if (kind === 'value') lastUse.set(index, i);
  });
  const kept = new Set(results);
  const free: number[] = [];
  const registers: number[] = [];
  let count = 0;
  const code: TileCode['instructions'][number][] = [];
  for (const [i, { operation, args }] of instructions.entries()) {
    const [a = -1, b = -1, c = -1] = args.map(slotOf);
    for (const { kind, index } of new Set(args)) {
      const register = registers[index];
      const ends = kind === 'value' && lastUse.get(index) === i && !kept.has(index);
      if (ends && register !== undefined && !free.includes(register)) free.push(register);
    }
    registers[i] = kept.has(i) ? count++ : (free.pop() ?? count++);
    const to = slotOf({ kind: 'value', index: i });
    code.push([operation, to, a, b, c]);
    yield;
  }
  const roots = results.map((index) => slotOf({ kind: 'value', index }));
  return { slots, instructions: code, roots, registers: count };
}
