/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const MAPPED = 'what is mapped';
const ROUND = {
  promise: 'rules are turned round',
  file: '../../autodiff/src/trace/linear.ts',
  test: '../autodiff/src/custom-jvp.test.ts',
};
const SCALARS = {
  promise: 'scalars of kernels of users',
  file: '../../tensor/src/unsafe-kernel/plan-call.ts',
  test: '../tensor/src/unsafe-kernel/unsafe-kernel.test.ts',
};
const SHARED = {
  promise: MAPPED,
  file: '../../autodiff/src/over-examples.ts',
  test: '../autodiff/src/vmap.test.ts',
  pattern: 'sums the cotangents of what all examples share',
};
const EXAMPLES = {
  promise: MAPPED,
  test: 'src/every-map.test.ts',
  pattern: 'does not grow for reductions of symbolic matrices',
};
const REPLAY = {
  promise: 'prepared functions',
  file: '../../tensor/src/capture/replay.ts',
  test: '../autodiff/src/prepare.test.ts',
};

const SIDE = {
  promise: 'prepared functions',
  file: '../../tensor/src/capture/work-order.ts',
  test: '../tensor/src/capture/work-order.test.ts',
};

/**
 * Faults of functions that transform functions.
 *
 * @type {readonly Mutant[]}
 */
