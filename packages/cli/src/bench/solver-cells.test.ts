import { describe, expect, it } from 'vitest';
import { cellName, cellOf, cellWork, groupByOperands } from './cells.js';
import { solverCells } from './solver-cells.js';

describe('solverCells', () => {
  it('takes the systems of the goals on a GPU, and small ones on a CPU', () => {
    expect(solverCells({ kind: 'cuda', operations: ['solve'] }).map(cellName)).toEqual([
      'solve float32 10000, D = 3',
      'solve float64 10000, D = 3',
      'solve float32 100000, D = 3',
      'solve float64 100000, D = 3',
    ]);
    const small = solverCells({});
    for (const cell of small) expect(cellWork(cell)).toBeLessThanOrEqual(3e8);
    expect(small.map(cellWork)).toEqual(small.map(cellWork).sort((a, b) => a - b));
    expect(small.map(cellOf)).toEqual(small);
    expect(groupByOperands(small).length).toBe(small.length);
  });

  it('takes every combination of what is named, each once', () => {
    const cells = solverCells({
      operations: ['solve'],
      n: [50, 200],
      d: [2],
      dtype: ['float64'],
      preconditioners: ['none', 'nystrom'],
      ranks: [10, 100],
    });
    expect(cells.map(cellName)).toEqual([
      'solve float64 50, D = 2',
      'solve float64 50, D = 2, nystrom 10',
      // no rank of 100 in 50 points
      'solve float64 200, D = 2',
      'solve float64 200, D = 2, nystrom 10',
      'solve float64 200, D = 2, nystrom 100',
    ]);
    expect(cells.map(cellOf)).toEqual(cells);
    const twice = solverCells({ operations: ['solve'], n: [50, 50], preconditioners: ['none'] });
    expect(twice.map(cellName)).toEqual(['solve float32 50, D = 3']);
  });

  it('draws curves along the points', () => {
    const cells = solverCells({ operations: ['inverseKernel'], curves: true });
    expect(cells.map(({ n }) => n)).toEqual([100, 300, 1000, 3000]);
    for (const { d, dtype } of cells) expect([d, dtype]).toEqual([3, 'float32']);
  });
});
