import type { Expr, Steps } from '@mercer/formula/plan';
import type { CpuHelper } from '../../../emit/cpu-math.js';
import { indent, lines, upTo } from '../../../emit/text.js';
import { declareValues, keepValues } from '../../cpu/rows-loop.js';
import { cpuTileDialect } from './dialect.js';
import { tileText } from '../tile-text.js';
import type { CpuPairTilePlan } from '../plan-types.js';

/**
 * In steps: computes the `wanted` roots of the formula for the reduced rows `q` to `q + rows - 1` that are before `stop`, and does
 * `use` with the values of row `q + r` and the kept rows of vector `v`. With `addAll` that is done where there are fewer than
 * `rows`; all of them are kept, as `keepValues` does, and it is done for a vector.
 */
export function* cpuPairText(
  plan: CpuPairTilePlan,
  wanted: readonly number[],
  use: (results: readonly string[]) => string,
  helpers: Set<CpuHelper>,
  addAll?: (results: readonly string[]) => string,
): Steps<string> {
  const { formula, reducedAtOnce: rows, keptVectors } = plan;
  const dialect = cpuTileDialect(plan, rows, (r) => `places_q[${r}]`, helpers);
  const tile = tileText(formula, dialect);
  const roots: readonly Expr[] = wanted.flatMap((n) => tile.roots.slice(n, n + 1));
  yield;
  const { text, results } = tile.values(roots, 'r', 'v');
  yield;
  const loops = tile.loops('', roots);
  yield;
  const place = upTo(rows).map((r) => `q + ${r} < stop ? q + ${r} : stop - 1`);
  const everyPair = (name: string): string[] =>
    upTo(rows).flatMap((r) =>
      upTo(keptVectors).map((g) => dialect.valueAt(name, String(r), String(g))),
    );
  return lines(
    `UNUSED const int64_t places_q[${rows}] = {${place.join(', ')}};`,
    loops,
    // a loop over the tile keeps the text short: it reads arrays
    ...tile.read(roots).map((name) => `const V ${name}_all[] = {${everyPair(name).join(', ')}};`),
    `const int64_t rows = stop - q < ${rows} ? stop - q : ${rows};`,
    addAll !== undefined &&
      lines(
        `if (rows == ${rows}) {`,
        '  for (int64_t v = 0; v < VECTORS; v++) {',
        indent(lines(declareValues(results, rows)), 4),
        ...upTo(rows).map((r) => {
          const one = tile.values(roots, String(r), 'v');
          return indent(lines('{', one.text, ...keepValues(one.results, r), '}'), 4);
        }),
        indent(addAll(results), 4),
        '  }',
        '  continue;',
        '}',
      ),
    'for (int64_t r = 0; r < rows; r++) {',
    '  for (int64_t v = 0; v < VECTORS; v++) {',
    indent(text, 4),
    indent(use(results), 4),
    '  }',
    '}',
  );
}
