/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const TENSOR = '../../tensor/src';
const ORDER = { promise: 'order of streams', test: '../tensor/src/stream-order.test.ts' };
const ORDER_ON_GPU = { ...ORDER, test: '../tensor/src/stream-order.fake-gpu.test.ts' };

/** Where reads and writes of memory are told to its storage. */
const BLOCK = {
  ...ORDER,
  file: `${TENSOR}/elementwise.ts`,
  before: '    from.storage.beforeRead(stream);\n    to.storage.beforeWrite(stream);\n',
  after: '    from.storage.noteRead(stream);\n    to.storage.noteWrite(stream);\n',
};
const NATIVE = { ...ORDER_ON_GPU, file: `${TENSOR}/cuda/native-work.ts` };
const KERNEL = { ...ORDER, file: `${TENSOR}/device-kernel.ts` };
const READBACK = { ...ORDER, file: `${TENSOR}/readback.ts` };
const STORAGE = { ...ORDER, file: `${TENSOR}/storage-block.ts` };

/** @type {readonly Mutant[]} */
const order = [
  {
    ...without(BLOCK, BLOCK.before, '    from.storage.beforeRead(stream);\n'),
    name: 'a copy of a block does not wait for who writes what it reads',
    pattern: 'clone reads what another stream is still to write',
  },
  {
    ...without(BLOCK, BLOCK.before, '    to.storage.beforeWrite(stream);\n'),
    name: 'a copy of a block does not wait for who reads what it writes',
    pattern: 'copyFrom writes behind the reads of another stream',
  },
  {
    ...without(BLOCK, BLOCK.after, '    from.storage.noteRead(stream);\n'),
    name: 'a copy of a block does not tell that it reads',
    pattern: 'clone has read before another stream writes',
  },
  {
    ...without(BLOCK, BLOCK.after, '    to.storage.noteWrite(stream);\n'),
    name: 'a copy of a block does not tell that it writes',
    pattern: 'copyFrom has written before another stream reads',
  },
  {
    ...ORDER,
    file: `${TENSOR}/elementwise.ts`,
    name: 'a fill does not wait for who reads',
    find: '    to.storage.beforeWrite(stream);\n    if (device.memset',
    replace: '    if (device.memset',
    pattern: 'fill writes behind the reads of another stream',
  },
  {
    ...ORDER,
    file: `${TENSOR}/elementwise.ts`,
    name: 'a fill does not tell that it writes',
    find: '      to.storage.noteWrite(stream);\n      return;',
    replace: '      return;',
    pattern: 'fill has written before another stream reads',
  },
  {
    ...KERNEL,
    name: 'a kernel does not wait for who writes what it reads',
    find: 'storages[i]?.beforeRead(core);',
    replace: 'void core;',
    pattern: '(map|mean|gatherRows|scatterAdd) reads what another stream is still to write',
    each: true,
  },
  {
    ...KERNEL,
    name: 'a kernel does not wait for who reads what it writes',
    find: 'storages[i]?.beforeWrite(core);',
    replace: 'void core;',
    pattern: '(map|max|gatherRows|scatterAdd) writes behind the reads of another stream',
    each: true,
  },
  {
    ...KERNEL,
    name: 'a kernel does not tell that it reads',
    find: 'storages[i]?.noteRead(core);',
    replace: 'void core;',
    pattern: '(map|mean|gatherRows|scatterAdd) has read before another stream writes$',
    each: true,
  },
  {
    ...KERNEL,
    name: 'a kernel does not tell that it writes',
    find: 'storages[i]?.noteWrite(core);',
    replace: 'void core;',
    pattern: '(map|max|gatherRows) has written before another stream reads',
  },
  {
    ...READBACK,
    name: 'a read-back does not wait for who writes',
    find: '  storage.beforeRead(stream);\n',
    replace: '',
    pattern: 'toTypedArray reads what another stream is still to write',
  },
  {
    ...READBACK,
    name: 'a read-back does not tell that it reads',
    find: '  storage.noteRead(stream);\n',
    replace: '',
    pattern: 'toTypedArray has read before another stream writes',
  },
  {
    ...STORAGE,
    name: 'a write waits for no read',
    find: 'if (reader.stream !== stream) stream.waitFor(reader);',
    replace: 'void reader;',
    pattern: 'writes behind the reads of another stream',
    each: true,
  },
  {
    ...STORAGE,
    name: 'a write waits for no write',
    find: '    if (this.#writer.stream !== stream) stream.waitFor(this.#writer);\n    for',
    replace: '    for',
    pattern: 'writes behind the writes of another stream',
    each: true,
  },
  {
    ...STORAGE,
    name: 'memory is given back before its readers are done',
    find: 'this.#memory.free([this.#writer, ...this.#readers]);',
    replace: 'this.#memory.free([this.#writer]);',
    pattern: 'memory that (clone|cast|mean) read is another tensor only when it has',
    each: true,
  },
  {
    ...NATIVE,
    name: 'a library does not wait for who writes what it reads',
    find: '    for (const storage of this.#reads) storage.beforeRead(this.#core);\n',
    replace: '',
    pattern: 'work of a library reads what another stream is still to write',
  },
  {
    ...NATIVE,
    name: 'a library does not wait for who reads what it writes',
    find: '    for (const storage of this.#writes) storage.beforeWrite(this.#core);\n',
    replace: '',
    pattern:
      '(work of a library|work on a stream beside) writes behind the reads of another stream',
    each: true,
  },
  {
    ...NATIVE,
    name: 'a library does not tell that it reads',
    find: '    for (const storage of this.#reads) storage.noteRead(this.#core);\n',
    replace: '',
    pattern: 'work of a library has read before another stream writes',
  },
  {
    ...NATIVE,
    name: 'a library does not tell that it writes',
    find: '    for (const storage of this.#writes) storage.noteWrite(this.#core);\n',
    replace: '',
    pattern:
      '(work of a library|work that a library waits for) has written before another stream reads',
    each: true,
  },
  {
    ...NATIVE,
    name: 'streams beside do not begin behind the stream of the call',
    find: '      follow(other, this.#core);\n',
    replace: '',
    pattern: 'work on a stream beside writes behind the reads of another stream',
  },
  {
    ...NATIVE,
    name: 'nobody waits for the streams beside',
    find: '      follow(this.#core, other);\n',
    replace: '',
    test: '../tensor/src/cuda/native-work.fake-gpu.test.ts',
    pattern: 'streams beside that are late',
  },
  {
    ...ORDER_ON_GPU,
    name: 'memory is set to 0 before others have read it',
    file: `${TENSOR}/operation/known-call.ts`,
    find: '  storage.beforeWrite(queue);\n',
    replace: '',
    pattern: 'a table of sums is set to 0 behind the reads of another stream',
  },
  {
    ...ORDER_ON_GPU,
    name: 'memory of the host is read before its streams have written it',
    file: `${TENSOR}/operations.ts`,
    find: '    await unlessAborted(reading.tailDone(), signal);\n    await uploadInPieces',
    replace: '    await uploadInPieces',
    pattern: 'a move from the host',
  },
  {
    ...ORDER_ON_GPU,
    name: 'a move does not wait for the stream that writes',
    file: `${TENSOR}/operations.ts`,
    find: '  from.beforeRead(reading);\n',
    replace: '',
    pattern: 'a move (to|from) the host',
  },
];

