/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const PROMISE = 'a solve ends by its true residual';
const FORMULAS = {
  promise: PROMISE,
  file: '../../solvers/src/krylov/cg-formulas.ts',
  test: '../solvers/src/cg.test.ts',
};
const SOLVE = { promise: PROMISE, file: '../../solvers/src/cg.ts' };
const PRECONDITIONED = {
  promise: 'preconditioners are close to the inverse',
  test: '../solvers/src/preconditioners.test.ts',
};
const LOOP = { promise: PROMISE, file: '../../solvers/src/krylov/iterate.ts' };

/** @type {readonly Mutant[]} */
export const solvers = [
  {
    ...FORMULAS,
    name: 'a column that is done goes on',
    find: "const moves = and(runs, gt(v('pap'), 0));",
    replace: "const moves = gt(v('pap'), 0);",
    pattern: 'a column that is done does not move while others go on',
  },
  {
    ...FORMULAS,
    name: 'the residual of the recurrence is believed',
    find: "    [failed, v('status')],\n    [not(isFinite(real)), Status.notFinite],\n    [le(truth, v('tolerance')), Status.converged],",
    replace:
      "    [failed, v('status')],\n    [not(isFinite(real)), Status.notFinite],\n    [le(v('norm'), v('tolerance')), Status.converged],",
    pattern: 'is not done where only the residual of the recurrence is small enough',
  },
  {
    ...FORMULAS,
    name: 'nothing stagnates',
    find: "le(v('gain'), mul(v('unit'), v('total')))",
    replace: "lt(v('gain'), mul(-1, v('total')))",
    pattern: 'ends by stagnation',
  },
  {
    ...LOOP,
    name: 'a solve is not stopped between batches',
    find: '      signal?.throwIfAborted();\n      reading = columnsOf(',
    replace: '      reading = columnsOf(',
    and: {
      find: 'const seen = await unlessAborted(reading, signal);',
      replace: 'const seen = await reading;',
    },
    test: '../solvers/src/cg.test.ts',
    pattern: 'stops when it is aborted in mid-solve',
  },
  {
    ...LOOP,
    name: 'the host looks at the batch that is under way',
    find: 'await advance((from) => batches.run(from));\n      if (done',
    replace:
      'await advance((from) => batches.run(from));\n      reading = columnsOf(await standing(state, method.scale));\n      if (done',
    test: '../solvers/src/iterate.test.ts',
    pattern: 'a batch is looked at while the next one is under way',
  },
  {
    ...SOLVE,
    name: 'the gradient by the tensors of an operator has the other sign',
    find: 'await pull(await (await adjoint()).neg())',
    replace: 'await pull(await adjoint())',
    test: '../solvers/src/gradients.test.ts',
    pattern: 'by a stored matrix',
  },
  {
    ...SOLVE,
    name: 'a solve keeps its last state',
    find: 'for (const one of Object.values(rest)) one.dispose();',
    replace: 'void rest;',
    test: '../solvers/src/cg.test.ts',
    pattern: 'keeps no memory beside x',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/falkon.ts',
    name: "Falkon's factor forgets that centres are a sample",
    find: 'square.div(m)',
    replace: 'square.div(rows)',
    pattern: 'is the inverse of n/m K\\^2',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/low-rank.ts',
    name: 'eigenvalues are damped as if there were no shift',
    find: 'least.add(shift).div(values.add(shift))',
    replace: 'least.div(values)',
    pattern: 'damps the exact eigenvectors',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/eigen-pro.ts',
    name: 'eigenvectors of equal rows are not left out',
    find: 'value > size * unit * most',
    replace: 'value > -most',
    pattern: 'takes equal rows',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/pivoted-cholesky.ts',
    name: 'a rank is not chosen by its gain',
    find: 'if (trace > (1 - leastGain) * before) break;',
    replace: 'void before;',
    pattern: 'ends where the trace no longer falls',
  },
];
