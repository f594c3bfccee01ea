/**
 * In the place of what writes texts for C++ compilers: a page has none, and its kernels are programs for the interpreter. The texts that
 * are left have holes, and nobody reads them. See the field `browser` of package.json.
 */
export const cpuPairText = () => ({ helpers: [] });

const noText = (): string => '';
export {
  noText as conversionsText,
  noText as conversionText,
  noText as cpuFirstStep,
  noText as cpuHelpers,
  noText as limitOf,
  noText as microKernelText,
  noText as packingText,
  noText as prelude,
  noText as storeText,
};

/** A plan for the interpreter has no second step and no loops over components. */
function noProgram(): never {
  throw new Error('a page compiles no kernels');
}
export { noProgram as emitCpuPairTile, noProgram as tileKernel, noProgram as withMergeKernel };
