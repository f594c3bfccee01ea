/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const PROMISE = 'a solve ends by its true residual';
const FORMULAS = {
  promise: PROMISE,
  file: '../../solvers/src/krylov/cg-formulas.ts',
  test: '../solvers/src/cg.test.ts',
};
const SOLVE = { promise: PROMISE, file: '../../solvers/src/iterative-solve.ts' };
const DECISIONS = {
  promise: PROMISE,
  file: '../../solvers/src/krylov/decisions.ts',
  test: '../solvers/src/cg.test.ts',
};
const PRECONDITIONED = {
  promise: 'preconditioners are close to the inverse',
  test: '../solvers/src/preconditioners.test.ts',
};
const LOOP = { promise: PROMISE, file: '../../solvers/src/krylov/iterate.ts' };

const EIGEN = {
  promise: 'eigenpairs are found as often as they are there, by true residuals',
  file: '../../solvers/src/spectral/subspace.ts',
  test: '../solvers/src/spectral/eigen.test.ts',
};
const ESTIMATE = {
  promise: 'an estimate knows its error',
  file: '../../solvers/src/spectral/logdet.ts',
  test: '../solvers/src/spectral/estimates.test.ts',
};
const SHARES = {
  promise: 'eigenpairs and estimates are differentiated',
  test: '../solvers/src/spectral/spectral-gradients.test.ts',
};

