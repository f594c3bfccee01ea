// Data sets that examples read from npm packages: fetched before the program runs, since it asks for them at once.
const WANTED = /vega-datasets\/data\/[\w-]+\.(?:json|csv)/g;
const PIXELS = 28 * 28;

/** @type {Map<string, string>} */
const texts = new Map();
/** What `require` gives for a package that is data. @type {Map<string, unknown>} */
const packages = new Map();

/** @param {string} file @returns {Promise<Response>} */
async function fetched(file) {
  const response = await fetch(new URL(`./data/${file}`, import.meta.url));
  if (!response.ok) throw new Error(`The page has no data ${file}.`);
  return response;
}

/** Fetches what a program names. @param {string} program */
export async function dataOf(program) {
  const names = new Set(program.match(WANTED));
  await Promise.all([
    ...[...names].map(async (name) => {
      texts.set(name, await (await fetched(name.replace('vega-datasets/data/', ''))).text());
    }),
    program.includes('/digits.mjs') && digits().then((value) => packages.set('mnist', value)),
  ]);
}

/** Digits as the package mnist has them: by digit, the pixels of all its images. @returns {Promise<{ raw: Float32Array }[]>} */
async function digits() {
  const { body } = await fetched('digits.bin');
  if (body === null) throw new Error('The page has no data digits.bin.');
  const plain = new Response(body.pipeThrough(new DecompressionStream('gzip')));
  // the labels of all, in order, and then their pixels
  const bytes = new Uint8Array(await plain.arrayBuffer());
  const count = bytes.length / (1 + PIXELS);
  const labels = bytes.subarray(0, count);
  return Array.from({ length: 10 }, (_, label) => {
    const [from, to] = [labels.indexOf(label), labels.lastIndexOf(label) + 1];
    const pixels = bytes.subarray(count + from * PIXELS, count + to * PIXELS);
    // with the three decimals that the package has
    return { raw: Float32Array.from(pixels, (byte) => Math.round((byte / 255) * 1e3) / 1e3) };
  });
}

/** @param {string} name of a package that is data, or of a file of JSON in one @returns {any} */
export function required(name) {
  return packages.get(name) ?? JSON.parse(textOf(name));
}

/** @param {string} name @returns {string} */
export function textOf(name) {
  const text = texts.get(name);
  if (text === undefined) throw new Error(`The page has no file ${name}.`);
  return text;
}