const AWAITED = {
  promise: 'asynchronous calls',
  test: 'src/asynchronous-calls.test.ts',
  pattern: 'has put all its work on the stream',
};

/** @type {readonly Mutant[]} */
const enqueuing = [
  {
    ...AWAITED,
    file: `${TENSOR}/elementwise.ts`,
    name: 'a copy with conversion resolves before its launch is enqueued',
    find: '  kernel.launch(stream, {\n    pointers: [memoryAt(from, srcOffset), memoryAt(to, dstOffset)],\n    scalars,\n  });',
    replace:
      '  setImmediate(() => kernel.launch(stream, {\n    pointers: [memoryAt(from, srcOffset), memoryAt(to, dstOffset)],\n    scalars,\n  }));',
  },
  {
    ...AWAITED,
    file: `${TENSOR}/elementwise.ts`,
    name: 'a fill of a view resolves before its launch is enqueued',
    find: '  kernel.launch(stream, {\n    pointers: [memoryAt(to, dstOffset)],\n    scalars: { ...scalars, ...patternScalars(pattern) },\n  });',
    replace:
      '  setImmediate(() => kernel.launch(stream, {\n    pointers: [memoryAt(to, dstOffset)],\n    scalars: { ...scalars, ...patternScalars(pattern) },\n  }));',
  },
  {
    ...AWAITED,
    file: `${TENSOR}/arithmetic/reduction-methods.ts`,
    name: 'steps of a reduction go to the default stream',
    find: '({ keepDims, stream, debug, signal });',
    replace: '({ keepDims, debug, signal, stream: stream && undefined });',
  },
  {
    ...AWAITED,
    file: `${TENSOR}/arithmetic/elementwise.ts`,
    name: 'an elementwise operation ignores the stream',
    find: 'startChain(result, options);',
    replace: 'startChain(result, { ...options, stream: undefined });',
    pattern: 'writes into out once, on the stream of the caller',
  },
];