const BLOCK = {
  promise: 'a block is deflated, and solves what columns alone do',
  file: '../../solvers/src/krylov/block-cg-method.ts',
  test: '../solvers/src/block-cg.test.ts',
};
const SIZES = {
  promise: 'numbers of any size, as they were when a solve was called',
  file: '../../solvers/src/krylov/decisions.ts',
  test: '../solvers/src/sizes.test.ts',
};

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
    ...DECISIONS,
    name: 'the residual of the recurrence is believed',
    find: "      [done, Status.converged],\n      [eq(v('status'), Status.stagnated), Status.stagnated],",
    replace:
      "      [le(v('norm'), v('tolerance')), Status.converged],\n      [eq(v('status'), Status.stagnated), Status.stagnated],",
    pattern: 'is not done where only the residual of the recurrence is small enough',
  },
  {
    ...FORMULAS,
    name: 'nothing stagnates',
    find: "rests: or(le(v('gain'), mul(v('unit'), v('total'))), ge(v('lost'), MOST_LOST)),",
    replace: "rests: le(v('gain'), -1 * MOST_LOST),",
    pattern: 'ends by stagnation',
  },
  {
    ...FORMULAS,
    name: 'restarts that gain nothing go on for ever',
    find: "ge(v('lost'), MOST_LOST)),",
    replace: "ge(v('lost'), 1e9 * MOST_LOST)),",
    pattern: 'a preconditioned solve stagnates too',
  },
  {
    ...LOOP,
    name: 'a solve waits for a product whatever its signal says',
    find: 'await unlessAborted(working, signal);',
    replace: 'await working;',
    test: '../solvers/src/unusual-use.test.ts',
    pattern: 'end with their signal while a product never settles',
  },
  {
    ...LOOP,
    name: 'the host looks at the batch that is under way',
    find: 'await advance((from) => batches.run(from));\n      if (done',
    replace:
      'await advance((from) => batches.run(from));\n      reading = columnsOf(await standing(state, scale));\n      if (done',
    test: '../solvers/src/iterate.test.ts',
    pattern: 'a batch is looked at while the next one is under way',
  },
  {
    ...SOLVE,
    name: 'the gradient by the tensors of an operator has the other sign',
    find: 'cotangent: await adjoint.neg() }',
    replace: 'cotangent: adjoint }',
    test: '../solvers/src/gradients.test.ts',
    pattern: 'by a stored matrix',
  },
  {
    ...SOLVE,
    name: 'a solve keeps its last state',
    find: 'release(rest);',
    replace: 'void rest;',
    test: '../solvers/src/cg.test.ts',
    pattern: 'keeps no memory beside x',
  },
  {
    ...SOLVE,
    name: 'gmres differentiates with the operator itself',
    file: '../../solvers/src/gmres.ts',
    find: 'solveTransposed(operator.t(), cotangent)',
    replace: 'solveTransposed(operator, cotangent)',
    test: '../solvers/src/gradients.test.ts',
    pattern: 'gmres',
  },
  {
    ...SOLVE,
    name: 'least squares are differentiated as systems',
    file: '../../solvers/src/least-squares.ts',
    find: 'if (rows > columns) {',
    replace: 'if (rows < 0) {',
    test: '../solvers/src/gradients.test.ts',
    pattern: 'lsqr',
  },
  {
    ...FORMULAS,
    name: 'minres forgets the vector before the last',
    file: '../../solvers/src/krylov/minres-formulas.ts',
    find: "mul(v('beta'), v('q0'))",
    replace: "mul(0, v('q0'))",
    test: '../solvers/src/methods.test.ts',
    pattern: 'minres .*begins at x0',
  },
  {
    ...FORMULAS,
    name: 'least squares are done only where there is no residual',
    file: '../../solvers/src/krylov/least-squares-formulas.ts',
    find: "or(le(one, v('tolerance')), le(other, mul(mul(v('rtol'), anorm), one)));",
    replace: "or(le(one, v('tolerance')), le(other, mul(mul(0, anorm), one)));",
    test: '../solvers/src/methods.test.ts',
    pattern: 'of inconsistent systems',
  },
  {
    ...FORMULAS,
    name: 'a cycle of gmres never ends as stagnated',
    file: '../../solvers/src/krylov/decisions.ts',
    find: "ge(carried, mul(0.999, v('best')))",
    replace: "ge(carried, mul(2, v('best')))",
    test: '../solvers/src/methods.test.ts',
    pattern: 'a cycle that never helps',
  },
  {
    ...EIGEN,
    name: 'the smallest are the largest',
    find: "which === 'smallest' ? all :",
    replace: "which === 'magnitude' ? all :",
    pattern: 'finds the smallest 7 of a grid',
  },
  {
    ...EIGEN,
    file: '../../solvers/src/spectral/lanczos-process.ts',
    name: 'Lanczos vectors are made orthogonal once',
    find: 'pass < 2',
    replace: 'pass < 1',
    pattern: 'gives an orthonormal basis from the start',
  },
  {
    ...EIGEN,
    file: '../../solvers/src/checks.ts',
    name: 'asymmetry is not noticed',
    find: 'if (difference <= asymmetryOf(dtype) * scale) return;',
    replace: 'if (difference <= 1e9 * scale) return;',
    pattern: 'refuses one that is not symmetric',
  },
  {
    ...ESTIMATE,
    name: 'the determinant of the preconditioner is left out',
    find: '2 * (await root.logdet())',
    replace: '0 * (await root.logdet())',
    pattern: 'with jacobi takes the diagonal exactly',
  },
  {
    ...ESTIMATE,
    file: '../../solvers/src/spectral/probes.ts',
    name: 'the standard error is a deviation',
    find: '/ (count - 1) / count',
    replace: '/ (count - 1)',
    pattern: 'is within its standard error about two times in three',
  },
  {
    ...SHARES,
    file: '../../solvers/src/spectral/eigen-derivative.ts',
    name: 'vectors turn among those that were found the other way',
    find: 'await row.sub(column);',
    replace: 'await column.sub(row);',
    pattern: 'vectors by points and the shift',
  },
  {
    ...SHARES,
    file: '../../solvers/src/spectral/logdet.ts',
    name: 'the gradient of logdet goes past the preconditioner',
    find: '(await root?.matvec(z as never)) ?? z',
    replace: 'z',
    pattern: 'logdet by points and the shift is right in the mean, with one',
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
    find: ' || trace > (1 - leastGain) * before;',
    replace: ' || before === -1;',
    pattern: 'ends where the trace no longer falls',
  },
  {
    ...BLOCK,
    name: 'directions that others span are kept',
    find: 'const SAME = 2 ** -46;',
    replace: 'const SAME = -1;',
    pattern: 'right-hand sides may be the same twice',
  },
  {
    ...BLOCK,
    name: 'directions are not conjugate to those before',
    find: 'await z.sub(known);',
    replace: 'await z.sub(known.mul(0));',
    pattern: 'spans a space of all unknowns in as many steps as blocks of it',
  },
  {
    ...BLOCK,
    name: 'columns that are done go on moving',
    file: '../../solvers/src/krylov/cg-formulas.ts',
    find: "STEP: where(eq(v('moving'), 1), { x",
    replace: "STEP: where(eq(v('moving'), v('moving')), { x",
    pattern: 'a column that is done does not move while others go on',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/pivoted-cholesky.ts',
    name: 'rows that are not finite are taken',
    find: 'if (Number.isNaN(last?.[1])) throw notFinite(what);',
    replace: '',
    pattern: 'of rows that are not finite',
  },
  {
    ...PRECONDITIONED,
    file: '../../solvers/src/preconditioners/nystrom.ts',
    name: 'the rank of nystrom is not chosen by its gain',
    find: 'if (rest > (1 - leastGain) * left) return found;',
    replace: '',
    pattern: 'nystrom ends where the trace no longer falls',
  },
  {
    ...SIZES,
    name: 'large right-hand sides are taken as they are',
    find: "or(gt(v('most'), MODERATE), lt(v('most'), 1 / MODERATE)),",
    replace: "lt(v('most'), 1 / MODERATE),",
    pattern: 'cg solves systems of all sizes',
  },
  {
    ...SIZES,
    file: '../../solvers/src/krylov/linear-system.ts',
    name: 'large operators are taken as they are',
    find: 'squaresOf.includes(dtype) ? await sizeOf(operator, b) : 1;',
    replace: '1;',
    pattern: 'lsqr solves systems of all sizes',
  },
  {
    ...SIZES,
    file: '../../solvers/src/krylov/linear-system.ts',
    name: 'a right-hand side is read when the work begins',
    find: 'const [copy, startCopy] = [parts.b.clone(), parts.x0?.clone()];',
    replace:
      'await new Promise((r) => setTimeout(r, 20));\n    const [copy, startCopy] = [parts.b.clone(), parts.x0?.clone()];',
    pattern: 'cg solves for b and x0 as they were when it was called',
  },
  {
    promise: 'an operator of a kernel has the products and the derivatives of runKernel',
    file: '../../pairwise/src/pair-kernel.ts',
    test: '../solvers/src/kernel-operator.test.ts',
    name: 'a root has a slope at distance 0',
    find: 'if (!isRoot || features === 0) return',
    replace: 'if (isRoot || features === 0 || !isRoot) return',
    pattern: 'products of a norm are differentiated by x and parameters, twice',
  },
];
