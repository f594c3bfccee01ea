// Gathers the pages of the site under build/site-source: the guides of docs/site, and every Markdown file of the repository that a
// page links to. Each text stands in one place; a page's address is its path in the repository.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';
import { gallery, galleryPages } from './gallery.mjs';
import { isRelative, mapLinks, resolveLink } from './links.mjs';
import { referencePages } from './reference.mjs';
import { includeSections, sectionOf, titleOf } from './sections.mjs';
import { filesUnder } from './files.mjs';

export const source = path.join(root, 'build/site-source');

const OWN = 'docs/site/';
/** Pages that are there although none may link to them. */
const ROOTS = [
  'docs/README.md',
  'docs/adr/README.md',
  'docs/performance/README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');
const isFile = (/** @type {string} */ file) =>
  existsSync(path.join(root, file)) && statSync(path.join(root, file)).isFile();

/** @param {string} file of the repository @returns {string} its page, relative to the site's source */
const pageOf = (file) =>
  (file.startsWith(OWN) ? file.slice(OWN.length) : file).replace(/(^|\/)README\.md$/, '$1index.md');

const addressOf = (/** @type {string} */ page) =>
  `/${page.replace(/\.md$/, '.html').replace(/(^|\/)index\.html$/, '$1')}`;

/** @type {Set<string>} files that pages show or offer as they are */
const copied = new Set();
/** @type {Set<string>} folders without a README that pages link to: lists of their files */
const folders = new Set();
/** @type {Set<string>} links to folders and files that the site does not have */
const missing = new Set();

/**
 * @param {string} from a file of the repository @param {string} target of a link in it
 * @param {(file: string) => void} found is told of further pages
 */
function siteLink(from, target, found) {
  if (!isRelative(target)) return target;
  const { file, anchor } = resolveLink(from, target);
  const readme = path.posix.join(file, 'README.md');
  if (file === 'README.md') return `/${anchor}`;
  if (file === 'examples/README.md' || file === 'examples') return '/examples/';
  const program = /^examples\/(\d+-.*)\.mjs$/.exec(file)?.[1];
  if (program !== undefined) return `/examples/${program}.html`;
  const page = [file, readme].find((one) => one.endsWith('.md') && isFile(one));
  if (page !== undefined) {
    found(page);
    return addressOf(pageOf(page)) + anchor;
  }
  if (isFile(file)) {
    copied.add(file);
    return `/files/${fileName(file)}`;
  }
  if (file !== '' && existsSync(path.join(root, file))) {
    folders.add(file);
    return `/${file}/`;
  }
  missing.add(`${from}: ${target}`);
  return '#';
}

/** Programs are offered as text, which browsers show. @param {string} file */
const fileName = (file) => (/\.(json|svg|png|webp|txt)$/.test(file) ? file : `${file}.txt`);

/** @param {string} page @param {string} text */
function write(page, text) {
  const file = path.join(source, page);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** Guides whose programs run in their pages. */
const GUIDE = new RegExp(`^(?:${OWN}(?:index|guide/.*)|docs/derivatives)\\.md$`);
/** Programs that need what no page has: files, GPUs, threads, kernels in C++. */
const NEEDS_MORE = /node:|cuda|process\.|npy|unsafeKernel|\bWorker\b|jit|Symbol\.for/i;

/** Programs of a guide, with buttons that run them. @param {string} text */
const runnable = (text) =>
  text.replace(/^```ts\n[^]*?\n```$/gm, (fence) =>
    fence.includes("from '@mercer/core'") && !NEEDS_MORE.test(fence)
      ? `<RunProgram>\n\n${fence}\n\n</RunProgram>`
      : fence,
  );

/** @returns {{ pages: number, titles: Record<string, string> }} how many pages were written, and their titles by address */
export function assemble() {
  rmSync(source, { recursive: true, force: true });
  const waiting = [...filesUnder(OWN, /\.md$/), ...ROOTS];
  const known = new Set(waiting);
  const found = (/** @type {string} */ file) => {
    if (known.has(file)) return;
    known.add(file);
    waiting.push(file);
  };
  const withLinks = (/** @type {string} */ file, /** @type {string} */ text) =>
    mapLinks(text, (target) => siteLink(file, target, found));
  /** @type {Record<string, string>} */
  const titles = {};
  const add = (/** @type {string} */ page, /** @type {string} */ text) => {
    titles[addressOf(page)] = titleOf(text);
    // Notes to the formatter are none to readers.
    write(page, text.replaceAll(/ +\/\/ prettier-ignore$/gm, ''));
  };
  const addWaiting = () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) addFile(file);
  };
  const addFile = (/** @type {string} */ file) => {
    const text = includeSections(withLinks(file, read(file)), (from, heading) =>
      withLinks(from, sectionOf(read(from), heading)),
    );
    add(pageOf(file), GUIDE.test(file) ? runnable(text) : text);
  };
  addWaiting();
  for (const folder of folders) {
    const files = filesUnder(folder, /./);
    const links = files.map(
      (file) => `- [${path.relative(folder, file)}](${siteLink('', file, found)})`,
    );
    add(`${folder}/index.md`, `# ${folder}\n\n${links.join('\n')}\n`);
  }
  addWaiting();
  for (const { page, text } of galleryPages()) add(page, text);
  for (const { page, text } of referencePages(
    readJson(path.join(root, 'build/api-names.json')),
    (file, text) => withLinks(file, text),
  ))
    add(page, text);
  if (missing.size > 0)
    throw new Error(`Links to what is not there:\n${[...missing].sort().join('\n')}`);

  const files = path.join(source, 'public/files');
  for (const file of copied)
    cpSync(path.join(root, file), path.join(files, fileName(file)), { recursive: true });
  cpSync(path.join(root, OWN, 'favicon.svg'), path.join(source, 'public/favicon.svg'));
  cpSync(gallery, path.join(source, 'public/gallery'), {
    recursive: true,
    filter: (file) => !file.endsWith('.txt'),
  });
  return { pages: Object.keys(titles).length, titles };
}
