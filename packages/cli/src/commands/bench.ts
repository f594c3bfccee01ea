import { cpuExecutor } from '@mercer/core';
import { Command } from 'commander';
import {
  LINEAR_NAMES,
  OPERATION_NAMES,
  REDUCTION_NAMES,
  SOLVER_NAMES,
  type KernelCell,
  type LinearName,
  type OperationName,
  type ReductionName,
  type SolverName,
} from '../bench/cells.js';
import { firstCallMs } from '../bench/compile-times.js';
import type { DataSet } from '../bench/data-sets.js';
import { FULL_GRID, gridCells, QUICK_GRID, type GridAxes } from '../bench/grid.js';
import { keopsCells, keopsCurves, type KeopsCellsOptions } from '../bench/keops-cells.js';
import { kermacCells } from '../bench/kermac-cells.js';
import { solverCells } from '../bench/solver-cells.js';
import { linalgCells, type LinalgCellsOptions } from '../bench/linalg-cells.js';
import { commandLine, describeMachine } from '../bench/machine.js';
import { measureLimits } from '../bench/measure-limits.js';
import { renderLimits } from '../bench/render-report.js';
import { usageError } from '../cli-error.js';
import { assertWritable } from '../files/assert-writable.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseCount, parseList, parseP } from '../options/parse-option.js';
import { formatMs } from '../output/format.js';
import type { Output } from '../output/output.js';
import { benchAutodiffCommand } from './bench-autodiff.js';
import { benchCallsCommand } from './bench-calls.js';
import { benchCompareCommand } from './bench-compare.js';
import { benchDigitsCommand } from './bench-digits.js';
import { benchOptimCommand } from './bench-optim.js';
import { benchShardsCommand } from './bench-shards.js';
import { benchSolversCommand } from './bench-solvers.js';
import { benchTruncatedCommand } from './bench-truncated.js';
import {
  measure,
  sub,
  withCells,
  withData,
  writeJson,
  type BenchOptions,
  type CellsBenchOptions,
} from './bench-suite.js';
import { action } from './with-output.js';

interface SuiteBenchOptions extends CellsBenchOptions, Partial<Omit<GridAxes, 'p' | 'dtype'>> {
  readonly data: readonly DataSet[];
  readonly kermac?: string;
  readonly compileTimes: boolean;
}

interface LinalgBenchOptions extends CellsBenchOptions, LinalgCellsOptions {}

interface KeopsBenchOptions
  extends CellsBenchOptions, Omit<KeopsCellsOptions, 'kind' | 'operations'> {
  readonly operations: readonly KeopsName[];
  readonly data: readonly DataSet[];
  readonly curves?: boolean;
  readonly keops?: string;
}

type KeopsName = ReductionName | SolverName;
const KEOPS_NAMES: readonly KeopsName[] = [...REDUCTION_NAMES, ...SOLVER_NAMES];

interface CdistBenchOptions extends SuiteBenchOptions, Partial<Pick<GridAxes, 'p' | 'dtype'>> {
  readonly quick?: boolean;
}

interface KermacBenchOptions extends SuiteBenchOptions {
  readonly grid?: boolean;
  readonly operations?: readonly OperationName[];
}

const parseCounts = parseList(parseCount);
const DTYPES: readonly KernelCell['dtype'][] = ['float32', 'float64'];

/** Compiled kernels from the first call on are measured where there is a compiler, also in processes that a measurement starts. */
async function settleExecutor(): Promise<void> {
  const { executor } = await cpuExecutor();
  if (executor === 'compiled') process.env['MERCER_CPU'] = executor;
}