const IN_ORDER = {
  promise: 'order of calls',
  test: '../tensor/src/call-order.test.ts',
};

/** @type {readonly Mutant[]} */
const overtaking = [
  {
    ...IN_ORDER,
    name: 'a known call overtakes what is under way',
    file: `${TENSOR}/operation/operation.ts`,
    find: '!queue.hasRoom() || isBehindOthers(known.tensors)',
    replace: '!queue.hasRoom()',
    pattern: 'behind .* a map are read',
  },
  {
    ...IN_ORDER,
    name: 'a known call that waits is overtaken',
    file: `${TENSOR}/operation/operation.ts`,
    find: 'return inTurn(...storagesOf(known.tensors), signal,',
    replace: 'return inTurn([], [], signal,',
    pattern: 'keeps the order of all that wait for it',
  },
  {
    ...IN_ORDER,
    name: 'a chain is launched behind a later write',
    file: `${TENSOR}/arithmetic/launch-chain.ts`,
    find: 'writing?.place ?? root.place',
    replace: 'writing?.place',
    pattern: 'is not read by a triangle',
  },
  {
    ...IN_ORDER,
    name: 'a prepared call overtakes what is under way',
    file: `${TENSOR}/operation/operation.ts`,
    find: 'isBehindOthers(tensors)',
    replace: '(tensors.inputs.length as number) < 0',
    pattern: 'behind fills of views a prepared call are read',
  },
  {
    ...IN_ORDER,
    name: 'a copy or a fill does not tell that it is under way',
    file: `${TENSOR}/operations.ts`,
    find: 'return inTurn(reads.map(storageOf), writes.map(storageOf), signal,',
    replace: 'return inTurn([], [], signal,',
    pattern: 'behind .* a map are read',
  },
];

const SIGNALS = { promise: 'signals' };
const ROOM = {
  ...SIGNALS,
  test: 'src/signals.test.ts',
  pattern: 'a call that waits for room',
};
const REDUCTIONS = { ...SIGNALS, test: 'src/signals-of-reductions.test.ts' };
const PREPARE = {
  ...SIGNALS,
  test: 'src/signals-of-prepare.test.ts',
  file: `${TENSOR}/operation/operation.ts`,
};
const ON_GPU = { ...SIGNALS, test: '../tensor/src/signals.fake-gpu.test.ts' };
const SPREAD = {
  ...SIGNALS,
  file: '../../linalg/src/cuda/spread.ts',
  test: '../linalg/src/routines.fake-gpu.test.ts',
};

