import { formatMs, formatPercent, significant } from '../output/format.js';
import { html, type SafeHtml } from '../report/escape-html.js';
import { lineChart } from '../report/line-chart.js';
import { confusionTable } from './confusion-table.js';
import type { DemoResult, RidgeRun } from './demo-result.js';
import { BANDWIDTH_FACTOR } from './run-ridge.js';

/** Kernel ridge regression in the report: how it was made, its regularisation path, its confusion matrix. */
export function ridgeSection(result: DemoResult): SafeHtml {
  const [run] = result.ridge;
  if (run === undefined) {
    return html`<section>
      <h2>Kernel ridge regression</h2>
      <p>${result.ridgeLeftOut ?? 'Left out.'}</p>
    </section>`;
  }
  const { path } = run;
  return html`<section>
    <h2>Kernel ridge regression: ${formatPercent(run.score.accuracy)}</h2>
    <p>
      A Laplacian kernel of the 1-norm, exp(-|a - b| / h), between all ${count(result.trainCount)}
      training digits; one-hot targets less their means; one Cholesky solve for the ten digits. The
      answer is the digit with the largest prediction. The bandwidth h =
      ${significant(run.bandwidth)} is ${BANDWIDTH_FACTOR} times the median distance of
      ${run.sampleCount} training digits; the ridge ${run.ridge} comes from the path below. Neither
      has seen a held-out digit.
    </p>
    <p>${whereItRan(result.ridge)}</p>
    ${confusionTable(run.score, 'regression')}
    <h3>Regularisation path</h3>
    <p>
      One eigendecomposition of the kernel matrix of ${count(path.trainCount)} training digits
      (${formatMs(path.eighMs)}) gives the regressions with ${path.points.length} ridges
      (${formatMs(path.ridgesMs)}), judged on ${count(path.validationCount)} other training digits.
      Chosen: ${run.ridge}, the largest of the best. With it these ${count(path.trainCount)} digits
      alone name ${formatPercent(path.heldOut.accuracy)} of the held-out ones.
    </p>
    <div class="scroll">
      ${lineChart('Accuracy on the validation digits by ridge', {
        xLabel: 'ridge',
        yLabel: 'accuracy on validation digits',
        logarithmic: { x: true },
        lines: [
          {
            name: 'accuracy',
            points: path.points.map(({ ridge, accuracy }) => ({ x: ridge, y: accuracy })),
            marked: path.points.findIndex(({ ridge }) => ridge === path.chosen),
          },
        ],
        formatY: (share) => `${Number((share * 100).toFixed(1))}%`,
      })}
    </div>
  </section>`;
}

/** On which device kernel matrices and solves were computed, in words. */
export function whereItRan(runs: readonly RidgeRun[]): string {
  return runs
    .map(({ device, solvedOn, solver }) =>
      device === solvedOn
        ? `On ${device} kernels and linear algebra ran on the same device, the latter with ${solver}.`
        : `The kernel matrices of ${device} were computed there and copied to the CPU: eigendecomposition, solve and products ran on the CPU with ${solver}.`,
    )
    .join(' ');
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}
