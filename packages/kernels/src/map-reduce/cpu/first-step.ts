import { cpp, indent, lines } from '../../emit/text.js';
import { pairsName, cpuOutputText, cpuRowCounts, storeParts } from './text.js';
import { cpuRowsLoop } from './rows-loop.js';
import { elementType, loaded } from '../half-storage.js';
import {
  batchStrideName,
  inputName,
  pairStrides,
  sidesOf,
  strideName,
  tableRowsName,
} from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import type { RunningResult } from '../reducers/running-result.js';
import {
  type UsedComponent,
  pairText,
  type PairDialect,
  type PairText,
} from '../pair-statements.js';
import { emitCpuStatements } from '../../emit/cpu-expression.js';
import { cpuLiteral } from '../../emit/literals.js';
import type { CpuHelper } from '../../emit/cpu-math.js';

/** What a plan computes for a pair of rows, as statements over vectors. */
type CpuPairText = PairText<CpuHelper>;

/** Rows by index are loaded a lane at a time. */
export const cpuPairText = (plan: CpuMapReducePlan): CpuPairText =>
  pairText(plan, {
    write: (exprs, parameters) =>
      emitCpuStatements(exprs, { dtype: plan.dtype, name: 'formula', parameters }),
    load: loadText(plan),
  });

const loadText =
  ({ inputs, dtype }: CpuMapReducePlan): PairDialect<CpuHelper>['load'] =>
  ({ table }, components, { statements, results }) => {
    const source = inputs.find(({ position }) => position === table) ?? {};
    const from = `${inputName(table)}[number_of_row * g.${strideName(table)}`;
    return lines(
      ...components.map(({ name }) => `V ${name} = splat(0);`),
      '{',
      indent(lines(...statements.map((statement) => statement.trim()))),
      `  const V wanted = ${results[0] ?? ''};`,
      '  for (int64_t lane = 0; lane < LANES; lane++) {',
      `    const double place = (double)wanted[lane] + 0.5;`,
      `    const bool there = place >= 0.0 && place < (double)g.${tableRowsName(table)};`,
      '    const int64_t number_of_row = there ? (int64_t)place : 0;',
      ...components.map(
        ({ name, component }) =>
          `    ${name}[lane] = there ? ${loaded(source, `${from} + ${component}]`)} : ${cpuLiteral(NaN, dtype)};`,
      ),
      '  }',
      '}',
    );
  };

/** The body of the function that computes the formula: tasks `begin` to `end`. */
export function cpuFirstStep(
  plan: CpuMapReducePlan,
  running: RunningResult,
  pair: CpuPairText,
): string {
  return cpp`
    ${cpuRowCounts(plan)}
    ${!plan.ranges && 'const int64_t blocks = (kept + ROWS - 1) / ROWS;'}
    for (int64_t task = begin; task < end; task++) {
      ${rowsOfTask(plan)}
      const int64_t left = (${limitOf(plan)} - first + LANES - 1) / LANES, vectorCount = left < VECTORS ? left : VECTORS;
      ${taskText(plan, running, pair)}
    }
  `;
}

/** Where the kept rows of a task end. */
export const limitOf = ({ ranges }: CpuMapReducePlan): string => (ranges ? 'last' : 'kept');

/** The batch entry and the first row of a task, and which rows it reduces where these are not all. */
function rowsOfTask({ ranges, splits }: CpuMapReducePlan): string {
  if (ranges) {
    return cpp`
      const int64_t layer = task / g.taskCount;
      const int64_t* const here = g.tasks + task % g.taskCount * 4;
      const int64_t first = here[0], last = first + here[1];
    `;
  }
  if (splits === 1) return 'const int64_t layer = task / blocks, first = task % blocks * ROWS;';
  return cpp`
    const int64_t layer = task / (blocks * ${splits}), part = task / blocks % ${splits}, first = task % blocks * ROWS;
    const int64_t tiles = (reduced + TILE - 1) / TILE;
    const int64_t length = (tiles + ${splits - 1}) / ${splits} * TILE;
    const int64_t from = part * length < reduced ? part * length : reduced;
    const int64_t until = from + length < reduced ? from + length : reduced;
  `;
}