/** @type {readonly Mutant[]} */
const signals = [
  {
    ...ROOM,
    name: 'a wait for room on a stream is not left',
    file: `${TENSOR}/operations.ts`,
    find: 'await waitForRoom(chosen, signal);',
    replace: 'await waitForRoom(chosen, signal && undefined);',
  },
  {
    ...SIGNALS,
    name: 'a read-back is not left',
    file: `${TENSOR}/readback.ts`,
    find: '    arrived.then(() => target),\n    signal,\n',
    replace: '    arrived.then(() => target),\n    signal && undefined,\n',
    test: 'src/signals.test.ts',
    pattern: 'toTypedArray is given up at once',
  },
  {
    ...SIGNALS,
    name: 'memory of a copy that was given up is kept',
    file: `${TENSOR}/operations.ts`,
    find: '    view.storage.dispose();\n    throw error;',
    replace: '    throw error;',
    test: 'src/signals.test.ts',
    pattern: '(clone|cast), aborted wherever it looks',
  },
  {
    ...ON_GPU,
    name: 'a packed copy is kept where its read-back was given up',
    file: `${TENSOR}/readback.ts`,
    find: '    packed.storage.dispose();\n',
    replace: '    void packed;\n',
    pattern: 'toTypedArray heeds a signal and leaves nothing',
  },
  {
    ...REDUCTIONS,
    name: 'steps of a reduction do not heed the signal',
    file: `${TENSOR}/arithmetic/reduction-methods.ts`,
    find: '({ keepDims, stream, debug, signal });',
    replace: '({ keepDims, stream, debug, signal: signal && undefined });',
    pattern: '(var|std|norm|logSumExp) launches nothing where the signal has aborted',
    each: true,
  },
  {
    ...REDUCTIONS,
    name: 'what lies between the steps of a reduction is kept',
    file: `${TENSOR}/arithmetic/reduction-methods.ts`,
    find: '    turn.end();\n    for (const one of made) one[Symbol.dispose]();\n',
    replace: '    turn.end();\n',
    pattern: '(var|std|norm|logSumExp), aborted wherever it looks',
  },
  {
    ...REDUCTIONS,
    name: 'the widened copy of whole numbers is kept',
    file: `${TENSOR}/arithmetic/reduction-methods.ts`,
    find: '      made.push(between);\n',
    replace: '',
    pattern: '(var|std) of whole numbers, aborted wherever it looks',
  },
  {
    ...REDUCTIONS,
    name: 'a chain holds what it reads where its reduction was given up',
    file: `${TENSOR}/arithmetic/reductions.ts`,
    find: 'reduced(x, NONE, described, options, () => x.spend());',
    replace: 'reduced(x, NONE, described, options);',
    pattern: '(var|norm), aborted wherever it looks',
  },
  {
    ...REDUCTIONS,
    name: 'results of a call that failed are kept',
    file: `${TENSOR}/operation/operation.ts`,
    find: '      return results;\n    } finally {\n      for (const one of made) one.dispose();\n    }\n  }\n\n  /**\n   * Compiles and loads what',
    replace:
      '      return results;\n    } finally {\n      void made;\n    }\n  }\n\n  /**\n   * Compiles and loads what',
    pattern: 'of data, aborted wherever it looks',
  },
  {
    ...PREPARE,
    name: 'a preparation whose signal has aborted begins',
    find: '    signal?.throwIfAborted();\n    const planned =',
    replace: '    const planned =',
    pattern: 'is not begun where the signal has aborted',
  },
  {
    ...REDUCTIONS,
    name: 'a call does not stop the compiler',
    file: `${TENSOR}/operation/operation.ts`,
    find: 'step.load({ debug, signal, values: step.values }, made)',
    replace: 'step.load({ debug, signal: signal && undefined, values: step.values }, made)',
    pattern: 'is given up at once, and the compiler is stopped',
    each: true,
  },
  {
    ...PREPARE,
    name: 'a preparation does not stop the compiler',
    find: 'one.load({ debug, signal }, made)',
    replace: 'one.load({ debug, signal: signal && undefined }, made)',
    pattern: 'is given up at once, and the compiler is stopped',
    each: true,
  },
  {
    ...PREPARE,
    name: 'a preparation that was given up keeps what it placed',
    find: '      dispose();\n      throw error;',
    replace: '      throw error;',
    pattern: 'LazyReduction with ranges, aborted wherever it looks',
  },
  {
    ...PREPARE,
    name: 'a prepared kernel takes a signal',
    file: '../../pairwise/src/run-kernel.ts',
    find: 'freeOptions: PREPARED_KERNEL_OPTIONS,',
    replace: 'freeOptions: RUN_KERNEL_OPTIONS,',
    pattern: 'of runKernel that has resolved',
  },
  {
    ...SPREAD,
    name: 'matrices of a batch go on after their call was given up',
    find: '      signal?.throwIfAborted();\n      const { native: stream, workspace }',
    replace: '      const { native: stream, workspace }',
    pattern: 'a batch is left between matrices',
  },
  {
    ...SPREAD,
    name: 'a failure among the matrices of a batch is swallowed',
    find: '    work.enqueue({ stream: native, workspace, place });',
    replace: '    try { work.enqueue({ stream: native, workspace, place }); } catch { return; }',
    pattern: '(order .*) that the library refuses while the stream is busy throws its error',
  },
  {
    ...SPREAD,
    name: 'the matrices of a batch are not waited for',
    find: '(await Promise.allSettled(enqueued)).find(',
    replace: '(await Promise.race([Promise.allSettled(enqueued), []])).find(',
    pattern: 'tells after each matrix',
  },
  {
    ...SPREAD,
    name: 'workspaces of factorisations are kept',
    file: '../../linalg/src/cuda/scratch.ts',
    find: '    for (const storage of this.#storages) storage.dispose();\n',
    replace: '',
    pattern: 'aborted wherever it looks, gives back all that it worked in',
  },
];

