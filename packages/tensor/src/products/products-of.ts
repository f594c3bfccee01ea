import process from 'node:process';
import { cublasLt } from '@mercer/cuda-runtime';
import {
  chooseProducts,
  partsLength,
  type PairwiseProblem,
  type ProductsConfig,
} from '@mercer/kernels';
import type { Device } from '../device.js';
import { MercerError } from '../mercer-error.js';
import { availableBytes } from '../operations.js';

/** The share of free memory that the parts of both factors may take. */
const SHARE = 0.25;

/**
 * How a problem of squared distances is computed through products on tensor cores; undefined where the direct kernels are predicted to be as
 * quick, where there is no cuBLASLt or no memory for the parts, and where the environment variable MERCER_PRODUCTS is `off`. It is
 * read when a call is planned.
 *
 * @throws MercerError INVALID_ARGUMENT where MERCER_PRODUCTS is neither `auto` nor `off`
 */
export function productsOf(device: Device, problem: PairwiseProblem): ProductsConfig | undefined {
  const config = chooseProducts(problem, device.limits);
  if (config === undefined || isOff()) return undefined;
  const bytes = 4 * (partsLength(config) + 1) * (problem.m + problem.n);
  if (bytes > SHARE * availableBytes(device)) return undefined;
  return cublasLt.isAvailable() ? config : undefined;
}

function isOff(): boolean {
  const named = process.env['MERCER_PRODUCTS'] ?? '';
  if (named === '' || named === 'auto') return false;
  if (named === 'off') return true;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `choosing how distances are computed: MERCER_PRODUCTS is '${named}'. Set it to off or auto, or unset it.`,
  );
}
