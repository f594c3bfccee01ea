import {
  kernelDescriptor,
  kernels,
  runKernel,
  type AnyRunKernelOptions,
  type Device,
  type KernelDescriptor,
} from '@mercer/core';
import { Command } from 'commander';
import { usageError } from '../cli-error.js';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import { parameterValue, shownValue } from '../options/parameter-value.js';
import { parseChoice } from '../options/parse-option.js';
import { parseOffset, parseValue, type ParameterText } from '../options/parse-value.js';
import type { Output } from '../output/output.js';
import { IN_FILE, OUT_FILE, withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

const OPERATORS = ['diff', 'dot'] as const;
const POWERS = ['none', 'abs', 'square', 'sqrt', 'pow'] as const;
const KERNELS = [
  'none',
  'laplace',
  'gaussian',
  'matern12',
  'matern32',
  'matern52',
  'cauchy',
  'rationalQuadratic',
  'inverseMultiquadric',
  'cosine',
  'polynomial',
  'sigmoid',
] as const;

/** The ready-made descriptors of the library. */
const PRESETS = Object.keys(kernels) as (keyof typeof kernels)[];

/** The options that say what a descriptor is made of, by its properties. */
const PARTS = {
  innerOperator: '--inner-operator <op>',
  innerPower: '--inner-power <power>',
  outerPower: '--outer-power <power>',
  kernel: '--kernel <name>',
} as const;

/** Parameters that are a number, a list, or a file; option names are theirs with hyphens. */
const PARAMETERS = {
  p: 'exponent inside the sum, and 1 / p outside',
  innerP: 'exponent inside the sum',
  outerP: 'exponent outside the sum',
  bandwidth: 'bandwidth h of the kernel',
  alpha: 'exponent of rationalQuadratic',
  gamma: 'factor of the product in polynomial and sigmoid',
  offset: 'constant of polynomial and sigmoid',
  degree: 'exponent of polynomial',
  epsilon: 'distances below it count as 0; 1e-5 for laplace and gaussian, else 0',
  scale: 'factor of each feature, or one for all',
  regularization: 'makes a diagonal of ones 1 + r; is added to any other',
} as const;
type ParameterOption = keyof typeof PARAMETERS;

interface KernelOptions
  extends CommonOptions, FileOptions, Partial<Record<ParameterOption, ParameterText>> {
  readonly preset?: (typeof PRESETS)[number];
  readonly innerOperator?: (typeof OPERATORS)[number];
  readonly innerPower?: (typeof POWERS)[number];
  readonly outerPower?: (typeof POWERS)[number];
  readonly kernel?: (typeof KERNELS)[number];
  readonly regularizationOffset?: readonly [number, number];
  readonly symmetric?: boolean;
}

/** `mercer kernel A.npy [B.npy] ... --out K.npy`: a kernel matrix of the rows of two files. */
export function kernelCommand(): Command {
  const command = new Command('kernel')
    .argument('<A>', IN_FILE)
    .argument('[B]', 'the other rows; those of A without it, each pair computed once')
    .option(
      '--preset <name>',
      `a ready-made kernel or distance: ${PRESETS.join(', ')}`,
      parseChoice(PRESETS),
    )
    .option(
      PARTS.innerOperator,
      `without --preset: ${OPERATORS.join(' or ')}`,
      parseChoice(OPERATORS),
    )
    .option(PARTS.innerPower, `of each term, without --preset: ${POWERS.join(', ')}`, power())
    .option(PARTS.outerPower, 'of the sum; none', power())
    .option(PARTS.kernel, `${KERNELS.join(', ')}; none`, parseChoice(KERNELS));
  for (const [name, text] of Object.entries(PARAMETERS)) {
    command.option(`--${hyphenated(name)} <values>`, text, parseValue);
  }
  command
    .option(
      '--regularization-offset <X,Y>',
      'rows and columns in front of this tile of a larger matrix',
      parseOffset,
    )
    .option('--symmetric', 'demand that each pair is computed once and mirrored; without B only')
    .addHelpText(
      'after',
      '\nValues are a number, a list (one for each batch entry; for --scale one for each feature) or a file, such as scale.npy or table.csv:scale.',
    );
  return withFileOptions(command, `where the matrix goes: ${OUT_FILE}`).action(action(run));
}

const power = (): ReturnType<typeof parseChoice<(typeof POWERS)[number]>> => parseChoice(POWERS);

function hyphenated(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

async function run(output: Output, options: KernelOptions, args: string[]): Promise<void> {
  const [fileA = '', fileB] = args;
  const descriptor = describe(options);
  const files = fileB === undefined ? ([fileA] as const) : ([fileA, fileB] as const);
  const summary = await computeToFile(output, files, options, async ([a, b], device) =>
    runKernel(descriptor, a, b, await callOptions(options, a.dtype, device)),
  );
  const { innerOperator, innerPower, outerPower, kernel } = descriptor;
  const parameters = Object.fromEntries(
    given(options).map(([name, text]) => [name, shownValue(text)]),
  );
  output.result(
    {
      ...summary,
      ...(options.preset !== undefined && { preset: options.preset }),
      descriptor: { innerOperator, innerPower, outerPower, kernel },
      parameters,
      oneInput: fileB === undefined,
    },
    () => renderFile(summary, `kernel matrix, ${nameOf(options)}`),
  );
}

/** The preset, or what the four parts say; the library says which combinations make sense. @throws CliError USAGE for both, or neither */
function describe(options: KernelOptions): KernelDescriptor {
  const { preset, innerOperator, innerPower, outerPower = 'none', kernel = 'none' } = options;
  if (preset !== undefined) {
    const part = (Object.keys(PARTS) as (keyof typeof PARTS)[]).find(
      (name) => options[name] !== undefined,
    );
    if (part === undefined) return kernels[preset];
    throw usageError(`--preset ${preset} says what '${PARTS[part]}' would. Leave one of them out.`);
  }
  const missing = (['innerOperator', 'innerPower'] as const).find(
    (name) => options[name] === undefined,
  );
  if (missing !== undefined) {
    throw usageError(
      `required option '${PARTS[missing]}' not specified. Add it, or name a ready-made kernel, as in --preset gaussian`,
    );
  }
  return kernelDescriptor({ innerOperator, innerPower, outerPower, kernel } as KernelDescriptor);
}

function nameOf(options: KernelOptions): string {
  const { preset, innerOperator, innerPower, outerPower = 'none', kernel = 'none' } = options;
  const powers = `${innerOperator ?? ''}, inner ${innerPower ?? ''}, outer ${outerPower}`;
  return preset ?? (kernel === 'none' ? powers : `${kernel} of ${powers}`);
}

function given(options: KernelOptions): [ParameterOption, ParameterText][] {
  return (Object.keys(PARAMETERS) as ParameterOption[]).flatMap((name) => {
    const text = options[name];
    return text === undefined ? [] : [[name, text]];
  });
}

async function callOptions(
  options: KernelOptions,
  dtype: FloatDType,
  device: Device,
): Promise<AnyRunKernelOptions<FloatDType>> {
  const values: [string, Awaited<ReturnType<typeof parameterValue>>][] = [];
  for (const [name, text] of given(options)) {
    values.push([name, await parameterValue(text, dtype, device)]);
  }
  const { regularizationOffset, symmetric } = options;
  return {
    ...Object.fromEntries(values),
    ...(regularizationOffset && { regularizationOffset }),
    ...(symmetric && { symmetric }),
  };
}
