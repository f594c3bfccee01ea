/** In the place of routines of CUDA's libraries: see the field `browser` of package.json. */
export {
  noCuda as cudaRoutine,
  noCuda as hostRoutine,
  noCuda as readableFactor,
  noCuda as writableResult,
} from '@mercer/options/browser';
