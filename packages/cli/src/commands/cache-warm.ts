import {
  configureJitCache,
  JitCache,
  precompile,
  type Device,
  type PrecompileLayouts,
} from '@mercer/core';
import { Command, InvalidArgumentError } from 'commander';
import { usageError } from '../cli-error.js';
import type { FloatDType } from '../files/read-operand.js';
import { chooseDevice } from '../options/choose-device.js';
import { DESCRIPTOR_NAMES, descriptorCalls } from '../options/descriptors.js';
import { collectText } from '../options/parse-assignment.js';
import {
  parseChoice,
  parseCount,
  parseDevice,
  parseList,
  type DeviceId,
} from '../options/parse-option.js';
import { parseSize, sizeText, type MatrixSize } from '../options/parse-size.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { describeReduction, parseAxis, type ReductionTexts } from '../reduce/describe-reduction.js';
import { warmUsual, type UsualExtent } from '../warm/usual-calls.js';
import { warmFormula } from '../warm/warm-formula.js';
import { action, withCommonOptions, type CommonOptions } from './with-output.js';

type Layout = PrecompileLayouts[number];

interface WarmOptions extends CommonOptions, Partial<ReductionTexts> {
  readonly descriptors?: readonly string[];
  readonly usual?: true | UsualExtent;
  readonly dtype?: readonly FloatDType[];
  readonly layouts?: readonly PrecompileLayouts[];
  readonly sizes?: readonly MatrixSize[];
  readonly device?: DeviceId;
  readonly dir?: string;
}

/** `mercer cache warm`: compiles kernels before they are needed. */
export function cacheWarmCommand(): Command {
  return withCommonOptions(
    new Command('warm')
      .description(
        'compile the kernels of descriptors, of a formula or of usual calls now, for later calls',
      )
      .option(
        '--descriptors <list>',
        `all, the default, or some of ${DESCRIPTOR_NAMES.join(', ')}`,
        parseDescriptors,
      )
      .option(
        '--dtype <list>',
        'float32 (the default), float64',
        parseList(parseChoice<FloatDType>(['float32', 'float64'])),
      )
      .option(
        '--layouts <list>',
        'of descriptors: all, or three letters for a, b and the result, r for row-major and c for column-major: rrr (the default), ccr, ...',
        parseLayouts,
      )
      .option(
        '--formula <text>',
        'a symbolic matrix to reduce, as mercer reduce takes it, instead of descriptors',
      )
      .option('--alias <text>', "an input of the formula: 'x=Vi(3)'; repeat it", collectText)
      .option('--reduction <name>', 'of the formula: Sum (the default), LogSumExp, ArgKMin, ...')
      .option('--axis <axis>', 'what is reduced: 1 or j; 0 or i, the default', parseAxis)
      .option('--k <count>', 'how many extrema, of KMin and its kin', parseCount)
      .option('--formula2 <text>', 'what LogSumExp and SumSoftMaxWeight weight')
      .option(
        '--usual [extent]',
        'what most programs call, all or few of it, instead of descriptors: distances, sums, arithmetic, ...',
        parseChoice<UsualExtent>(['all', 'few']),
      )
      .option(
        '--sizes <list>',
        'rows that plans are chosen for, such as 1000x1000 or, of descriptors, 1000x1000x64; the default is medium and large',
        parseList(parseSize),
      )
      .option('--dir <folder>', 'the store in this folder instead of the usual one')
      .option(
        '--device <id>',
        'cpu or cuda:0; the first GPU that works, else the CPU',
        parseDevice,
      ),
  ).action(action(warm));
}

/** What one way of warming did, as JSON, and in words. */
interface Warmed {
  readonly what: Readonly<Record<string, unknown>>;
  readonly words: string;
  /** Where the way counts them itself. */
  readonly kernels?: number;
}

