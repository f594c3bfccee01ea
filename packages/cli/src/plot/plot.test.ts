import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { writeNpy } from '@mercer/core/npy';
import { dot, frame } from '@observablehq/plot';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tableOf } from '../files/table-columns.js';
import { mercer, mercerJson, mercerPiped } from '../testing/run-bin.test-support.js';
import { draw, type PlotOptions } from './draw.js';
import { plotSvg, savePlot, type PictureOptions } from './index.js';
import { loadPlot, optional, type Drawing } from './load-library.js';

let drawing: Drawing;
let folder = '';
const at = (name: string): string => join(folder, name);

beforeAll(async () => {
  drawing = await loadPlot();
  folder = await mkdtemp(join(tmpdir(), 'mercer-plot-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** The picture of rows of numbers. */
function picture(
  rows: readonly (readonly number[])[],
  options: Partial<PlotOptions>,
  names?: readonly string[],
): string {
  const shape = [rows.length, rows[0]?.length ?? 0];
  const data = Float64Array.from(rows.flat());
  const array = { dtype: 'float64', shape, fortranOrder: false, data } as const;
  const table = tableOf('x', { ...array, ...(names && { names }) });
  return draw(drawing, 'x.csv', table, { kind: 'scatter', width: 640, log: [], ...options });
}

const PAIR: [number, number][] = [
  [0, 1],
  [2, 3],
];

const count = (text: string, part: RegExp): number => text.match(part)?.length ?? 0;

/** Red, green, blue and opacity of the cells of the first picture inside, by rows. */
function cellsOf(svg: string): { width: number; height: number; pixel: (at: number) => number[] } {
  const png = Buffer.from(/data:image\/png;base64,([^"]+)/.exec(svg)?.[1] ?? '', 'base64');
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const start = png.indexOf('IDAT');
  const lines = inflateSync(png.subarray(start + 4, start + 4 + png.readUInt32BE(start - 4)));
  const pixel = (cell: number): number[] => {
    const place = Math.floor(cell / width) * (4 * width + 1) + 1 + 4 * (cell % width);
    return [...lines.subarray(place, place + 4)];
  };
  return { width, height, pixel };
}

describe('a scatter plot', () => {
  it('has a dot for each row with numbers, at its place', () => {
    const svg = picture(
      [
        [0, 0],
        [1, 4],
        [2, NaN],
        [2, 2],
      ],
      { title: 'A & <B>' },
      ['u', 'v'],
    );
    const dots = [...svg.matchAll(/<circle [^>]*>/g)].map(([tag]) => {
      const number = (name: string): number =>
        Number(new RegExp(`${name}="([^"]+)"`).exec(tag)?.[1]);
      return [number('cx'), number('cy')] as const;
    });
    expect(dots).toHaveLength(3);
    const [[x0, y0] = [0, 0], [x1, y1] = [0, 0], [x2, y2] = [0, 0]] = dots;
    expect(x1 - x0).toBeCloseTo(x2 - x1, 6);
    expect(y0 - y1).toBeCloseTo(2 * (y0 - y2), 6);
    expect(y1).toBeLessThan(y0);
    expect(svg).toMatch(/>A &amp; &lt;B&gt;</);
    expect(svg).toMatch(/>u →</);
    expect(svg).toMatch(/v/);
  });

  it('tells few whole numbers apart by colours, others by a ramp', () => {
    const classes = picture(
      [
        [0, 0, 5],
        [1, 1, 7],
        [2, 2, 5],
      ],
      {},
    );
    const fills = [...classes.matchAll(/<circle [^>]*fill="([^"]+)"/g)].map(([, fill]) => fill);
    expect(fills).toHaveLength(3);
    expect(fills[0]).toBe(fills[2]);
    expect(fills[0]).not.toBe(fills[1]);
    const ramp = picture(
      [
        [0, 0, 0.5],
        [1, 1, 7],
        [2, 2, 5],
      ],
      {},
    );
    // the ramp is a picture of 256 cells, dark at its low end
    const { width, pixel } = cellsOf(ramp.slice(ramp.indexOf('<svg', 5)));
    expect(width).toBe(256);
    expect(pixel(0)).toEqual([68, 1, 84, 255]);
  });

  it('takes logarithmic axes', () => {
    const svg = picture(
      [
        [1, 1],
        [10, 2],
        [100, 3],
      ],
      { log: ['x'] },
    );
    const xs = [...svg.matchAll(/<circle [^>]*cx="([^"]+)"/g)].map(([, x]) => Number(x));
    expect((xs[1] ?? 0) - (xs[0] ?? 0)).toBeCloseTo((xs[2] ?? 0) - (xs[1] ?? 0), 6);
  });
});

it('lines are one for each column after the first, with gaps where no numbers are', () => {
  const rows = [
    [0, 1, 5],
    [1, 2, 4],
    [2, NaN, 3],
    [3, 3, 2],
    [4, 1, 1],
  ];
  const svg = picture(rows, { kind: 'line' }, ['t', 'a', 'b']);
  const paths = [...svg.matchAll(/<path [^>]*\bd="(M[^"]+)"/g)].map(([, d = '']) => count(d, /M/g));
  expect(paths.filter((parts) => parts === 2)).toHaveLength(1);
  expect(svg).toMatch(/>a<[\s\S]*>b</);
  const alone = picture([[3], [1], [2]], { kind: 'line' });
  expect(alone).toMatch(/>row →</);
});

it('a heat map has a cell for each number, from dark to light, none for NaN', () => {
  const svg = picture(
    [
      [0, 1, NaN],
      [0.5, 0, 1],
    ],
    { kind: 'heat-map' },
  );
  const { width, height, pixel } = cellsOf(svg);
  expect([width, height]).toEqual([3, 2]);
  expect(pixel(0)).toEqual([68, 1, 84, 255]); // viridis
  expect(pixel(1)).toEqual([253, 231, 37, 255]);
  expect(pixel(2)[3]).toBe(0);
  expect(pixel(4)).toEqual(pixel(0));
  expect(svg.match(/image-rendering="pixelated"/)).not.toBeNull();
});

it('images stand in a grid with space between them', () => {
  const svg = picture(
    [
      [0, 1, 1, 0],
      [1, 0, 0, 1],
      [1, 1, 1, 1],
    ],
    { kind: 'images' },
  );
  const { width, height, pixel } = cellsOf(svg);
  expect([width, height]).toEqual([5, 5]);
  const row = (line: number): unknown[] =>
    [0, 1, 2, 3, 4].map((k) => {
      const [grey = 0, , , opacity] = pixel(5 * line + k);
      return opacity === 0 ? ' ' : grey < 128 ? '#' : '.';
    });
  expect([0, 1, 2, 3, 4].map((line) => row(line).join(''))).toEqual([
    '.# #.',
    '#. .#',
    '     ',
    '##   ',
    '##   ',
  ]);
  expect(() => picture([[1, 2, 3]], { kind: 'images' })).toThrow(
    /2 x 2 have 4 pixels.*--image-shape/,
  );
  const wide = picture([[1, 2, 3]], { kind: 'images', imageShape: [1, 3] });
  expect(cellsOf(wide)).toMatchObject({ width: 3, height: 1 });
});

it('refuses tables that are no such picture, and more points than a picture shows', () => {
  expect(() => picture([[1, 2, 3, 4]], {})).toThrow(/1 rows of 4 numbers, and a scatter plot/);
  const rows = 2 ** 20 + 1;
  const table = { rows, columns: 2, dtype: 'float64', names: undefined, cell: () => 0 } as const;
  const options = { kind: 'scatter', width: 640, log: [] } as const;
  expect(() => draw(drawing, 'x', table, options)).toThrow(/1048577 points are more than 1048576/);
});

it('says which packages are missing and how to install them', async () => {
  const missing = Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' });
  await expect(optional(['a', 'b'], () => Promise.reject(missing))).rejects.toThrow(
    /a and b are not installed.*npm install a b/,
  );
  const other = new Error('another');
  await expect(optional(['a'], () => Promise.reject(other))).rejects.toBe(other);
});

describe('plotSvg', () => {
  it('draws marks of Plot with title and colours inside of one picture', async () => {
    const svg = await plotSvg({
      title: 'A & <B>',
      color: { legend: true, label: 'height' },
      x: { type: 'log' },
      marks: [
        dot(
          [
            [0.2, 1],
            [20, 3],
          ],
          { fill: [0, 1] },
        ),
      ],
    });
    expect(svg).toMatch(/^<svg [^>]*width="640"[^>]*>[^]*<\/svg>\n$/);
    expect(svg).not.toMatch(/<(figure|h2|div)/);
    expect(svg).toMatch(/>A &amp; &lt;B&gt;</);
    expect(svg).toMatch(/<svg [^>]*overflow="visible"[^]*>height</);
    expect(svg).toMatch(/>0\.2</); // not 200m
    expect(count(svg, /<circle /g)).toBe(2);
  });

  it('refuses what would be HTML', async () => {
    const options = { caption: 'below', marks: [dot([[0, 1]])] };
    await expect(plotSvg(options)).rejects.toThrow(/caption.*are HTML.*Leave them out/);
    const error = { code: 'USAGE', message: expect.stringMatching(/swatches.*are HTML/) as string };
    const marks = [dot(PAIR, { fill: [0, 1], opacity: [1, 5], symbol: ['a', 'b'] })];
    await expect(plotSvg({ color: { legend: 'swatches' }, marks })).rejects.toMatchObject(error);
    for (const scale of ['opacity', 'symbol']) {
      await expect(plotSvg({ [scale]: { legend: true }, marks })).rejects.toMatchObject(error);
    }
  });

  it('takes a legend by its name, and has none without a scale of colours', async () => {
    const marks = [dot(PAIR, { fill: [0, 1] })];
    const ramp = await plotSvg({ color: { legend: 'ramp' }, marks });
    expect(ramp).toMatch(/<svg [^>]*overflow="visible"/);
    expect(ramp).toBe(await plotSvg({ color: { legend: true }, marks }));
    const red = await plotSvg({ color: { legend: true }, marks: [dot(PAIR, { fill: 'red' })] });
    expect(count(red, /<svg /g)).toBe(1);
  });

  it('escapes attributes and control characters', async () => {
    const svg = await plotSvg({
      title: 'a\u001bb',
      ariaDescription: 'p < 0.05',
      style: { fontFamily: 'A & B' },
      x: { label: 'c\u0007d' },
      marks: [dot(PAIR, { href: ['https://a.b/?x=1&y=2', 'c'] })],
    });
    expect(svg).toContain('c\\u0007d');
    expect(svg.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(svg).toContain('aria-description="p &lt; 0.05"');
    expect(svg).toContain('A &amp; B');
    expect(svg).toContain('"https://a.b/?x=1&amp;y=2"');
    expect(svg).toContain('>a\\u001bb<');
    expect(svg).not.toMatch(/&(?!amp;|lt;|gt;|quot;|#)|="[^"]*<[^"]*"/);
  });

  it('keeps its white ground and its size of letters beside other styles', async () => {
    for (const style of [{ color: 'red', fontSize: '9px' }, 'color:red;font-size:9px']) {
      const [, css] = /^<svg [^>]*style="([^"]*)"/.exec(
        await plotSvg({ style, marks: [dot(PAIR)] }),
      ) ?? ['', ''];
      expect(css).toMatch(/background: ?white/);
      expect(css).toMatch(/color: ?red/);
      expect(css).toMatch(/font-size: ?9px$|font-size: ?9px;/);
    }
    const svg = await plotSvg({ style: { color: 'red' }, marks: [dot(PAIR)] });
    expect(svg).toMatch(/^<svg [^>]*font-size: ?14px/);
  });

  it('has its title once, whatever the facets', async () => {
    const facet = { data: [0, 1], x: ['left', 'right'] };
    const svg = await plotSvg({ title: 'name', facet, marks: [dot(PAIR, { facet: true })] });
    expect(count(svg, />name</g)).toBe(1);
    expect(svg).toMatch(/>left<[^]*>right</);
  });

  it('places title, legend and frame by margins that are given', async () => {
    const place = async (margins: Partial<PictureOptions>): Promise<object> => {
      const svg = await plotSvg({
        title: 'name',
        color: { legend: true },
        marks: [frame(), dot(PAIR, { fill: [0, 1] })],
        ...margins,
      });
      const numbers = (tag: RegExp, ...names: string[]): number[] => {
        const [text = ''] = tag.exec(svg) ?? [];
        return names.map((name) => Number(new RegExp(` ${name}="([^"]+)"`).exec(text)?.[1]));
      };
      const [, x, y] = /<text transform="translate\(([^,]+),([^)]+)\)"[^>]*>name</.exec(svg) ?? [];
      return {
        height: numbers(/^<svg [^>]*>/, 'height'),
        frame: numbers(/<rect [^>]*aria-label="frame"[^>]*>/, 'x', 'y', 'width', 'height'),
        legend: numbers(/<svg [^>]*overflow="visible"[^>]*>/, 'x', 'y', 'width'),
        title: [Number(x), Number(y)],
      };
    };
    expect(await place({ margin: 40 })).toEqual({
      // 0.6 of a frame of 560, margins, title and legend
      height: [500],
      frame: [40, 124, 560, 336],
      legend: [40, 28, 560],
      title: [40, 124],
    });
    const sides = { marginLeft: 100, marginTop: 10, marginBottom: 30, marginRight: 20 };
    expect(await place({ margin: 40, ...sides })).toEqual({
      height: [436],
      frame: [100, 94, 520, 312],
      legend: [100, 28, 520],
      title: [100, 94],
    });
  });
});

it('savePlot of pages refuses other endings as well', async () => {
  const file = new URL('../../../../scripts/site/runner/node/plot.mjs', import.meta.url).href;
  const pages = (await import(file)) as { savePlot: typeof savePlot };
  const postMessage = vi.fn();
  vi.stubGlobal('postMessage', postMessage);
  try {
    const options = { marks: [dot(PAIR)] };
    await expect(pages.savePlot('a.gif', options)).rejects.toThrow(/End the name in \.svg or/);
    expect(postMessage).not.toHaveBeenCalled();
    await pages.savePlot('a.png', options);
    const svg = await plotSvg(options);
    expect(postMessage).toHaveBeenCalledExactlyOnceWith({ kind: 'picture', name: 'a.png', svg });
  } finally {
    vi.unstubAllGlobals();
  }
});

it('savePlot writes SVG and PNG by the end of the name, and refuses others', async () => {
  const options = { width: 300, height: 200, marks: [dot([[0, 1]])] };
  await savePlot(at('saved.svg'), options);
  expect(await readFile(at('saved.svg'), 'utf8')).toBe(await plotSvg(options));
  await savePlot(at('saved.png'), options);
  const png = await readFile(at('saved.png'));
  expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([600, 400]);
  await expect(savePlot(at('saved.gif'), options)).rejects.toThrow(/End the name in \.svg or/);
});

describe('mercer plot', () => {
  it('writes SVG and PNG of files and of standard input', async () => {
    await writeFile(at('a.csv'), 'x,name,y\n1,p,2\n3,q,4\n');
    expect(await mercerJson(['plot', `${at('a.csv')}:x,y`, '--out', at('a.svg')])).toMatchObject({
      kind: 'scatter',
      shape: [2, 2],
    });
    const svg = await readFile(at('a.svg'), 'utf8');
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(count(svg, /<circle /g)).toBe(2);
    const input = await readFile(at('a.csv'));
    const piped = await mercerPiped(['plot', '-:x,y', '--out', '-'], input);
    expect(piped.stdout).toBe(svg);
    expect(piped.stderr).toMatch(/^standard output: scatter of 2 x 2/);
    await writeNpy(at('stack.npy'), {
      data: Float32Array.from({ length: 24 }, Math.sin),
      shape: [4, 2, 3],
    });
    const images = ['--kind', 'images', '--width', '200', '--out', at('stack.png')];
    expect(await mercerJson(['plot', at('stack.npy'), ...images])).toMatchObject({
      kind: 'images',
    });
    const points = await mercer(['plot', at('stack.npy'), '--out', at('stack.svg')]);
    expect(points.status).toBe(2);
    expect(points.stderr).toContain(
      `stack.npy': its shape is (4, 2, 3), and pictures are of rows and columns`,
    );
    const png = await readFile(at('stack.png'));
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    expect(png.readUInt32BE(16)).toBe(400);
  });

  it('refuses other formats before the work, and writes nothing of bad data', async () => {
    const other = await mercer(['plot', at('none.csv'), '--out', at('a.gif')]);
    expect(other).toMatchObject({ status: 2 });
    expect(other.stderr).toMatch(/End the name in \.svg or \.png/);
    const text = await mercer(['plot', at('a.csv'), '--out', at('no.svg')]);
    expect(text.stderr).toMatch(/line 2 \(row 0\) of column "name" is "p"/);
    expect(await readdir(folder)).not.toContain('no.svg');
  });
});
