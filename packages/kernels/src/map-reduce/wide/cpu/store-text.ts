import { indent, lines } from '../../../emit/indent.js';
import { upTo, type Reducer } from '../../reducers/reducer.js';
import { resultPlace } from '../column-blocks.js';
import type { CpuWidePlan } from '../wide-plan-types.js';

/** Writes the results of block `block` of columns from the state `s`, for the kept rows of vector `v`. */
export function cpuStoreText(plan: CpuWidePlan, reducer: Reducer): string {
  const { formula, width } = plan;
  const [size, columns] = [String(plan.block), String(formula.columns)];
  const statement = (entry: number, to: string, value: string): string => {
    const { offset, column } = resultPlace(plan, formula.columns, entry);
    const at = (place: string): string => `g.${to}[(layer * kept + row) * ${width} + ${place}]`;
    if (column === undefined) return `if (block == 0) ${at(String(offset))} = ${value};`;
    const inside =
      formula.columns % plan.block === 0 ? '' : `if (block * ${size} + ${column} < ${columns}) `;
    return `${inside}${at(`block * ${size} + ${offset}`)} = ${value};`;
  };
  return lines(
    reducer.value.length > 0 && `const V value[] = {${reducer.value.join(', ')}};`,
    reducer.index.length > 0 && `const I found[] = {${reducer.index.join(', ')}};`,
    'for (int64_t lane = 0; lane < LANES; lane++) {',
    '  const int64_t row = first + v * LANES + lane;',
    '  if (row >= limit) break;',
    indent(
      lines(
        ...upTo(reducer.value.length).map((e) => statement(e, 'out', `value[${e}][lane]`)),
        ...upTo(reducer.index.length).map((e) =>
          statement(e, 'index', `(int32_t)found[${e}][lane]`),
        ),
      ),
    ),
    '}',
  );
}
