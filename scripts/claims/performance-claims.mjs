// What the pages of docs/performance state out of bench/results.
import { table } from './blocks.mjs';
import {
  cells,
  formatMs,
  formatShare,
  largestError,
  measurement,
  NAMES,
  operation,
  pick,
  ratio,
  ratios,
  reduction,
  short,
  sorted,
  time,
} from './measurements.mjs';

import {
  besideTorch,
  errorOf,
  gain,
  grad,
  linearRows,
  norm,
  ours,
  share,
  theirs,
  timeAndError,
  work,
} from './columns.mjs';

const PAIRWISE = 'docs/performance/pairwise.md';
const LINEAR_ALGEBRA = 'docs/performance/linear-algebra.md';
const REDUCTIONS = 'docs/performance/reductions.md';
const CALLS = 'docs/performance/calls.md';
const TRUNCATED = 'docs/performance/truncated.md';
const SOLVERS = 'docs/performance/solvers.md';
const TUTORIALS = 'docs/performance/tutorials.md';
const OPTIMISERS = 'docs/performance/optimisers.md';

/** @param {number} share */
const percent = (share) => `${(100 * share).toPrecision(3)}%`;
/** @typedef {import('./measurements.mjs').Cell} Cell */
/** @typedef {{ bandwidth: number, cutoff: number, clusterRows: number, pairsKept: number, points: number, pairsRatio: number, ms: { median: number }, wholeMs: { median: number }, rangesMs: { median: number }, timeByPairs: number, error: number, wholeError: number }} TruncatedRow */
/** @typedef {{ operation: string, library: string, way: string, n: number, tensors: number, us: { median: number }, host?: { idleUs: { median: number } }, floorUs?: number, error?: number }} OptimRow */
/** @typedef {{ n: number, way: string, devices: string[], ms: { median: number }, rate: number, share: number, error: number }} ShardsRow */
/** @typedef {{ system: string, by: string, ms?: { median: number }, iterations?: number, converged?: boolean, residual?: number, note?: string, productMs?: { median: number }, preconditionerMs?: { median: number } }} SolveRow */

/** @typedef {{ median: number, p10: number, p90: number }} Spread */
/** @typedef {{ model: string, optimizer: string, rate: number, tries: { rate: number, loss?: number }[], runs: { reached: boolean }[], spread?: Record<'steps' | 'gradients' | 'seconds' | 'cpuSeconds', Spread> }} ComparedRow */

/** @typedef {{ example: string, what: string, seconds: number }} TutorialRow */

/** @param {string} name */
const day = (name) => measurement(name).startedAt.slice(0, 10);
/** Why rows stay below 85% of their floors: the first that fits. @type {readonly (readonly [fits: (cell: Cell) => boolean, why: string])[]} */
const REASONS = [
  [({ floor }) => floor?.kind === 'launch', 'what surrounds a launch decides'],
  [
    ({ operation, d, k }) => operation === 'nearest' && (d ?? k) < 32,
    'keeping the nearest in order is not in the floor',
  ],
  [
    ({ operation }) => operation === 'nearest',
    'differences, where the floor counts inner products; and the order of the nearest',
  ],
  [({ operation }) => operation === 'kMeans', 'the sort of the labels and the sums are not in it'],
  [
    ({ operation, d }) => operation === 'gaussianGradient' && d > 40,
    'differences, and two passes, where the floor has inner products and one',
  ],
  [({ d }) => d >= 200, 'splitting the operands, and the pass behind the products'],
  [({ d }) => d >= 32, 'differences, where the floor counts inner products'],
  [({ d, m }) => d <= 10 && m <= 1e4, 'a launch before and a merge behind take 10 us and more'],
  [({ operation }) => operation === 'laplacianSum', 'root and exponential on one unit'],
  [({ p }) => p === 'inf', 'not found out yet'],
];

/** The quickest peer of a cell. @param {Cell} cell @returns {readonly [name: string, ms: number] | undefined} */
function quickest({ peers }) {
  const named = { pykeops: 'KeOps', kermac: 'Kermac', torch: 'torch' };
  return Object.entries(named)
    .flatMap(([peer, name]) => {
      const ms = peers[peer]?.ms?.median;
      return ms === undefined ? [] : [/** @type {const} */ ([name, ms])];
    })
    .toSorted(([, a], [, b]) => a - b)[0];
}

