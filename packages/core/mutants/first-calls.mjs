const FIRST = { promise: 'first calls', test: 'src/first-calls.test.ts' };
const EXECUTABLE = '../../tensor/src/executable.ts';

/**
 * What docs/adr/0027 decides, undone.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const firstCalls = [
  {
    ...FIRST,
    file: EXECUTABLE,
    name: 'every call waits for the compiler',
    find: "ways === 'compiled' || values === undefined",
    replace: 'true',
    pattern: 'does not wait for the compiler',
  },
  {
    ...FIRST,
    file: '../../tensor/src/operation/operation.ts',
    name: 'prepare does not wait',
    find: 'one.load({ debug, signal }, made)',
    replace: 'one.load({ debug, signal, values: 1 }, made)',
    pattern: 'of a reduction and precompile wait as well',
  },
  {
    ...FIRST,
    file: '../../tensor/src/cpu-executor.ts',
    name: 'compiled is no order',
    find: "return reason === 'a C++ compiler was found' ? 'either' : executor;",
    replace: "return executor === 'compiled' ? 'either' : executor;",
    pattern: 'waits where MERCER_CPU is compiled',
  },
  {
    ...FIRST,
    file: EXECUTABLE,
    name: 'a signal ends a compile behind',
    find: 'held.join(undefined, ALWAYS)',
    replace: 'void ALWAYS, held.result',
    pattern: 'given to a call that was interpreted',
  },
  {
    ...FIRST,
    file: EXECUTABLE,
    name: 'a compile that ended with its cache is a failure',
    find: ' || isClosed(error)',
    replace: '',
    pattern: 'closing the cache',
  },
  {
    ...FIRST,
    file: '../../jit-cache/src/single-flight.ts',
    name: 'closing the cache waits for compiles behind',
    find: 'if (work.isBehind) work.abandon(closed());',
    replace: 'void closed;',
    pattern: 'closing the cache',
  },
  {
    ...FIRST,
    file: '../../cpu-runtime/src/compiler/run-compiler.ts',
    name: 'a compile behind keeps the process alive',
    find: 'if (!keepsAlive) {',
    replace: 'if (keepsAlive && !keepsAlive) {',
    pattern: 'by itself, does not wait for it',
  },
  {
    ...FIRST,
    file: '../../jit-cache/src/shared-work.ts',
    name: 'who waits for a compile behind does not keep the process alive',
    find: 'if (!this.#keepsAlive) void keepingAlive(this.#result, signal);',
    replace: '',
    pattern: 'where a call waits for it too',
  },
];