export const transforms = [
  {
    ...ROUND,
    name: 'a derivative of a rule that is turned round may read its tangents',
    find: 'throw this.#notLinear(`the derivative of ${name} depends on it`);',
    replace: 'void name;',
    pattern: 'refuses to turn a rule round that is not linear: a square',
  },
  {
    ...ROUND,
    name: 'a rule that is turned round may compare its tangents',
    find: "if (derivative === 'constant' && call.args.flat.some(isVariable))",
    replace: 'if (derivative === undefined && call.args.flat.some(isVariable))',
    pattern: 'refuses to turn a rule round that is not linear: a choice by its sign',
  },
  {
    ...ROUND,
    name: 'a value that a rule closes over leaves a jvp that has ended',
    file: '../../autodiff/src/jvp.ts',
    find: 'if (known.some((one) => isTracedBy(trace, one)))',
    replace: 'if (known.some((one) => one === undefined && isTracedBy(trace, one)))',
    pattern: 'refuses values of the function that are no arguments, by name',
  },
  {
    promise: 'derivatives that are taken later',
    file: '../../autodiff/src/later-calls.ts',
    test: '../autodiff/src/transforms.test.ts',
    name: 'a tape ends under calls that read it',
    find: 'if (this.#isDisposed && this.#underWay === 0)',
    replace: 'if (this.#isDisposed)',
    pattern: 'that wait when they are disposed are computed, and nothing is kept',
  },
  {
    ...SHARED,
    name: 'the cotangent of what all examples share is that of one of them',
    find: 'return isMapped ? await one.sum(0) : await one.mul(call.size);',
    replace: 'return isMapped ? one.slice(0).view() : await one.mul(call.size);',
  },
  {
    ...SHARED,
    name: 'the cotangent of what all examples share counts one example where it depends on none',
    find: 'await one.mul(call.size);',
    replace: 'one.view();',
  },
  {
    ...EXAMPLES,
    name: 'symbolic matrices are reduced for one example after the other',
    file: '../../lazy/src/traced-reductions.ts',
    find: 'if (bound === undefined) return undefined;',
    replace: 'if (bound !== undefined) return undefined;',
  },
  {
    ...EXAMPLES,
    name: 'pairs of all examples are those of one batch',
    file: '../../pairwise/src/pair-sums.ts',
    find: 'batch: size * sizes.batch,',
    replace: 'batch: sizes.batch,',
  },
  {
    ...EXAMPLES,
    name: 'gradients of kernels are not repeated for what all examples share',
    file: '../../pairwise/src/batch-rules.ts',
    find: 'isValue(one) ? spreadOver(one, are[at], size) : one,',
    replace: 'isValue(one) && size < 0 ? spreadOver(one, are[at], size) : one,',
    pattern: 'of a function whose other arguments all examples share',
  },
  {
    ...EXAMPLES,
    name: 'weighted differences are computed for one example after the other',
    file: '../../pairwise/src/weighted-differences.ts',
    find: 'ofRows as BatchRule,',
    replace: '(() => ofRows && undefined) as BatchRule,',
    pattern: 'but for what is called for each',
  },
  {
    ...SCALARS,
    name: 'a call with other scalars takes those of the call before',
    find: 'return { tensors, steps, scalars };',
    replace: 'return { tensors, steps };',
    pattern: 'plans nothing anew where only scalars differ',
  },
  {
    ...SCALARS,
    name: 'results have the shapes that the scalars of a call before said',
    find: "if (definition.scalars.length === 0 || definition.sizesOf === undefined) return '';",
    replace: "if (definition.scalars.length >= 0 || definition.sizesOf === undefined) return '';",
    pattern: 'makes results of the shapes that scalars say',
  },
  {
    ...REPLAY,
    name: 'a replay reads the arguments of the example',
    find: 'this.#copiesIn.enqueue(args, this.#inputs, queue);',
    replace: 'void args;',
    pattern: 'a chain gives what the function gives',
  },
  {
    ...REPLAY,
    name: 'a CPU repeats what rests',
    find: 'const one = result === undefined ? undefined : this.#results[result];',
    replace: 'const one = result === undefined ? undefined : this.#results[-1];',
    pattern: 'repeatUntil gives what repeat gives of a state that rests',
  },
  {
    ...REPLAY,
    name: 'repetitions of a CPU begin with the same numbers',
    find: 'if (one.storage === other.storage && one.byteOffset === other.byteOffset) continue;',
    replace: 'if (one.storage === other.storage || this.#copier.kernel === undefined) continue;',
    pattern: 'repeat gives what the function gives when it is called as often',
  },
  {
    ...REPLAY,
    name: 'a prepared function that is disposed ends under calls that wait',
    find: 'if (this.#pending > 0) return;',
    replace: 'if (this.#pending < 0) return;',
    pattern: 'disposed while calls wait, does them, and keeps nothing',
  },
  {
    ...REPLAY,
    name: 'a replay does not wait for who writes what it reads',
    find: 'if (writes ? calls?.isEmpty === false || hasLaterReads : calls?.hasWriters === true)\n        return true;',
    replace: 'void [writes, calls, hasLaterReads];',
    pattern: 'keeps its place among calls that are not enqueued yet',
  },
  {
    promise: 'memory of derivatives',
    name: 'what a checkpoint computes again is kept until the whole gradient is there',
    file: '../../autodiff/src/trace/owning.ts',
    find: 'if (!(trace instanceof Owning) || isTracedKnown(primal)) return undefined;',
    replace: 'return undefined;',
    test: '../autodiff/src/scan-memory.test.ts',
    pattern: 'holds one carry for each step',
  },
  {
    promise: 'operands that are not awaited',
    name: 'a function does not wait for results among its operands',
    file: '../../tensor/src/trace/differentiable.ts',
    find: 'if (!someArgument(args, isPending)) return call(...(args as never[]));',
    replace: 'return call(...(args as never[]));',
    test: 'src/every-operand.test.ts',
    pattern: 'a copy under way',
  },
  {
    promise: 'operands that are not awaited',
    name: 'what waits for its operands has no place among calls',
    file: '../../tensor/src/trace/differentiable.ts',
    find: 'return isOneCall ? pendingAfter(given.flat, result) : pending(result);',
    replace: 'return pending(result);',
    test: 'src/order-of-operands.test.ts',
    pattern: 'matmul, as a method',
  },
  {
    promise: 'operands that are not awaited',
    name: 'calls one after another wait for what is written behind the first',
    file: '../../tensor/src/pending.ts',
    find: 'isOneCall && given.every(hasPlace)',
    replace: 'given.every(hasPlace)',
    test: 'src/order-of-operands.test.ts',
    pattern: 'in blocks',
  },
  {
    ...SIDE,
    name: 'captured work that writes does not wait for what reads',
    find: 'for (const one of readers) needed.add(one);',
    replace: 'void readers;',
    pattern: 'puts each work behind those that it conflicts with',
  },
  {
    ...SIDE,
    name: 'captured work does not wait for work that says nothing',
    find: 'if (this.#floor !== undefined) needed.add(this.#floor);',
    replace: '',
    pattern: 'keeps work that says nothing behind all before it',
  },
  {
    ...SIDE,
    file: '../../tensor/src/capture/capture.ts',
    test: '../tensor/src/capture/side-by-side.fake-gpu.test.ts',
    name: 'memory that a capture gives back and takes again is another memory',
    find: 'const memoryOf = ({ handle }: StorageBlock): object => handle;',
    replace: 'const memoryOf = (storage: StorageBlock): object => storage;',
    pattern: 'memory that is given back and taken again has been read before',
  },
  {
    ...SIDE,
    file: '../../tensor/src/capture/capture.ts',
    test: '../tensor/src/capture/side-by-side.fake-gpu.test.ts',
    name: 'small memory is taken again at once',
    find: 'const SMALL_SPARES_BYTES = 2 ** 20;',
    replace: 'const SMALL_SPARES_BYTES = 0;',
    pattern: 'small memory is taken again late',
  },
  {
    ...REPLAY,
    test: 'src/prepared-programs.fake-gpu.test.ts',
    name: 'a repetition on a GPU copies the arguments again',
    find: 'if (done === 1) this.#copiesIn.rebind(graph, this.#feedback?.from, this.#inputs);',
    replace: '',
    pattern: 'a repetition of the host has what the call before it gave',
  },
  {
    ...REPLAY,
    test: 'src/prepared-programs.fake-gpu.test.ts',
    name: 'a loop of a GPU repeats with what the first repetition had',
    find: 'this.#copiesIn.rebind(graph, this.#feedback?.from, this.#inputs, true);',
    replace: '',
    pattern: 'a repetition of the device has what the call before it gave',
  },
  {
    ...SIDE,
    file: '../../tensor/src/capture/capture.ts',
    test: '../tensor/src/capture/repetitions.fake-gpu.test.ts',
    name: 'work that reads no argument overwrites a result that is still to be copied',
    find: '[...reads.map(memoryOf), this.#arguments]',
    replace: 'reads.map(memoryOf)',
    pattern:
      'a result that reads no argument is taken for the next repetition before it is written',
  },
];