async function warm(output: Output, options: WarmOptions): Promise<void> {
  const way = wayOf(options);
  const cache = JitCache.open(options.dir === undefined ? {} : { directory: options.dir });
  configureJitCache(cache);
  try {
    const device = chooseDevice(options.device);
    const start = performance.now();
    const warmed = await way(device, (done, total) => {
      output.progress.update('kernels compiled', done, total);
    });
    const { counters } = await cache.stats();
    const kernels = warmed.kernels ?? gotten(counters);
    const ms = performance.now() - start;
    const result = { device: device.id, ...warmed.what, kernels, compiled: counters.compiles, ms };
    output.result(
      result,
      () =>
        `${kernels} kernels of ${warmed.words} are ready on ${device.id} (${device.name}), ${counters.compiles} of them compiled now, after ${formatMs(ms)}`,
    );
  } finally {
    await cache.close();
  }
}

type Counters = Awaited<ReturnType<JitCache['stats']>>['counters'];

/** Every kernel is asked of the cache once in a process. */
function gotten({ compiles, storeHits, bundleHits }: Counters): number {
  return compiles + storeHits + bundleHits;
}

type Way = (device: Device, onProgress: (done: number, total: number) => void) => Promise<Warmed>;

/** @throws CliError for options that do not go together, and for texts that are wrong */
function wayOf(options: WarmOptions): Way {
  const { formula, dtype: dtypes = ['float32'], sizes, usual } = options;
  if (usual !== undefined) {
    const others = [
      ...FORMULA_OPTIONS,
      ...DESCRIPTOR_OPTIONS,
      'formula',
      'sizes',
      'dtype',
    ] as const;
    refuse(options, others, 'stands beside --usual, which says all itself. Leave one of them out');
    // Calls wait for the compiler.
    process.env['MERCER_CPU'] ||= 'compiled';
    const extent = usual === true ? 'all' : usual;
    return async (device, onProgress) => {
      await warmUsual(device, extent, onProgress);
      return { what: { usual: extent }, words: `${extent === 'few' ? 'a few ' : ''}usual calls` };
    };
  }
  if (formula === undefined) {
    refuse(options, FORMULA_OPTIONS, 'says something about a formula. Add --formula');
    return (device, onProgress) => warmDescriptors(device, options, onProgress);
  }
  refuse(
    options,
    DESCRIPTOR_OPTIONS,
    'is about descriptors, and --formula is given. Leave one of them out',
  );
  const long = sizes?.find(({ k }) => k !== undefined);
  if (long !== undefined) {
    throw usageError(
      `--sizes ${sizeText(long)}: the formula says how long its rows are. Give two numbers, ${sizeText({ m: long.m, n: long.n })}.`,
    );
  }
  const reduce = describeReduction({ ...options, formula });
  return async (device, onProgress) => {
    const used = await warmFormula({ text: formula, reduce, dtypes, sizes, device, onProgress });
    const { kind, axis, k } = reduce.reduction.reduction;
    return {
      what: { formula, reduction: kind, axis, k, dtypes, sizes: used.map(sizeText) },
      words: `${kind} of ${formula}`,
    };
  };
}

const FORMULA_OPTIONS = ['alias', 'reduction', 'axis', 'k', 'formula2'] as const;
const DESCRIPTOR_OPTIONS = ['descriptors', 'layouts'] as const;

function refuse(options: WarmOptions, names: readonly (keyof WarmOptions)[], why: string): void {
  const given = names.find((name) => options[name] !== undefined);
  if (given !== undefined) throw usageError(`--${given} ${why}.`);
}

async function warmDescriptors(
  device: Device,
  {
    descriptors = DESCRIPTOR_NAMES,
    layouts = [['row', 'row', 'row']],
    dtype: dtypes = ['float32'],
    sizes,
  }: WarmOptions,
  onProgress: (done: number, total: number) => void,
): Promise<Warmed> {
  const { kernels } = await precompile(descriptorCalls(descriptors), {
    device,
    dtypes,
    layouts,
    ...(sizes && { sizes: sizes.map(({ m, n, k = 64 }) => ({ m, n, k })) }),
    onProgress: ({ done, total }) => {
      onProgress(done, total);
    },
  });
  const letters = layouts.map((layout) => layout.map((axis) => axis.charAt(0)).join(''));
  return {
    what: { descriptors, dtypes, layouts: letters, ...(sizes && { sizes: sizes.map(sizeText) }) },
    words: `${descriptors.length} descriptors`,
    kernels,
  };
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
