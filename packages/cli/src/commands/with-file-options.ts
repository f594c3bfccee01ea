import type { Command } from 'commander';
import { FORMAT_NAMES } from '../files/file-name.js';
import type { FloatDType } from '../files/read-operand.js';
import { parseChoice, parseDevice } from '../options/parse-option.js';
import { withCommonOptions } from './with-output.js';

/** What operands are, for the help. */
export const IN_FILE = `rows: ${FORMAT_NAMES}; file.npz:name is a member, file.csv:x,y columns, - standard input`;

/** Where results go, for the help. */
export const OUT_FILE = `${FORMAT_NAMES}; file.npz:name is a member, - standard output (CSV; -.jsonl)`;

const parseDType = parseChoice<FloatDType>(['float32', 'float64']);

/** Adds the options of commands that compute one file from others. */
export function withFileOptions(
  command: Command,
  outText: string,
  deviceText = 'cpu or cuda:0; the first GPU that works, else the CPU',
): Command {
  return withComputeOptions(command.requiredOption('--out <file>', outText), deviceText);
}

/** Adds the options that say where and in what a command computes. */
export function withComputeOptions(command: Command, deviceText: string): Command {
  return withCommonOptions(
    command
      .option('--device <id>', deviceText, parseDevice)
      .option('--dtype <type>', 'convert all inputs to float32 or float64 first', parseDType),
  );
}
