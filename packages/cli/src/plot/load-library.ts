import type * as Library from '@observablehq/plot';
import { CliError } from '../cli-error.js';
import { encodeRgbaPng } from '../report/png.js';

/** What is used of a document's elements. */
interface Element {
  readonly tagName: string;
  readonly outerHTML: string;
  setAttribute(name: string, value: string): void;
  append(child: Element): void;
}

/** A picture, and what tells its colours. */
interface PlotElement extends Element {
  /** Nothing where the picture has no such scale. */
  legend(name: 'color', options: object): Element | undefined;
}

/** What is used of Observable Plot. The types of its results need the DOM library. */
export interface PlotLibrary extends Pick<
  typeof Library,
  'dot' | 'lineY' | 'text' | 'raster' | 'frame'
> {
  readonly plot: (options: object) => PlotElement;
}

export interface Drawing {
  readonly plot: PlotLibrary;
  readonly document: object;
}

/** Observable Plot, and a document that it draws into. @throws CliError MISSING_PACKAGE */
export async function loadPlot(): Promise<Drawing> {
  const [plot, { DOMParser }] = await optional(['@observablehq/plot', 'linkedom'], () =>
    Promise.all([
      import('@observablehq/plot') as unknown as Promise<PlotLibrary>,
      import('linkedom/worker') as unknown as Promise<{
        DOMParser: new () => {
          parseFromString(text: string, type: string): { createElement: (name: string) => object };
        };
      }>,
    ]),
  );
  // A document of HTML would not escape & and < in attributes.
  const document = new DOMParser().parseFromString('<html/>', 'text/xml');
  const create = document.createElement.bind(document);
  document.createElement = (name) => (name === 'canvas' ? new Canvas() : create(name));
  return { plot, document };
}

/** Pixels of a PNG picture for one of SVG. */
const PNG_SCALE = 2;

/** A picture of SVG as PNG. @throws CliError MISSING_PACKAGE */
export async function renderPng(svg: string): Promise<Uint8Array> {
  const { Resvg } = await optional(['@resvg/resvg-js'], () => import('@resvg/resvg-js'));
  const fitTo = { mode: 'zoom', value: PNG_SCALE } as const;
  // its word for cells that stay sharp
  const sharp = svg.replaceAll('image-rendering="pixelated"', 'image-rendering="optimizeSpeed"');
  return new Resvg(sharp, { background: 'white', fitTo, font: { loadSystemFonts: true } })
    .render()
    .asPng();
}

/** Packages that are there where somebody installed them. @throws CliError MISSING_PACKAGE where not */
export async function optional<T>(packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CliError(
      'MISSING_PACKAGE',
      `Cannot draw: ${packages.join(' and ')} ${packages.length > 1 ? 'are' : 'is'} not installed beside @mercer/cli. Run npm install ${packages.join(' ')} where it is (with --global where it is global).`,
      { cause },
    );
  }
}

/** As much of a canvas as Plot needs to make pictures of cells and ramps of colours. */
class Canvas {
  width = 0;
  height = 0;
  #pixels: Uint8ClampedArray = new Uint8ClampedArray();

  getContext(): object {
    const context = {
      fillStyle: '',
      createImageData: (width: number, height: number) => ({
        width,
        height,
        data: new Uint8ClampedArray(4 * width * height),
      }),
      putImageData: ({ data }: { data: Uint8ClampedArray }) => {
        this.#pixels = data;
      },
      fillRect: (x: number, y: number) => {
        if (this.#pixels.length === 0)
          this.#pixels = new Uint8ClampedArray(4 * this.width * this.height);
        this.#pixels.set([...channels(context.fillStyle), 255], 4 * (y * this.width + x));
      },
    };
    return context;
  }

  toDataURL(): string {
    const png = encodeRgbaPng(new Uint8Array(this.#pixels.buffer), this.width, this.height);
    return `data:image/png;base64,${png.toString('base64')}`;
  }
}

/** Red, green and blue of `rgb(1, 2, 3)` or `#010203`. */
function channels(colour: string): number[] {
  const hex = /^#(..)(..)(..)$/.exec(colour);
  if (hex !== null) return hex.slice(1).map((digits) => parseInt(digits, 16));
  return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
}