const MEMORY = { promise: 'memory of calls', file: `${TENSOR}/operation/known-call.ts` };

/** @type {readonly Mutant[]} */
const memory = [
  {
    ...MEMORY,
    name: 'scratch memory is given back before it is used',
    find: '      for (const one of this.#programs) {\n',
    replace:
      '      for (const one of parts.scratch) one.dispose();\n      for (const one of this.#programs) {\n',
    test: '../tensor/src/prepared-operations.test.ts',
    pattern: 'scratch memory of calls made again returns to the pool',
  },
  {
    ...MEMORY,
    name: 'the workspace of a kernel is given back before it is used',
    find: '    for (const launch of launches) {\n',
    replace: '    workspace?.dispose();\n    for (const launch of launches) {\n',
    test: '../tensor/src/signals.fake-gpu.test.ts',
    pattern: 'sum of all, in parts',
  },
  {
    ...MEMORY,
    promise: 'calls made again',
    name: 'numbers that go back to their defaults are not packed again when they change once more',
    file: '../../tensor/src/device-kernel.ts',
    find: 'if (last === undefined || to.scalars !== last) {',
    replace: 'if (last === undefined) {',
    test: '../linalg/src/prepared.test.ts',
    pattern: 'alpha and beta are those of the call',
  },
  {
    ...MEMORY,
    name: 'scratch memory is kept',
    find: 'for (const one of scratch) one.dispose();',
    replace: 'void scratch;',
    test: 'src/signals-of-reductions.test.ts',
    pattern: '(var|std) of whole numbers, aborted wherever it looks',
  },
  {
    ...MEMORY,
    name: 'results of a launch that failed are kept',
    find: 'if (outs[place] === undefined) one.dispose();',
    replace: 'void [place, one];',
    test: '../tensor/src/faults.fake-gpu.test.ts',
    pattern: 'a launch that fails keeps no result',
  },
];

const KEPT = {
  promise: 'kept memory',
  test: '../tensor/src/kept-memory.fake-gpu.test.ts',
  file: `${TENSOR}/cuda-device.ts`,
};

