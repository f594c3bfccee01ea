import { print } from '@mercer/formula';
import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { stageElements, type StagedOperand } from '../../pair-tile/cuda/staged-operand.js';
import { PlanError } from '../../plan-error.js';
import { RUNTIME_DERIVATIVE } from '../norm-derivative.js';
import type { CdistGradProblem } from '../problem.js';
import type { CudaCdistGradPlan, FmaPlan, MmaPlan, PowerPath } from '../plan-types.js';
import { FMA_TILE_K, fmaConfigs, mmaConfigs, STAGES, type TermWeight } from './configs.js';
import { estimateFma, estimateMma } from './estimate.js';
import { fmaOperands, fmaTile } from './fma-kernel.js';
import { MMA_TILE_K, mmaOperands, mmaTile } from './mma-kernel.js';
import { blockCount, type BlockTile } from './staged-kernel.js';
import { termStep } from './term-step.js';

/** What measurements may fix instead of the estimate. */
export interface CdistGradPlanOptions {
  /** GPU only: plain multiply-adds or tensor cores. float64 has no tensor-core kernel. */
  readonly strategy?: 'fma' | 'mma';
}

const SPLITS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/** Largest |p - 1| for which lg2 and ex2 hold the published bound. */
const LARGEST_FAST_EXPONENT = 2;
/** Factors of at most this many instructions may be repeated often in the text. */
const LIGHT_SLOTS = 20;

/**
 * The plan of a problem on a GPU: a pure function of its arguments.
 *
 * The floor: each (n, m, k) takes one factor a phi(delta), 2 to 9 instructions, and O products. With
 * multiply-adds that is O + 2 to O + 9 slots; on tensor cores 5.5 slots beside the factor for every 16
 * rows of c, and three products at the rate of `mma.sync`. At m = n = 1024, o = 16, k = 4096 on 132
 * multiprocessors: 2.4 ms of slots against 1.0 ms of slots and 1.4 ms of tensor cores, for p = 2. So
 * float32 takes tensor cores from a few rows of c on, and the estimate decides.
 */
export function planCudaCdistGrad(
  problem: CdistGradProblem,
  limits: CudaLimits,
  options: CdistGradPlanOptions = {},
): CudaCdistGradPlan {
  const { dtype } = problem;
  const power = choosePower(problem);
  const base = {
    kind: 'cuda' as const,
    family: 'cdist-grad' as const,
    dtype,
    phi: problem.phi,
    ...(power === undefined ? {} : { power }),
    alignedA: problem.alignedA,
    alignedB: problem.alignedB,
    alignedC: problem.alignedC,
    alignedOut: problem.alignedOut,
  };
  const term = termStep(base);
  const weight: TermWeight = term.issueSlots <= LIGHT_SLOTS ? 'light' : 'heavy';
  let best: { seconds: number; plan: CudaCdistGradPlan } | undefined;
  const consider = (
    operands: readonly StagedOperand[],
    { tile, tileK, residentBlocks }: Candidate,
    seconds: (splitK: number) => number,
    plan: (splitK: number) => CudaCdistGradPlan,
  ): void => {
    const sharedMemBytes = stageElements(operands) * STAGES * dtypeBytes(dtype);
    if (sharedMemBytes > limits.sharedMemPerBlockOptin) return;
    const fills = blockCount(tile, 1, problem) > 2 * residentBlocks * limits.multiprocessors;
    for (const splitK of SPLITS) {
      if (splitK > 1 && (fills || problem.k / splitK < 4 * tileK)) break;
      const time = seconds(splitK);
      if (best === undefined || time < best.seconds) best = { seconds: time, plan: plan(splitK) };
    }
  };
  if (options.strategy !== 'mma') {
    for (const fma of fmaConfigs(dtype, weight)) {
      consider(
        fmaOperands({ ...base, fma }),
        {
          tile: fmaTile(fma),
          tileK: FMA_TILE_K[dtype],
          residentBlocks: fma.blocksPerMultiprocessor,
        },
        (splitK) => estimateFma(fma, splitK, problem, term, dtype, limits),
        (splitK) => finish({ ...base, strategy: 'fma', fma, splitK, summary: '' }),
      );
    }
  }
  if (options.strategy !== 'fma' && dtype === 'float32') {
    for (const mma of mmaConfigs(weight)) {
      consider(
        mmaOperands({ ...base, mma }),
        {
          tile: mmaTile(mma),
          tileK: MMA_TILE_K,
          residentBlocks: mma.blocksPerMultiprocessor,
        },
        (splitK) => estimateMma(mma, splitK, problem, term, limits),
        (splitK) => finish({ ...base, strategy: 'mma', mma, splitK, summary: '' }),
      );
    }
  }
  if (best === undefined) throw impossible(problem, limits, options);
  return best.plan;
}

/** What a configuration says about its blocks. */
interface Candidate {
  readonly tile: BlockTile;
  readonly tileK: number;
  readonly residentBlocks: number;
}

function choosePower({ phi, dtype, p }: CdistGradProblem): PowerPath | undefined {
  if (phi !== RUNTIME_DERIVATIVE || dtype !== 'float32') return undefined;
  if (p === undefined || Math.abs(p - 1) > LARGEST_FAST_EXPONENT) return 'accurate';
  return p > 1 ? 'fast' : 'fast-inverse';
}

function finish(plan: FmaPlan | MmaPlan): CudaCdistGradPlan {
  return Object.freeze({ ...plan, summary: summarise(plan) });
}

function summarise(plan: CudaCdistGradPlan): string {
  const tile = plan.strategy === 'fma' ? fmaTile(plan.fma) : mmaTile(plan.mma);
  const phi = plan.phi;
  const parts = [
    phi === RUNTIME_DERIVATIVE ? 'any p' : print(phi),
    plan.dtype,
    `${plan.strategy === 'fma' ? 'multiply-add' : 'tensor core'} tile ${tile.o}x${tile.n}x${tile.m}`,
  ];
  if (plan.splitK > 1) parts.push(`split ${plan.splitK}`);
  if (plan.power !== undefined) parts.push(`${plan.power} power`);
  const loose = (['A', 'B', 'C', 'Out'] as const).filter((name) => !plan[`aligned${name}`]);
  if (loose.length > 0) parts.push(`${loose.join(', ').toLowerCase()} unaligned`);
  return `cdist-grad ${parts.join(', ')}`;
}

function impossible(
  { dtype }: CdistGradProblem,
  limits: CudaLimits,
  { strategy }: CdistGradPlanOptions,
): PlanError {
  const why =
    strategy === 'mma' && dtype === 'float64'
      ? 'float64 has no tensor-core kernel. Use the strategy fma'
      : `no tile fits its ${limits.sharedMemPerBlockOptin} bytes of shared memory per block. ` +
        'Use a GPU of compute capability 8.0 or newer';
  return new PlanError('UNSUPPORTED', `cannot plan for ${limits.arch}: ${why}.`);
}
