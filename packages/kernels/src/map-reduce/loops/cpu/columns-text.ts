import type { Steps } from '@mercer/formula/plan';
import type { CpuHelper } from '../../../emit/cpu-math.js';
import { cpp, indent, lines, upTo } from '../../../emit/text.js';
import { inputName, sidesOf, strideName } from '../../params.js';
import type { RunningResult, RunningOutput } from '../../reducers/running-result.js';
import {
  blocksOf,
  columnBlocks,
  type ColumnBlock,
  resultPlace,
  resultWidth,
} from '../column-blocks.js';
import { cpuTileDialect, packedInputs } from './dialect.js';
import { cpuPairText } from './pair-text.js';
import { cpuSpans } from './spans-text.js';
import type { TileDialect } from '../tile-dialect.js';
import { tileText } from '../tile-text.js';
import { isOfOneSide } from '../loop-formula.js';
import type { CpuPairTilePlan } from '../plan-types.js';

/** A task with many columns: pair values of a tile of rows first, then block after block of columns. */
export function* cpuColumnsText(
  plan: CpuPairTilePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
): Steps<string> {
  const { formula, keptVectors, reducedAtOnce: rows } = plan;
  const { pair } = formula;
  const all = columnBlocks(plan);
  const { block } = running;
  // the running results that rows are added to, and the names that they have while a tile passes
  const isSingle = plan.columns.length === 1;
  const totals = { array: 'totals', type: 'State', name: isSingle ? 's' : 't' };
  const parts = block && { array: 'parts', type: block.type, name: 's' };
  const states = parts === undefined ? [totals] : isSingle ? [parts] : [totals, parts];
  const every = (text: (state: typeof totals, v: number) => string): string[] =>
    states.flatMap((state) => upTo(keptVectors).map((v) => text(state, v)));
  const at = '(block - firstBlock) * VECTORS';
  const hold = (results: readonly string[]): string =>
    lines(
      ...results.map(
        (result, n) => `staged[((q + r - start) * ${pair} + ${n}) * VECTORS + v] = ${result};`,
      ),
    );
  const each = (body: string): string => cpp`
    for (int64_t n = 0; n < states; n++) {
      ${body}
    }
  `;
  const begun = block && `parts[n] = ${block.empty('totals[n]')};`;
  const merge = begun && each(lines('merge(totals[n], parts[n]);', begun));
  const pairs = pair > 0 && (yield* cpuPairText(plan, upTo(pair), hold, helpers));
  const columns = yield* blockText(plan, running, helpers);
  yield;
  const pairLoop = cpp`
    for (int64_t q = start; q < stop; q += ${rows}) {
      ${pairs}
    }
  `;
  const tile = cpp`
    ${pairs !== false && pairLoop}
    for (int64_t block = firstBlock; block < lastBlock; block++) {
      ${every(({ array, type, name }, v) => `${type} ${name}${v} = ${array}[${at} + ${v}];`)}
      for (int64_t q = start; q < stop; q++) {
        ${columns}
      }
      ${every(({ array, name }, v) => `${array}[${at} + ${v}] = ${name}${v};`)}
    }
  `;
  yield;
  const spans = cpuSpans(plan, plan.tile, tile, merge);
  yield;
  const place =
    block?.type === 'State' ? 'totals + states' : `(${block?.type ?? ''}*)(totals + states)`;
  return cpp`
    const int64_t firstBlock = part * ${plan.blocks};
    const int64_t lastBlock = firstBlock + ${plan.blocks} < ${all} ? firstBlock + ${plan.blocks} : ${all};
    const int64_t states = (lastBlock - firstBlock) * VECTORS;
    State* const totals = (State*)(own + ${packedInputs(plan).count} * VECTORS);
    ${each('totals[n] = empty();')}
    ${block && `${block.type}* const parts = ${place};`}
    ${begun && each(begun)}
    ${pair > 0 && `V staged[${plan.tile} * ${pair} * VECTORS];`}
    ${spans}
    for (int64_t block = firstBlock; block < lastBlock; block++) {
      for (int64_t v = 0; v < VECTORS; v++) {
        ${cpuStoreText(plan, running, `totals[${at} + v]`)}
      }
    }
  `;
}

/** Adds reduced row `q` to the states `s0`, `s1` and so on of a block of columns of every reduction. */
function* blockText(
  plan: CpuPairTilePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
): Steps<string> {
  const texts: string[] = [prefetchText(plan)];
  const { addTo } = running;
  for (const [n, one] of plan.columns.entries()) {
    const add = (v: number, args: readonly string[]): string =>
      addTo === undefined ? running.add(`s${v}`, `s${v}`, args) : addTo(n, `t${v}`, `s${v}`, args);
    const text = yield* reductionText(plan, one, add, helpers);
    const isLast = blocksOf(one) === columnBlocks(plan);
    if (addTo === undefined) texts.push(text);
    else texts.push(isLast ? '{' : `if (block < ${blocksOf(one)}) {`, indent(text), '}');
  }
  return lines(...texts);
}