/** @type {readonly Mutant[]} */
const kept = [
  {
    ...KEPT,
    name: 'memory that other streams have used is kept',
    find: 'this.#keepsMemory && memory.allocatedOn === stream && stream.keep(memory)',
    replace: 'this.#keepsMemory && stream.keep(memory)',
    pattern: '(where several streams have used it|where another stream has used it)',
    each: true,
  },
  {
    ...KEPT,
    name: 'memory that a graph holds is kept',
    file: `${TENSOR}/kept-memory.ts`,
    find: '    if (block.handle.isHeld) return false;\n',
    replace: '',
    pattern: 'is not what a graph holds',
  },
  {
    ...KEPT,
    name: 'streams keep any amount',
    file: `${TENSOR}/kept-memory.ts`,
    find: ' || this.#bytes + bytes > KEPT_LIMIT',
    replace: '',
    pattern: 'is bounded',
  },
  {
    ...KEPT,
    name: 'kept memory is not given back where memory is short',
    find: '    for (const stream of this.streams()) stream.freeKept();\n',
    replace: '',
    pattern: 'where memory is short',
  },
  {
    ...KEPT,
    name: 'kept memory is lost with its stream',
    find: '    this.freeKept();\n    this.native.dispose();',
    replace: '    this.native.dispose();',
    pattern: 'is given back with its stream',
  },
  {
    ...KEPT,
    name: 'a stream that captures takes kept memory',
    find: 'const kept = capturing ? undefined : stream.take(size);',
    replace: 'const kept = stream.take(size);',
    pattern: 'is nothing that a stream takes while it captures',
  },
];

/** Leaves one of several lines out that stand more than once in the file, but not one after the other. */
function without(
  /** @type {typeof BLOCK} */ { promise, test, file },
  /** @type {string} */ lines,
  /** @type {string} */ line,
) {
  return { promise, test, file, find: lines, replace: lines.replace(line, '') };
}

/**
 * What every call owes where it launches: the order of streams, its launch before its result, an ear for its signal, its memory.
 *
 * @type {readonly Mutant[]}
 */
const ASKED = {
  promise: 'kernels that are only asked for',
  test: '../tensor/src/capture/ask-ahead.fake-gpu.test.ts',
  pattern: 'are all requested before one is there',
};
const asked = [
  {
    ...ASKED,
    name: 'their calls are remembered',
    file: `${TENSOR}/operation/operation.ts`,
    find: ' && !isOnlyAsked()',
    replace: '',
  },
  {
    ...ASKED,
    name: 'those that are there already are launched',
    file: `${TENSOR}/device-kernel.ts`,
    find: ' || core.onlyAsks',
    replace: '',
    pattern: 'launch nothing where they are there already',
  },
  {
    ...ASKED,
    name: 'libraries are called',
    file: `${TENSOR}/operation/known-call.ts`,
    find: 'if (queue.onlyAsks) return;',
    replace: '',
    test: '../linalg/src/kernels-side-by-side.fake-gpu.test.ts',
    pattern: 'are no reason to call a library',
  },
  {
    ...ASKED,
    name: 'a solve learns of them one by one',
    file: '../../solvers/src/iterative-solve.ts',
    find: 'askAhead(wide.device, kindOf(what, parts), ahead);',
    replace: 'kindOf(what, parts) === String(ahead);',
    test: '../solvers/src/first-solve.fake-gpu.test.ts',
    pattern: 'asks for all of its kernels',
  },
  {
    ...ASKED,
    name: 'functions of another program are called for it',
    file: '../../solvers/src/iterative-solve.ts',
    find: 'one.isCapturable && !one.isForeign',
    replace: 'one.isCapturable',
    test: '../solvers/src/first-solve.fake-gpu.test.ts',
    pattern: 'calls no function of another program',
  },
];

export const launchSites = [
  ...order,
  ...enqueuing,
  ...overtaking,
  ...signals,
  ...memory,
  ...kept,
  ...asked,
];
