import { html, type SafeHtml } from '../report/escape-html.js';
import { HEAT_LEVELS } from './report-style.js';
import type { Score } from './score.js';

/** Confusion matrix: a row for each true digit, a column for each answer of `speaker`; hits blue, mistakes red, by size. */
export function confusionTable({ confusion }: Score, speaker: string): SafeHtml {
  const digits = confusion.map((_, digit) => digit);
  const mostHits = Math.max(1, ...digits.map((d) => confusion[d]?.[d] ?? 0));
  const mostMisses = Math.max(
    1,
    ...confusion.flatMap((line, truth) => line.filter((_, answer) => answer !== truth)),
  );
  const rows = confusion.map((line, truth) => {
    const cells = line.map((count, answer) => {
      const hit = truth === answer;
      const level = Math.ceil((count / (hit ? mostHits : mostMisses)) * HEAT_LEVELS);
      const kind = count === 0 ? 'zero' : `${hit ? 'hit' : 'miss'}${level}`;
      return html`<td class="${kind}">${count}</td>`;
    });
    return html`<tr>
      <th scope="row">${truth}</th>
      ${cells}
    </tr>`;
  });
  return html`<div class="scroll">
    <table class="confusion">
      <caption>
        Rows: what the image shows. Columns: what the ${speaker} said.
      </caption>
      <tr>
        <th></th>
        ${digits.map((digit) => html`<th scope="col">${digit}</th>`)}
      </tr>
      ${rows}
    </table>
  </div>`;
}
