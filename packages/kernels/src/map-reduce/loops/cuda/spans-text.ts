import { cpp, lines } from '../../../emit/text.js';
import type { CudaPairTilePlan } from '../plan-types.js';

/**
 * `body` for the reduced rows of a block, from `spanFrom` to `spanEnd`, and the kept rows of the block: from
 * `blockFirst` on, before `limit`. With ranges it is done for every span, and `seen` is the number of rows.
 */
export function cudaSpans(plan: CudaPairTilePlan, piece: number, body: string): string {
  if (plan.ranges) {
    return cpp`
      long long seen = 0;
      #pragma unroll 1
      for (long long span = here[2]; span < here[3]; ++span) {
        const long long spanFrom = spans[2 * span], spanEnd = spans[2 * span + 1];
        ${body}
        seen += spanEnd - spanFrom;
      }
    `;
  }
  if (plan.splits === 1) return lines('const long long spanFrom = 0, spanEnd = reduced;', body);
  return cpp`
    const long long pieces = (reduced + ${piece} - 1) / ${piece};
    const long long share = (pieces + ${plan.splits} - 1) / ${plan.splits} * ${piece};
    const long long spanFrom = part * share < reduced ? part * share : reduced;
    const long long spanEnd = spanFrom + share < reduced ? spanFrom + share : reduced;
    ${body}
  `;
}
