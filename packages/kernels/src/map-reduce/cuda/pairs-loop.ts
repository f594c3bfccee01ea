import { sidesOf } from '../params.js';
import { cpp, lines, unrolled, upTo } from '../../emit/text.js';
import { rowOfThread } from './block.js';
import type { CudaPairInputs } from './pair-inputs.js';
import type { CudaPairText } from './pair-text.js';
import type { StagedRow } from './staged-row.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import type { RunningResult } from '../reducers/running-result.js';

/** `body` for every row `r` of a thread. */
export const everyRow = ({ rowsPerThread }: CudaMapReducePlan, body: string): string =>
  unrolled('r', rowsPerThread, body);

/** Adds `count` staged rows, from number `start` on, to the results of the rows of a thread. */
export function pairsLoopText(
  plan: CudaMapReducePlan,
  running: RunningResult,
  { used, statements, results }: CudaPairText,
  { row: staged, ofPairs }: { readonly row: StagedRow; readonly ofPairs: CudaPairInputs },
): string {
  const { kept, reduced } = sidesOf(plan);
  const other = used.of(reduced);
  const [ownRow, otherRow] = [used.rowNumber(kept), used.rowNumber(reduced)];
  const ownText = lines(
    ...used.of(kept).map(({ name }, q) => `const V ${name} = own[r][${q}];`),
    ownRow !== undefined && `const V ${ownRow} = (V)(${rowOfThread(plan)});`,
    ofPairs.own,
  );
  const pairText = (q: string, suffix: string): string =>
    lines(
      staged.names(other, suffix),
      ofPairs.names(used.of('pair'), q),
      otherRow !== undefined && `const V ${otherRow} = (V)(start + ${q});`,
      ...statements,
    );
  const number = '(I)(start + q)';
  const row = cpp`
    ${ownText}
    ${pairText('q', '')}
    ${running.add('total[r]', 's[r]', [...results, number])}
  `;
  const one = lines(staged.vectors(other, 'q', ''), everyRow(plan, row));
  if (running.several === undefined) {
    return cpp`
      #pragma unroll ${plan.unroll}
      for (int q = 0; q < count; ++q) {
        ${one}
      }
    `;
  }
  const value = (result: string, c: number, u: number): string =>
    isNumber(result) ? result : `f${c}_${u}`;
  const rows = upTo(plan.unrolledRows);
  const at = (u: number): string => `q + ${u}`;
  const declared = rows.flatMap((u) =>
    results.flatMap((result, c) => (isNumber(result) ? [] : value(result, c, u))),
  );
  const keep = (u: number): string => cpp`
    {
      ${pairText(at(u), `_${u}`)}
      ${results.map((result, c) => !isNumber(result) && `${value(result, c, u)} = ${result};`)}
    }
  `;
  const values = rows.map((u) => [
    ...results.map((result, c) => value(result, c, u)),
    `(I)(start + ${at(u)})`,
  ]);
  const together = cpp`
    ${ownText}
    ${declared.length > 0 && `V ${declared.join(', ')};`}
    ${rows.map(keep)}
    ${running.several('total[r]', 's[r]', values)}
  `;
  return cpp`
    int q = 0;
    #pragma unroll 1
    for (; q + ${plan.unrolledRows} <= count; q += ${plan.unrolledRows}) {
      ${rows.map((u) => staged.vectors(other, `(${at(u)})`, `_${u}`))}
      ${everyRow(plan, together)}
    }
    #pragma unroll 1
    for (; q < count; ++q) {
      ${one}
    }
  `;
}

const isNumber = (text: string): boolean => /^-?[\d.]+(?:e[-+]?\d+)?f?$/.test(text);
