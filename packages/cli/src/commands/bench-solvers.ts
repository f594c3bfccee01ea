import type { Command } from 'commander';
import { SOLVER_NAMES, type SolverCell, type SolverName } from '../bench/cells.js';
import {
  PRECONDITIONER_CHOICES,
  solverCells,
  type SolverCellsOptions,
} from '../bench/solver-cells.js';
import { chooseDevice } from '../options/choose-device.js';
import { parseChoice, parseCount, parseList } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { measure, sub, withCells, type CellsBenchOptions } from './bench-suite.js';
import { action } from './with-output.js';

interface SolversBenchOptions extends CellsBenchOptions, Omit<SolverCellsOptions, 'kind'> {
  readonly keops?: string;
}

const DTYPES: readonly SolverCell['dtype'][] = ['float32', 'float64'];

/** `mercer bench solvers`. */
export function benchSolversCommand(): Command {
  return withCells(
    sub(
      'solvers',
      'conjugate gradients with kernel matrices that are not stored, with preconditioners, true residuals and floors, beside KeOps, GPyTorch and torch',
    ),
  )
    .option('--n <list>', 'points', parseList(parseCount))
    .option('--d <list>', 'dimensions of the points', parseList(parseCount))
    .option('--dtype <list>', DTYPES.join(', '), parseList(parseChoice(DTYPES)))
    .option(
      '--operations <list>',
      SOLVER_NAMES.join(', '),
      parseList(parseChoice<SolverName>(SOLVER_NAMES)),
      ['solve'],
    )
    .option(
      '--preconditioners <list>',
      PRECONDITIONER_CHOICES.join(', '),
      parseList(parseChoice(PRECONDITIONER_CHOICES)),
      [...PRECONDITIONER_CHOICES],
    )
    .option('--ranks <list>', 'ranks of the preconditioners', parseList(parseCount), [100, 300])
    .option('--keops <folder>', 'a checkout of KeOps, for that peer where it is not installed')
    .action(action(solvers));
}

async function solvers(output: Output, options: SolversBenchOptions): Promise<void> {
  const { kind } = chooseDevice(options.device);
  const cells = solverCells({ ...options, kind });
  await measure(
    output,
    { ...options, data: ['uniform'], compileTimes: false },
    { suite: 'solvers', cells },
  );
}
