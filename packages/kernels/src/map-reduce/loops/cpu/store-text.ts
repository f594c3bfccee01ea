import { indent, lines, upTo } from '../../../emit/indent.js';
import type { RunningOutput, RunningResult } from '../../reducers/running-result.js';
import { columnBlocks, resultPlace, resultWidth, type ColumnBlock } from '../column-blocks.js';
import type { CpuPairTilePlan } from '../plan-types.js';

/** Writes the results of block `block` of columns from `state`, for the kept rows of vector `v`. */
export function cpuStoreText(
  plan: CpuPairTilePlan,
  { outputs }: RunningResult,
  state: string,
): string {
  const texts = outputs.map((output, n) =>
    lines(
      output.bind(state),
      ...plan.columns.slice(n, n + 1).map((one) => oneText(one, columnBlocks(plan), output)),
    ),
  );
  return texts.length === 1 ? lines(...texts) : lines(...texts.map((text) => `{\n${text}\n}`));
}

function oneText(one: ColumnBlock, blocks: number, { value, index, names }: RunningOutput): string {
  const [size, columns] = [String(one.block), String(one.columns)];
  const statement = (entry: number, to: string, text: string): string => {
    const { offset, column } = resultPlace(one, entry);
    const at = (place: string): string =>
      `g.${to}[(layer * kept + row) * ${resultWidth(one)} + ${place}]`;
    if (column === undefined) return `if (block == 0) ${at(String(offset))} = ${text};`;
    const isInside = one.columns === blocks * one.block;
    const inside = isInside ? '' : `if (block * ${size} + ${column} < ${columns}) `;
    return `${inside}${at(`block * ${size} + ${offset}`)} = ${text};`;
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