/** @type {import('./claims.mjs').Claim[]} */
export const PERFORMANCE = [
  {
    file: 'docs/performance/README.md',
    name: 'where each row stands',
    text() {
      const rows = [...cells('h200-cdist-large'), ...sorted(cells('h200-keops'))];
      return table(
        [
          [
            'work',
            (cell) =>
              cell.p === undefined
                ? reduction(cell)
                : `distances, p = ${norm(cell)}, 30000 x 30000 x 1024`,
          ],
          ours,
          [
            'quickest other',
            (cell) => {
              const other = quickest(cell);
              return other ? `${formatMs(other[1])} (${other[0]})` : '';
            },
          ],
          [
            'times as quick',
            (cell) =>
              String(Number(((quickest(cell)?.[1] ?? NaN) / cell.ms.median).toPrecision(3))),
          ],
          share('of floor'),
          [
            'what is missing to 85%',
            (cell) =>
              (cell.shareOfFloor ?? 1) < 0.845
                ? (REASONS.find(([fits]) => fits(cell))?.[1] ?? '')
                : '',
          ],
        ],
        rows,
      );
    },
  },
  {
    file: PAIRWISE,
    name: 'distances beside the peers',
    text: () =>
      table(
        [
          ['p', norm],
          ['`cdist`', (cell) => time(cell)],
          share('share of the loop of that run'),
          ['largest error', largestError],
          ['Kermac', timeAndError('kermac')],
          ['torch.cdist', timeAndError('torch')],
        ],
        cells('h200-cdist-large'),
      ),
  },
  {
    file: PAIRWISE,
    name: 'grid',
    text() {
      const [one, batch] = ['h200-cdist-grid', 'h200-cdist-grid-batch'].map(measurement);
      /** @param {any} report */
      const reached = ({ cells: all, belowHalfOfFloor }) =>
        `${all.length - belowHalfOfFloor.length} of ${all.length}`;
      /** @param {any} report */
      const launch = ({ limits }) =>
        formatMs(
          limits.limits.find((/** @type {any} */ { limit }) => limit === 'launch').ms.median,
        );
      return `The same grid through \`mercer bench cdist\` (\`bench/results/h200-cdist-grid.json\`, batch 1, p = 1, 1.3, 2 and infinity, and
\`h200-cdist-grid-batch.json\`, batch 100, p = 2) takes each launch between two events as a program would see it. The least launch
then is ${launch(one)} and ${launch(batch)}, so that ${reached(one)} and ${reached(batch)} cells reach half of their floor; the rest is listed in the files with reasons.
Both views are kept: the first shows what the kernels leave on the table, the second what a caller can notice.`;
    },
  },
  {
    file: PAIRWISE,
    name: "Kermac's whole grid",
    text() {
      const files = ['distances', 'gaussian', 'gradients'].map((of) => `h100-kermac-grid-${of}`);
      const first = measurement('h100-kermac-grid-distances');
      const rows = files.flatMap((name) => {
        const report = measurement(name);
        return [...new Set(cells(name).map(operation))].map((what) => {
          const of = cells(name).filter((cell) => operation(cell) === what);
          const slow = report.belowHalfOfFloor.filter(
            (/** @type {any} */ cell) => operation(cell) === what,
          );
          const compared = of.map((cell) => ratio(cell, 'torch')).filter((one) => one > 0);
          return { what, of, slow, compared: compared.sort((a, b) => a - b) };
        });
      });
      /** @param {number[]} all @param {number} share */
      const quantile = (all, share) => short(all[Math.floor(share * (all.length - 1))] ?? NaN);
      /** @typedef {typeof rows[number]} Row */
      return `\`mercer bench kermac --grid\` (${first.device.name}, ${day('h100-kermac-grid-distances')}, three runs; ratios are torch's time over Mercer's):\n\n${table(
        [
          ['operation', (/** @type {Row} */ { what }) => what],
          ['cells', ({ of }) => String(of.length)],
          ['half of the floor', ({ of, slow }) => String(of.length - slow.length)],
          [
            'largest error',
            ({ of }) =>
              `${short(Math.max(...of.flatMap(({ errors }) => Object.values(errors).map(({ max }) => max))))} u`,
          ],
          ['beside torch', ({ compared }) => String(compared.length)],
          ['ratio, median', ({ compared }) => (compared.length ? quantile(compared, 0.5) : '')],
          ['ratio, least', ({ compared }) => (compared.length ? quantile(compared, 0) : '')],
          [
            'torch quicker',
            ({ compared }) =>
              compared.length ? String(compared.filter((one) => one < 1).length) : '',
          ],
        ],
        rows,
      )}`;
    },
  },
  {
    file: PAIRWISE,
    name: 'cells with Kermac',
    text() {
      const { device, peers } = measurement('h100-kermac-peer');
      const all = cells('h100-kermac-peer').filter((cell) => ratio(cell, 'kermac') > 0);
      const rows = [...new Set(all.map(operation))].map((what) => {
        const of = all.filter((cell) => operation(cell) === what);
        const ratios = of.map((cell) => ratio(cell, 'kermac')).sort((a, b) => a - b);
        return { what, of, ratios };
      });
      /** @typedef {typeof rows[number]} Row */
      /** @param {any[]} of @param {(cell: any) => number} value */
      const most = (of, value) => `${short(Math.max(...of.map(value)))} u`;
      return `\`mercer bench kermac\` with Kermac and torch ${peers.versions.torch} in one run (${device.name}, ${day('h100-kermac-peer')}; ratios are Kermac's time over Mercer's):\n\n${table(
        [
          ['operation', (/** @type {Row} */ { what }) => what],
          ['cells', ({ of }) => String(of.length)],
          ['ratio, least', ({ ratios }) => short(ratios[0] ?? NaN)],
          ['ratio, most', ({ ratios }) => short(ratios.at(-1) ?? NaN)],
          [
            'largest error',
            ({ of }) =>
              most(of, ({ errors }) => Math.max(...Object.values(errors).map(({ max }) => max))),
          ],
          ["Kermac's", ({ of }) => most(of, ({ peers: { kermac } }) => kermac.maxErrorInUnits)],
        ],
        rows,
      )}`;
    },
  },
  {
    file: PAIRWISE,
    name: 'kernel matrices',
    text: () =>
      table(
        [
          ['kernel', grad],
          ['time', (cell) => time(cell)],
          share('share of the loop'),
          ['largest error', largestError],
          ['Kermac 0.1.2', timeAndError('kermac')],
          ['torch 2.11', timeAndError('torch')],
        ],
        sorted(cells('h200-kermac')),
      ),
  },
  {
    file: PAIRWISE,
    name: 'distances for p = infinity',
    text() {
      const [cell] = cells('h200-cdist-infinity');
      if (!cell) throw new Error('no cell');
      return `p = infinity takes ${time(cell)}, ${share('')[1](cell)} of a loop of additions and maxima (\`h200-cdist-infinity.json\`, ${day('h200-cdist-infinity')}).`;
    },
  },
  {
    file: PAIRWISE,
    name: 'kernels on the CPU of that host',
    text: () =>
      table(
        [
          [
            '',
            (cell) =>
              cell.operation === 'weightedDifferences'
                ? grad(cell)
                : `${operation(cell)}, ${cell.m} x ${cell.n} x ${cell.k}`,
          ],
          ['here', (cell) => time(cell)],
          theirs('torch', 'torch'),
        ],
        sorted(cells('h200-host-cpu-kermac')),
      ),
  },
  {
    file: PAIRWISE,
    name: 'distances on two cores',
    text: () =>
      table(
        [
          ['', (cell) => `p = ${norm(cell)}, K = ${cell.k}`],
          ['here', (cell) => time(cell)],
          theirs('torch 2.13', 'torch'),
        ],
        sorted(cells('zen4-cpu-cdist')),
      ),
  },
  {
    file: LINEAR_ALGEBRA,
    name: 'linear algebra',
    text: () =>
      table(
        [
          ['operation', ({ single }) => single.operation],
          ['order x batch', ({ single }) => `${single.n} x ${single.batch}${single.mark}`],
          ...besideTorch('single'),
          ...besideTorch('double'),
          [
            'residual',
            ({ single, double }) =>
              short(Math.max(single.errors.normal.max, double.errors.normal.max)),
          ],
        ],
        linearRows(),
      ),
  },
  {
    file: REDUCTIONS,
    name: 'reductions on an H200',
    text: () =>
      table(
        [
          work,
          ours,
          share('of floor'),
          errorOf(),
          theirs('KeOps', 'pykeops'),
          errorOf('pykeops'),
          ['torch', (cell) => time(cell, 'torch') || 'too large'],
          gain,
        ],
        [
          ...sorted(cells('h200-keops')),
          ...pick('h200-keops-curves', [{ operation: 'kMeans', m: 10000 }]),
        ],
      ),
  },
  {
    file: REDUCTIONS,
    name: 'what the reductions show',
    text() {
      const all = cells('h200-keops');
      const both = [...all, ...cells('h200-keops-curves')];
      const sums = all.filter((cell) => cell.operation === 'gaussianSum' && cell.m <= 10000);
      const nearest = all.filter((cell) => cell.operation === 'nearest');
      const long = all.filter(({ d, m }) => d === 3 && m >= 1e5);
      const dense = sorted(all.filter((cell) => ratio(cell, 'torch') < 1));
      return `KeOps takes ${ratios(both, 'pykeops')} times as long over all rows of both files: ${ratios(sums, 'pykeops')} times for Gaussian sums of 1e4 rows and
fewer, ${ratios(nearest, 'pykeops')} times for the 10 nearest, ${ratios(long, 'pykeops')} times for sums over 1e5 rows and more with D = 3. torch, which stores the matrix, is quicker in ${dense.length === 0 ? 'none of them' : dense.map((cell) => `${reduction(cell)} (${time(cell, 'torch')})`).join(', and in ')}.`;
    },
  },
  {
    file: REDUCTIONS,
    name: 'reductions over the number of points',
    text() {
      const curves = sorted(cells('h200-keops-curves'));
      /** @param {string} name */
      const gains = (name) =>
        curves
          .filter((cell) => cell.operation === name)
          .map((cell) => short(ratio(cell, 'pykeops')))
          .join(', ');
      return `Over the number of points ([curves](../../bench/results/h200-keops-curves.svg), [json](../../bench/results/h200-keops-curves.json)), KeOps takes so many times as long:
sums in D = 3 from 100 to 1e6 points ${gains('gaussianSum')}; ten iterations of K-means with sqrt N centroids from 1e4 to 1e7 points ${gains('kMeans')};
the 10 nearest in D = 100 among 1e4 to 1e6 points ${gains('nearest')}.`;
    },
  },
  {
    file: REDUCTIONS,
    name: 'reductions on a CPU',
    text: () =>
      table(
        [
          work,
          ours,
          share('of floor'),
          [
            'of a loop by hand',
            ({ shareOfHandWritten }) => (shareOfHandWritten ? formatShare(shareOfHandWritten) : ''),
          ],
          errorOf(),
          theirs('KeOps', 'pykeops'),
          errorOf('pykeops'),
          theirs('torch', 'torch'),
          gain,
        ],
        // solves are rows of the page on solvers
        sorted(cells('cpu-keops').filter((cell) => cell.operation in NAMES)),
      ),
  },
  {
    file: CALLS,
    name: 'host time of calls',
    text() {
      const { calls, peers, device } = measurement('h200-calls');
      /** @typedef {{ call: string, text: string, ordinary: Times, prepared?: Times }} Row */
      /** @typedef {{ idleUs: { median: number }, busyUs: { median: number } }} Times */
      /** @param {Times | undefined} times */
      const both = (times) =>
        times ? [times.idleUs, times.busyUs].map(({ median }) => short(median)).join(' / ') : '';
      /** @param {string} peer @param {string} call @returns {Times | undefined} */
      const of = (peer, call) =>
        peers?.calls.find((/** @type {any} */ one) => one.peer === peer && one.call === call);
      return `Microseconds of host time a call, the device idle / busy (${device.name}, ${day('h200-calls')}, [h200-calls.json](../../bench/results/h200-calls.json)):\n\n${table(
        [
          ['call', (/** @type {Row} */ { text }) => text],
          ['ordinary', ({ ordinary }) => both(ordinary)],
          ['prepared', ({ prepared }) => both(prepared)],
          ['torch', ({ call }) => both(of('torch', call))],
          ['KeOps', ({ call }) => both(of('keops', call))],
        ],
        /** @type {Row[]} */ (calls),
      )}`;
    },
  },
  {
    file: TRUNCATED,
    name: 'truncated sums on a GPU',
    text() {
      const { rows, device } = measurement('h200-truncated');
      return `A prepared sum on the GPU (${device.name}, ${day('h200-truncated')}, [h200-truncated.json](../../bench/results/h200-truncated.json)); errors are against float64, by the sum of the terms' magnitudes. Times and their shares are without making the ranges, which is done once, on the device, but for the two columns that say so:\n\n${table(
        [
          ['h', (/** @type {TruncatedRow} */ { bandwidth }) => String(bandwidth)],
          ['pairs kept', ({ pairsKept, points }) => percent(pairsKept / points ** 2)],
          ['by those within', ({ pairsRatio }) => pairsRatio.toFixed(2)],
          ['time', ({ ms }) => formatMs(ms.median)],
          ['whole sum', ({ wholeMs }) => formatMs(wholeMs.median)],
          ['share of time by share of pairs', ({ timeByPairs }) => timeByPairs.toFixed(2)],
          ['making the ranges', ({ rangesMs }) => formatMs(rangesMs.median)],
          [
            'time with making the ranges',
            ({ ms, rangesMs }) => formatMs(ms.median + rangesMs.median),
          ],
          [
            'share of that by share of pairs',
            ({ ms, rangesMs, wholeMs, pairsKept, points }) =>
              ((ms.median + rangesMs.median) / wholeMs.median / (pairsKept / points ** 2)).toFixed(
                2,
              ),
          ],
          ['error', ({ error }) => error.toExponential(1)],
          ['error of the whole', ({ wholeError }) => wholeError.toExponential(1)],
        ],
        /** @type {TruncatedRow[]} */ (rows),
      )}`;
    },
  },
  ...['perceptron', 'convolutional'].flatMap((model) => {
    /** @returns {ComparedRow[]} */
    const rows = () =>
      measurement('cpu-digits').rows.filter(
        (/** @type {ComparedRow} */ row) => row.model === model,
      );
    /** @param {'steps' | 'gradients' | 'seconds' | 'cpuSeconds'} counted @param {(value: number) => string} write */
    const range =
      (counted, write) =>
      (/** @type {ComparedRow} */ { spread }) => {
        if (spread === undefined) return '';
        const { median, p10, p90 } = spread[counted];
        return `${write(median)} (${write(p10)} to ${write(p90)})`;
      };
    const whole = (/** @type {number} */ value) => String(Math.round(value));
    return [
      {
        file: OPTIMISERS,
        name: `digits, ${model}`,
        text() {
          const { machine, budget } = measurement('cpu-digits');
          const seen = rows();
          return `${machine.cpu}, one thread, ${day('cpu-digits')} ([cpu-digits.json](../../bench/results/cpu-digits.json)), to a loss of ${budget.target} within ${budget.steps} steps:\n\n${table(
            [
              ['optimiser', (/** @type {ComparedRow} */ { optimizer }) => `\`${optimizer}\``],
              ['rate', ({ rate }) => String(rate)],
              [
                'reached',
                ({ runs }) => `${runs.filter(({ reached }) => reached).length} of ${runs.length}`,
              ],
              ['steps', range('steps', whole)],
              ['gradients', range('gradients', whole)],
              ['seconds', range('seconds', short)],
              ['seconds of CPU', range('cpuSeconds', short)],
            ],
            seen,
          )}`;
        },
      },
      {
        file: OPTIMISERS,
        name: `tries, ${model}`,
        text() {
          const { rates, tuneSteps } = measurement('cpu-digits').budget;
          return `Loss of the held-out digits after ${tuneSteps} steps of the ${model} network, by learning rate:\n\n${table(
            [
              ['optimiser', (/** @type {ComparedRow} */ { optimizer }) => `\`${optimizer}\``],
              ...rates.map((/** @type {number} */ rate) => [
                String(rate),
                (/** @type {ComparedRow} */ { tries }) =>
                  tries.find((one) => one.rate === rate)?.loss?.toFixed(3) ?? 'diverged',
              ]),
            ],
            rows(),
          )}`;
        },
      },
    ];
  }),
  {
    file: OPTIMISERS,
    name: 'steps on a GPU',
    text() {
      const { rows, peers, device } = measurement('h200-optim');
      /** @type {OptimRow[]} */
      const all = [...rows, ...peers.rows];
      const order = [...new Set(all.map(({ operation }) => operation))];
      const sorted = order.flatMap((one) => all.filter(({ operation }) => operation === one));
      return `${device.name}, ${day('h200-optim')} ([h200-optim.json](../../bench/results/h200-optim.json)), beside torch ${peers.versions.torch}:\n\n${table(
        [
          ['what', (/** @type {OptimRow} */ { operation }) => `\`${operation}\``],
          ['elements', ({ n, tensors }) => `${n.toExponential(1).replace('+', '')} in ${tensors}`],
          ['by', ({ library, way }) => `${library}, ${way}`],
          ['time', ({ us }) => formatMs(us.median / 1e3)],
          ['floor', ({ floorUs }) => (floorUs === undefined ? '' : formatMs(floorUs / 1e3))],
          ['host', ({ host }) => (host === undefined ? '' : formatMs(host.idleUs.median / 1e3))],
          ['error', ({ error }) => error?.toExponential(1) ?? ''],
        ],
        sorted,
      )}`;
    },
  },
  {
    file: TUTORIALS,
    name: 'tutorials at their whole sizes',
    text() {
      const { rows, device } = measurement('h200-tutorials');
      return `${device.name}, ${day('h200-tutorials')} ([h200-tutorials.json](../../bench/results/h200-tutorials.json)):\n\n${table(
        [
          [
            'example',
            (/** @type {TutorialRow} */ { example }) =>
              `[${example}](../../examples/${example}.mjs)`,
          ],
          ['work', ({ what }) => what],
          ['time', ({ seconds }) => `${seconds.toFixed(2)} s`],
        ],
        /** @type {TutorialRow[]} */ (rows),
      )}`;
    },
  },
  {
    file: REDUCTIONS,
    name: 'rows in blocks and on two GPUs',
    text() {
      const { rows, devices } = measurement('h200-x2-shards');
      return `${devices.length} GPUs of one host (${devices[0].name}, ${day('h200-x2-shards')}, [h200-x2-shards.json](../../bench/results/h200-x2-shards.json)):\n\n${table(
        [
          ['points', (/** @type {ShardsRow} */ { n }) => n.toExponential(0).replace('+', '')],
          ['way', ({ way }) => way],
          ['time', ({ ms }) => formatMs(ms.median)],
          ['rate by one GPU in memory', ({ share: part }) => part.toFixed(2)],
          ['error', ({ error }) => error.toExponential(1)],
        ],
        /** @type {ShardsRow[]} */ (rows),
      )}`;
    },
  },
  {
    file: SOLVERS,
    name: 'conjugate gradients beside the peers',
    text: () => solves('h200-solvers-peers'),
  },
  {
    file: SOLVERS,
    name: 'conjugate gradients with preconditioners',
    text: () => solves('h200-solvers'),
  },
  {
    file: SOLVERS,
    name: 'conjugate gradients of large systems',
    text: () =>
      ['h200-solvers-1e5-plain', 'h200-solvers-1e5', 'h200-solvers-1e6'].map(solves).join('\n\n'),
  },
  {
    file: SOLVERS,
    name: 'conjugate gradients on a CPU',
    text: () => solves('cpu-keops-solves'),
  },
];

/**
 * Systems and who solved them to its tolerance.
 * @param {string} name
 */
function solves(name) {
  const { cells: own, peers, device } = measurement(name);
  /** @param {any} cell */
  const systemOf = ({ operation, n, dtype, preconditioner, rank }) =>
    `${operation === 'inverseKernel' ? 'inverse kernel of ' : ''}${n} points, ${dtype}${preconditioner ? `, ${preconditioner} of rank ${rank}` : ''}`;
  /** @type {SolveRow[]} */
  const rows = own.flatMap((/** @type {any} */ cell) => [
    { system: systemOf(cell), by: 'Mercer', ms: cell.ms, ...cell.iterative },
    ...peers.cells
      .filter((/** @type {any} */ other) => systemOf(other) === systemOf(cell))
      .map((/** @type {any} */ other) => ({
        system: systemOf(cell),
        by: other.peer,
        ms: other.ms,
        iterations: other.iterations,
        residual: other.residual,
        note: other.error,
      })),
  ]);
  return `${device.name}, ${day(name)}, [${name}.json](../../bench/results/${name}.json):\n\n${table(
    [
      ['system', (/** @type {SolveRow} */ { system }) => system],
      ['by', ({ by }) => by],
      ['time', ({ ms, note }) => (ms ? formatMs(ms.median) : `none: ${note}`)],
      [
        'iterations',
        ({ iterations, converged }) =>
          `${iterations ?? ''}${converged === false ? ', not converged' : ''}`,
      ],
      [
        // with a preconditioner, which is made in every call, the time is not that of iterations alone
        'an iteration',
        ({ ms, iterations, preconditionerMs }) =>
          ms && iterations && !preconditionerMs ? formatMs(ms.median / iterations) : '',
      ],
      ['a product', ({ productMs }) => (productMs ? formatMs(productMs.median) : '')],
      [
        'preconditioner',
        ({ preconditionerMs }) => (preconditionerMs ? formatMs(preconditionerMs.median) : ''),
      ],
      ['true residual', ({ residual }) => residual?.toExponential(1) ?? ''],
    ],
    rows,
  )}`;
}
