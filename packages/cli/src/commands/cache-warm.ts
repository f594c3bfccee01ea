import { configureJitCache, precompile, type PrecompileLayouts } from '@mercer/core';
import { Command, InvalidArgumentError } from 'commander';
import type { FloatDType } from '../files/read-operand.js';
import { chooseDevice } from '../options/choose-device.js';
import { DESCRIPTOR_NAMES, descriptorCalls } from '../options/descriptors.js';
import { parseChoice, parseDevice, parseList, type DeviceId } from '../options/parse-option.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

type Layout = PrecompileLayouts[number];

interface WarmOptions extends CommonOptions {
  readonly descriptors: readonly string[];
  readonly dtype: readonly FloatDType[];
  readonly layouts: readonly PrecompileLayouts[];
  readonly device?: DeviceId;
  readonly dir?: string;
}

/** `mercer cache warm`: compiles kernels before they are needed. */
export function cacheWarmCommand(): Command {
  return withCommonOptions(
    new Command('warm')
      .description('compile the kernels of descriptors now, in parallel, for later calls')
      .option(
        '--descriptors <list>',
        `all, or some of ${DESCRIPTOR_NAMES.join(', ')}`,
        parseDescriptors,
        DESCRIPTOR_NAMES,
      )
      .option(
        '--dtype <list>',
        'float32, float64',
        parseList(parseChoice<FloatDType>(['float32', 'float64'])),
        ['float32'] as const,
      )
      .option(
        '--layouts <list>',
        'all, or three letters for a, b and the result, r for row-major and c for column-major: rrr, ccr, ...',
        parseLayouts,
        [['row', 'row', 'row']] as const,
      )
      .option('--dir <folder>', 'the store in this folder instead of the usual one')
      .option(
        '--device <id>',
        'cpu or cuda:0; the first GPU that works, else the CPU',
        parseDevice,
      ),
  ).action(action(warm));
}

async function warm(output: Output, options: WarmOptions): Promise<void> {
  if (options.dir !== undefined) configureJitCache({ directory: options.dir });
  const device = chooseDevice(options.device);
  const { descriptors, dtype: dtypes, layouts } = options;
  const start = performance.now();
  const { kernels } = await precompile(descriptorCalls(descriptors), {
    device,
    dtypes,
    layouts,
    onProgress: ({ done, total }) => {
      output.progress.update('kernels compiled', done, total);
    },
  });
  const ms = performance.now() - start;
  const result = {
    device: device.id,
    descriptors,
    dtypes,
    layouts: layouts.map((layout) => layout.map((axis) => axis.charAt(0)).join('')),
    kernels,
    ms,
  };
  output.result(
    result,
    () =>
      `${kernels} kernels of ${descriptors.length} descriptors are ready on ${device.id} (${device.name}), after ${formatMs(ms)}`,
  );
}

function parseDescriptors(text: string): readonly string[] {
  if (text === 'all') return DESCRIPTOR_NAMES;
  return parseList(parseChoice(DESCRIPTOR_NAMES))(text);
}

function parseLayouts(text: string): readonly PrecompileLayouts[] {
  if (text !== 'all') return parseList(parseLayout)(text);
  return ['rrr', 'rrc', 'rcr', 'rcc', 'crr', 'crc', 'ccr', 'ccc'].map(parseLayout);
}

function parseLayout(text: string): PrecompileLayouts {
  if (!/^[rc]{3}$/.test(text)) {
    throw new InvalidArgumentError(
      `three letters r or c are needed, such as rrc, and it is '${text}'`,
    );
  }
  const at = (index: number): Layout => (text.charAt(index) === 'r' ? 'row' : 'column');
  return [at(0), at(1), at(2)];
}
