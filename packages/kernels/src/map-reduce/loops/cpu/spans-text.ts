import { indent, lines } from '../../../emit/text.js';
import { BLOCK_ROWS, type CpuPairTilePlan } from '../plan-types.js';

/**
 * `body` for the reduced rows `start` to `stop` of a task, at most `step` at a time, and `merge`, where sums round,
 * once in about `BLOCK_ROWS` rows and at the end. `until` is where the rows at hand end; `count` is declared
 * behind it, the number of all.
 */
export function cpuSpans(
  { ranges, splits }: CpuPairTilePlan,
  step: number,
  body: string,
  merge: string | undefined,
): string {
  const walk = lines(
    `for (int64_t start = from; start < until; start += ${step}) {`,
    `  const int64_t stop = until - start < ${step} ? until : start + ${step};`,
    indent(body),
    ranges && '  seen += stop - start;',
    merge !== undefined &&
      lines(
        '  fresh += stop - start;',
        `  if (fresh < ${BLOCK_ROWS}) continue;`,
        '  fresh = 0;',
        indent(merge),
      ),
    '}',
  );
  return lines(
    merge !== undefined && 'int64_t fresh = 0;',
    ranges
      ? lines(
          'int64_t seen = 0;',
          'for (int64_t span = here[2]; span < here[3]; span++) {',
          '  const int64_t from = g.spans[2 * span], until = g.spans[2 * span + 1];',
          indent(walk),
          '}',
        )
      : splits > 1
        ? lines(
            `const int64_t whole = (reduced + ${BLOCK_ROWS - 1}) / ${BLOCK_ROWS};`,
            `const int64_t length = (whole + ${splits - 1}) / ${splits} * ${BLOCK_ROWS};`,
            'const int64_t from = part * length < reduced ? part * length : reduced;',
            'const int64_t until = from + length < reduced ? from + length : reduced;',
            walk,
          )
        : lines('const int64_t from = 0, until = reduced;', walk),
    merge,
    `UNUSED const V count = splat((T)${ranges ? 'seen' : 'reduced'});`,
  );
}