function taskText(
  plan: CpuMapReducePlan,
  running: RunningResult,
  { used, statements, results }: CpuPairText,
): string {
  const { kept, reduced } = sidesOf(plan);
  const { inMemory } = running;
  const own = used.of(kept);
  const ownRow = used.rowNumber(kept);
  const otherRow = used.rowNumber(reduced);
  const at = (one: UsedComponent, row: string): string =>
    loaded(
      one,
      `${inputName(one.position)}[${row} * g.${strideName(one.position)} + ${one.component}]`,
    );
  const ofPairs = used.of('pair');
  const pairAt = ({ position: p, component }: UsedComponent, row: string): string => {
    const along = pairStrides(plan, p);
    const from = `${inputName(p)} + ${row} * g.${along.reduced} + ${component}`;
    return `${pairsName(p)}(${from}, g.${along.kept}, places + vector * LANES)`;
  };
  // rows past the end compute what the last row does, and nothing of it is written
  const ownLoads = [
    ...own.map((one, q) => `own[vector][${q}][lane] = ${at(one, 'row')};`),
    ...(ownRow === undefined ? [] : [`own[vector][${own.length}][lane] = (T)row;`]),
  ];
  const ownNames = [...own.map(({ name }) => name), ...(ownRow === undefined ? [] : [ownRow])];
  const limit = limitOf(plan);
  // 16-bit numbers are converted once for all vectors
  const halves = used.of(reduced).filter(({ storage }) => storage !== undefined);
  const staged = ({ name }: UsedComponent): string => `${name}_of`;
  const stage = cpp`
    ${halves.map((one) => `T ${staged(one)}[TILE];`)}
    for (int64_t row = start; row < stop; row++) {
      ${halves.map((one) => `${staged(one)}[row - start] = ${at(one, 'row')};`)}
    }
  `;
  const other = (one: UsedComponent, row: string): string =>
    one.storage === undefined ? at(one, row) : `${staged(one)}[${row} - start]`;
  const pairs = cpuRowsLoop(running, {
    own: ownNames.map((name, q) => `const V ${name} = own[vector][${q}];`),
    pair: (at) => [
      ...used.of(reduced).map((one) => `const V ${one.name} = splat(${other(one, at)});`),
      ...ofPairs.map((one) => `const V ${one.name} = ${pairAt(one, at)};`),
      ...(otherRow === undefined ? [] : [`const V ${otherRow} = splat((T)${at});`]),
      ...statements.map((statement) => statement.trim()),
    ],
    results,
  });
  const begun = cpp`
    State total[VECTORS];
    for (int64_t vector = 0; vector < VECTORS; vector++) total[vector] = empty();
  `;
  const places = cpp`
    int64_t places[ROWS];
    for (int64_t row = 0; row < ROWS; row++) places[row] = first + row < ${limit} ? first + row : ${limit} - 1;
  `;
  const ownRows = cpp`
    V own[VECTORS][${ownLoads.length}] = {};
    for (int64_t vector = 0; vector < vectorCount; vector++) {
      for (int64_t lane = 0; lane < LANES; lane++) {
        const int64_t wanted = first + vector * LANES + lane, row = wanted < ${limit} ? wanted : ${limit} - 1;
        ${ownLoads}
      }
    }
  `;
  const stored =
    plan.splits > 1
      ? storeParts(plan.splits, 'vector', everyVector)
      : cpp`
          UNUSED const V count = splat((T)${plan.ranges ? 'seen' : 'reduced'});
          ${everyVector(cpuOutputText(running, 'total[vector]', 'first + vector * LANES', limit))}
        `;
  const staging = halves.length > 0 ? stage : '';
  return cpp`
    ${plan.inputs.map((input) => {
      const name = inputName(input.position);
      return `UNUSED const ${elementType(input, 'T')}* const ${name} = g.${name} + layer * g.${batchStrideName(input.position)};`;
    })}
    ${used.of('parameter').map((one) => {
      const from = `${inputName(one.position)}[${one.component}]`;
      return `const V ${one.name} = splat(${loaded(one, from)});`;
    })}
    ${ofPairs.length > 0 && places}
    ${ownLoads.length > 0 && ownRows}
    ${inMemory === undefined ? begun : everyVector(inMemory.begin)}
    ${plan.ranges ? spansText(running, staging, pairs) : tilesText(plan, running, staging, pairs)}
    ${inMemory === undefined ? stored : inMemory.end !== undefined && everyVector(inMemory.end)}
  `;
}

/** All reduced rows of a task, tile by tile; each is summed on its own. */
function tilesText(
  { splits }: CpuMapReducePlan,
  { block }: RunningResult,
  stage: string,
  pairs: string,
): string {
  const [from, until] = splits > 1 ? ['from', 'until'] : ['0', 'reduced'];
  return cpp`
    for (int64_t start = ${from}; start < ${until}; start += TILE) {
      const int64_t stop = ${until} - start < TILE ? ${until} : start + TILE;
      ${stage}
      for (int64_t vector = 0; vector < vectorCount; vector++) {
        ${block && `${block.type} s = ${block.empty('total[vector]')};`}
        ${pairs}
        ${block && 'merge(total[vector], s);'}
      }
    }
  `;
}

/** The spans of a task; what is summed on its own goes on over short spans. */
function spansText({ block }: RunningResult, stage: string, pairs: string): string {
  const empty = block && `parts[vector] = ${block.empty('total[vector]')};`;
  const mergeLong = cpp`
    fresh += stop - start;
    if (fresh < TILE) continue;
    fresh = 0;
    for (int64_t vector = 0; vector < vectorCount; vector++) {
      merge(total[vector], parts[vector]);
      ${empty}
    }
  `;
  return cpp`
    ${block && `${block.type} parts[VECTORS];`}
    ${empty && `for (int64_t vector = 0; vector < VECTORS; vector++) ${empty}`}
    ${block && 'int64_t fresh = 0;'}
    int64_t seen = 0;
    for (int64_t span = here[2]; span < here[3]; span++) {
      const int64_t until = g.spans[2 * span + 1];
      for (int64_t start = g.spans[2 * span]; start < until; start += TILE) {
        const int64_t stop = until - start < TILE ? until : start + TILE;
        ${stage}
        for (int64_t vector = 0; vector < vectorCount; vector++) {
          ${block && `${block.type}& s = parts[vector];`}
          ${pairs}
        }
        seen += stop - start;
        ${block && mergeLong}
      }
    }
    ${block && 'for (int64_t vector = 0; vector < vectorCount; vector++) merge(total[vector], parts[vector]);'}
  `;
}

const everyVector = (body: string): string => cpp`
  for (int64_t vector = 0; vector < vectorCount; vector++) {
    ${body}
  }
`;
