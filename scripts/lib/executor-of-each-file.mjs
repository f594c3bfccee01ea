// A set-up file for suites that hold on both executors of the CPU: the files below run on compiled kernels, and the others on the interpreter,
// which takes a fifth of the time. What is remembered of a call remembers its executor, so that a file has one and not each test.
import { expect } from 'vitest';

/** A covering selection: values and derivatives of every family of kernels, every layout, formulas at random. */
const COMPILED = [
  /\/lazy\/src\/(reductions|joint-reduction|gradient|layouts|random-formulas|fast-math|out-dtype|keops\/keops-cases)\.test\.ts$/,
  /\/lazy\/src\/.*\.(gpu|stress|alone)\.test\.ts$/,
  /\/pairwise\/src\/(?!(run-kernel|run-kernel-backward|cdist-backward)\.)[^/]*\.test\.ts$/,
  /\/pairwise\/src\/.*\.gpu\.test\.ts$/,
  /\/linalg\/src\/(?!backward\/backward(\.fallback)?\.)/,
  /\/tensor\/src\/(?!(creators\/creators|indexing\/indexing|arithmetic\/deferral|map-lists|shaping\/shaping|sorting\/sorting|totals\/totals)\.test)/,
];

const file = String(expect.getState().testPath);
if (!COMPILED.some((pattern) => pattern.test(file))) process.env['MERCER_CPU'] = 'interpreted';