function* reductionText(
  plan: CpuPairTilePlan,
  { before, column: root, after, columns, counter, block }: ColumnBlock,
  add: (v: number, args: readonly string[]) => string,
  helpers: Set<CpuHelper>,
): Steps<string> {
  const { formula, keptVectors } = plan;
  const { pair } = formula;
  const staged = (n: number, v: string): string =>
    `staged[((q - start) * ${pair} + ${n}) * VECTORS + ${v}]`;
  const plain = cpuTileDialect(plan, 1, () => 'q', helpers);
  const dialect: TileDialect = {
    ...plain,
    valueAt: (name, r, v) =>
      name.startsWith('W') ? staged(Number(name.slice(1)), v) : plain.valueAt(name, r, v),
  };
  const tile = tileText(formula, dialect);
  const column = tile.roots.slice(root, root + 1);
  const rest = after.flatMap((n) => tile.roots.slice(n, n + 1));
  const value = (b: number, v: number): string => `f${b}_${v}`;
  const valueText = (v: number, name: string): string => {
    const { text, results } = tile.values(column, '0', String(v));
    return cpp`
      {
        ${text}
        ${name} = ${results.join('')};
      }
    `;
  };
  const columnText = function* (b: number): Steps<string> {
    const [number, last] = [`block * ${block} + ${b}`, columns - 1];
    const values: string[] = [];
    for (const v of upTo(keptVectors)) {
      yield;
      values.push(valueText(v, value(b, v)));
    }
    yield;
    return cpp`
      {
        UNUSED const Step ${counter} = ${columns % block === 0 ? number : `${number} < ${last} ? ${number} : ${last}`};
        ${tile.loops(counter, column)}
        ${values}
      }
    `;
  };
  const addText = (v: number): string => {
    const { text, results } = tile.values(rest, '0', String(v));
    const args = [
      ...before.map((n) => staged(n, String(v))),
      ...upTo(block).map((b) => value(b, v)),
      ...[...results, 'number((L)q)'],
    ];
    return cpp`
      {
        ${text}
        ${add(v, args)}
      }
    `;
  };
  const names = upTo(block).flatMap((b) => upTo(keptVectors).map((v) => value(b, v)));
  const texts = [`V ${names.join(', ')};`];
  for (const b of upTo(block)) texts.push(yield* columnText(b));
  for (const v of upTo(keptVectors)) {
    yield;
    texts.push(addText(v));
  }
  return lines(...texts);
}

/** Asks for what the next tile reads of row `q`'s place: its rows lie too far apart for the hardware to guess. */
function prefetchText(plan: CpuPairTilePlan): string {
  const { formula, columns, tile } = plan;
  return lines(
    ...columns.flatMap(({ counter, block }) => {
      const reads = formula.loads.filter(
        (load) =>
          load.line?.counter === counter &&
          isOfOneSide(load) &&
          load.category !== sidesOf(plan).kept,
      );
      const inputs = new Map(reads.map((load) => [load.position, load]));
      return [...inputs.values()].map(({ position: p, line }) => {
        const first = `block * ${(line?.step ?? 1) * block} + ${line?.offset ?? 0}`;
        const row = `(q + ${tile} < until ? q + ${tile} : q)`;
        return `__builtin_prefetch(${inputName(p)} + ${row} * g.${strideName(p)} + ${first}, 0, 2);`;
      });
    }),
  );
}

/** Writes the results of block `block` of columns from `state`, for the kept rows of vector `v`. */
function cpuStoreText(plan: CpuPairTilePlan, { outputs }: RunningResult, state: string): string {
  const texts = outputs.map((output, n) =>
    lines(
      output.bind(state),
      ...plan.columns.slice(n, n + 1).map((one) => oneText(one, columnBlocks(plan), output)),
    ),
  );
  return texts.length === 1 ? lines(...texts) : lines(...texts.map((text) => `{\n${text}\n}`));
}

function oneText(one: ColumnBlock, blocks: number, { value, index, names }: RunningOutput): string {
  const statement = (entry: number, to: string, text: string): string => {
    const { offset, column } = resultPlace(one, entry);
    const at = (place: string): string =>
      `g.${to}[(layer * kept + row) * ${resultWidth(one)} + ${place}]`;
    if (column === undefined) return `if (block == 0) ${at(String(offset))} = ${text};`;
    const isInside = one.columns === blocks * one.block;
    const inside = isInside ? '' : `if (block * ${one.block} + ${column} < ${one.columns}) `;
    return `${inside}${at(`block * ${one.block} + ${offset}`)} = ${text};`;
  };
  return lines(
    value.length > 0 && `const V value[] = {${value.join(', ')}};`,
    index.length > 0 && `const I found[] = {${index.join(', ')}};`,
    'for (int64_t lane = 0; lane < LANES; lane++) {',
    '  const int64_t row = first + v * LANES + lane;',
    '  if (row >= limit) break;',
    indent(
      lines(
        ...upTo(value.length).map((e) => statement(e, names.value, `value[${e}][lane]`)),
        ...upTo(index.length).map((e) => statement(e, names.index, `(int32_t)found[${e}][lane]`)),
      ),
    ),
    '}',
  );
}