/** `mercer bench autodiff|calls|cdist|compare|kermac|linalg|keops|optim|solvers|shards|limits|truncated`: measurements with everything that is needed to judge them. */
export function benchCommand(): Command {
  const command = new Command('bench').hook('preAction', settleExecutor);
  command.addCommand(benchCompareCommand());
  command.addCommand(
    sub('limits', "what the device's arithmetic, memory and launches can do at most").action(
      action(limits),
    ),
  );
  command.addCommand(
    suite(
      sub('cdist', 'distances over a grid of shapes, with errors, floors and peers')
        .option('--quick', 'a dozen cells instead of the whole grid')
        .option('--p <list>', 'exponents of the norm', parseList(parseP))
        .option('--dtype <list>', 'float32, float64', parseList(parseChoice(DTYPES))),
    ).action(action(cdist)),
  );
  command.addCommand(
    suite(
      sub(
        'kermac',
        'everything that Kermac computes, beside Kermac and torch, with errors and floors',
      )
        .option('--grid', 'also the whole grid of shapes; naming an axis measures that part of it')
        .option(
          '--operations <list>',
          OPERATION_NAMES.join(', '),
          parseList(parseChoice<OperationName>(OPERATION_NAMES)),
        ),
    ).action(action(kermac)),
  );
  command.addCommand(
    withCells(
      sub(
        'linalg',
        'solves, decompositions and products on the CPU, with residuals, floors, and torch or numpy',
        'cpu or cuda:0; the first GPU that works, else the CPU',
      )
        .option('--n <list>', 'orders of the matrices', parseCounts)
        .option('--batch <list>', 'batch sizes', parseCounts)
        .option('--dtype <list>', DTYPES.join(', '), parseList(parseChoice(DTYPES)))
        .option(
          '--operations <list>',
          LINEAR_NAMES.join(', '),
          parseList(parseChoice<LinearName>(LINEAR_NAMES)),
        ),
    ).action(action(linalg)),
  );
  command.addCommand(
    withData(
      withCells(
        sub(
          'keops',
          'reductions of symbolic formulas and systems with them, beside KeOps and torch, with errors and floors',
        )
          .option('--curves', "instead: times over the number of points, as in KeOps' figures")
          .option('--n <list>', 'points', parseCounts)
          .option('--d <list>', 'dimensions of the points', parseCounts)
          .option('--dtype <list>', DTYPES.join(', '), parseList(parseChoice(DTYPES)))
          .option(
            '--operations <list>',
            KEOPS_NAMES.join(', '),
            parseList(parseChoice(KEOPS_NAMES)),
            KEOPS_NAMES,
          )
          .option(
            '--keops <folder>',
            'a checkout of KeOps, for that peer where it is not installed',
          ),
      ),
    ).action(action(keops)),
  );
  command.addCommand(benchSolversCommand());
  command.addCommand(benchCallsCommand());
  command.addCommand(benchShardsCommand());
  command.addCommand(benchAutodiffCommand());
  command.addCommand(benchOptimCommand());
  command.addCommand(benchDigitsCommand());
  command.addCommand(benchTruncatedCommand());
  command.addCommand(
    sub('first-call', 'the first call of one kernel in this process').action(action(firstCall)),
    { hidden: true }, // what the suites run with an empty store and with a filled one
  );
  return command;
}

/** Adds the options of a suite of kernels. */
function suite(command: Command): Command {
  return withData(withCells(command))
    .option('--m <list>', 'rows of a', parseCounts)
    .option('--n <list>', 'rows of b', parseCounts)
    .option('--k <list>', 'inner dimensions', parseCounts)
    .option('--batch <list>', 'batch sizes', parseCounts)
    .option('--kermac <folder>', 'folder of the Python package kermac, for that peer')
    .option('--no-compile-times', 'do not time compilation in processes of their own');
}

async function firstCall(output: Output, options: BenchOptions): Promise<void> {
  const ms = await firstCallMs(chooseDevice(options.device));
  output.result({ ms }, () => formatMs(ms));
}

async function limits(output: Output, options: BenchOptions): Promise<void> {
  await assertWritable(options.out);
  const report = await measureLimits(chooseDevice(options.device), (title) =>
    output.progress.update(title),
  );
  const result = {
    schema: 1,
    suite: 'limits',
    command: commandLine(),
    machine: describeMachine(),
    ...report,
  };
  await writeJson(options.out, result);
  output.result(result, () => renderLimits(report, output));
}

async function cdist(output: Output, options: CdistBenchOptions): Promise<void> {
  const grid = options.quick === true ? QUICK_GRID : FULL_GRID;
  const { m, n, k, batch, p, dtype } = options;
  const cells = gridCells({
    m: m ?? grid.m,
    n: n ?? grid.n,
    k: k ?? grid.k,
    batch: batch ?? grid.batch,
    p: p ?? grid.p,
    dtype: dtype ?? grid.dtype,
  });
  await measure(output, options, { suite: 'cdist', cells });
}

async function kermac(output: Output, options: KermacBenchOptions): Promise<void> {
  const { m, n, k, batch, grid, operations } = options;
  const { kind } = chooseDevice(options.device);
  const axes = {
    ...(m && { m }),
    ...(n && { n }),
    ...(k && { k }),
    ...(batch && { batch }),
  };
  const cells = kermacCells({ kind, operations, grid, axes });
  await measure(output, options, { suite: 'kermac', cells });
}

async function linalg(output: Output, options: LinalgBenchOptions): Promise<void> {
  const { kind } = chooseDevice(options.device);
  const cells = linalgCells({ ...options, kind });
  await measure(
    output,
    { ...options, data: ['normal'], compileTimes: false },
    { suite: 'linalg', cells },
  );
}

async function keops(output: Output, options: KeopsBenchOptions): Promise<void> {
  const { kind } = chooseDevice(options.device);
  if (options.curves === true && options.d !== undefined) {
    throw usageError(
      "cannot draw curves: --d is given, and each curve has KeOps' own dimension. Leave out --d or --curves.",
    );
  }
  const { operations } = options;
  const reductions = REDUCTION_NAMES.filter((name) => operations.includes(name));
  const systems = SOLVER_NAMES.filter((name) => operations.includes(name));
  const cells = [
    ...(options.curves === true ? keopsCurves : keopsCells)({
      ...options,
      operations: reductions,
      kind,
    }),
    ...solverCells({ ...options, operations: systems, kind }),
  ];
  await measure(output, { ...options, compileTimes: false }, { suite: 'keops', cells });
}
