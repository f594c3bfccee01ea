import { cpp } from '../../../emit/text.js';
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
  const mergeLong = cpp`
    fresh += stop - start;
    if (fresh < ${BLOCK_ROWS}) continue;
    fresh = 0;
    ${merge}
  `;
  const walk = cpp`
    for (int64_t start = from; start < until; start += ${step}) {
      const int64_t stop = until - start < ${step} ? until : start + ${step};
      ${body}
      ${ranges && 'seen += stop - start;'}
      ${merge !== undefined && mergeLong}
    }
  `;
  const spans = cpp`
    int64_t seen = 0;
    for (int64_t span = here[2]; span < here[3]; span++) {
      const int64_t from = g.spans[2 * span], until = g.spans[2 * span + 1];
      ${walk}
    }
  `;
  const part = cpp`
    const int64_t whole = (reduced + ${BLOCK_ROWS - 1}) / ${BLOCK_ROWS};
    const int64_t length = (whole + ${splits - 1}) / ${splits} * ${BLOCK_ROWS};
    const int64_t from = part * length < reduced ? part * length : reduced;
    const int64_t until = from + length < reduced ? from + length : reduced;
  `;
  const rows = splits > 1 ? part : 'const int64_t from = 0, until = reduced;';
  return cpp`
    ${merge !== undefined && 'int64_t fresh = 0;'}
    ${ranges ? spans : [rows, walk]}
    ${merge}
    UNUSED const V count = splat((T)${ranges ? 'seen' : 'reduced'});
  `;
}
