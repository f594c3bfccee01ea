import type { OptionNames } from '@mercer/options';
import { rawBinding } from './addon.js';
import { CpuFunction } from './cpu-module.js';
import { CpuRuntimeError } from './errors.js';
import { readOptions } from './read-options.js';
import { checkLevel } from './check-level.js';
import type { CpuLevel } from './compiler/compile-options.js';
import { cpuInfo } from './report.js';

/** What the interpreter runs in place of a compiled kernel: plain data, laid out as native/interpreter reads it. */
export interface TileProgram {
  /** 32-bit whole numbers: the family of the kernel, its settings, and codes over tiles of values. */
  readonly words: readonly number[] | Int32Array;
  /** Numbers that the codes read. */
  readonly constants: readonly number[] | Float64Array;
}

/** How a program is made ready. */
export interface InterpretOptions {
  /** Size of the packed parameters of every launch. */
  readonly paramBytes: number;
  /** Name of the function in messages. */
  readonly name?: string;
  /** Instruction set to run with, at most that of the processor, which is the default. */
  readonly level?: CpuLevel;
}

const PROGRAM: OptionNames<TileProgram> = { words: true, constants: true };
const INTERPRET_OPTIONS: OptionNames<InterpretOptions> = {
  paramBytes: true,
  name: true,
  level: true,
};

/**
 * Makes a program ready to launch, without a compiler. It is checked here once, wholly: one that would leave its registers,
 * inputs or constants, or mixes up numbers and comparisons, is refused. A launch cuts itself, whatever geometry `launch` is given.
 *
 * @throws CpuRuntimeError `INVALID_ARGUMENT` for a program that is malformed, `UNSUPPORTED_CPU`
 */
export function interpret(program: TileProgram, options: InterpretOptions): CpuFunction {
  const what = 'making a tile program';
  const {
    paramBytes,
    name = 'program',
    level = cpuInfo().level,
  } = readOptions(what, options, INTERPRET_OPTIONS);
  const { words, constants } = readOptions(`${what}: the program`, program, PROGRAM);
  if (
    !(words instanceof Int32Array) &&
    !(Array.isArray(words) && words.every((word) => Number.isInteger(word) && word === (word | 0)))
  ) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      'making a tile program failed: its words are not 32-bit whole numbers. Pass what @mercer/kernels emitted.',
    );
  }
  if (
    !(constants instanceof Float64Array) &&
    !(Array.isArray(constants) && constants.every((value) => typeof value === 'number'))
  ) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      'making a tile program failed: its constants are not numbers. Pass what @mercer/kernels emitted.',
    );
  }
  checkLevel(level, what);
  const raw = rawBinding().makeProgram(
    words instanceof Int32Array ? words : Int32Array.from(words),
    constants instanceof Float64Array ? constants : Float64Array.from(constants),
    level,
    paramBytes,
  );
  return new CpuFunction(raw, name, paramBytes);
}
