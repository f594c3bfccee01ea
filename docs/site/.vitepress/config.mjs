import { readFileSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { slug } from './slug.mjs';

const built = new URL('../../../build/', import.meta.url);
/** @type {Record<string, string>} titles of all pages by their addresses, as scripts/site/assemble.mjs found them */
const titles = JSON.parse(readFileSync(new URL('site-titles.json', built), 'utf8'));

/** The guides in the order in which they are read. */
const guides = [
  'guide/first-steps',
  'guide/distances-and-kernels',
  'guide/symbolic-matrices',
  'docs/derivatives',
  'guide/solvers',
  'guide/training',
  'guide/gpus-and-streams',
  'guide/memory',
  'guide/the-cache',
  'guide/deploying',
  'guide/writing-an-operation',
  'docs/kernels-of-your-own',
].map((page) => `/${page}.html`);

/** @param {string} address */
const entry = (address) => {
  const text = titles[address];
  if (text === undefined) throw new Error(`There is no page ${address}.`);
  return { text, link: address };
};
/** @param {string} prefix @param {(title: string, address: string) => boolean} [wanted] */
const below = (prefix, wanted = () => true) =>
  Object.keys(titles)
    .filter((address) => address.startsWith(prefix) && wanted(String(titles[address]), address))
    .sort()
    .map(entry);

const reference = [
  {
    text: 'API',
    link: '/reference/',
    items: below('/reference/', (_, one) => one !== '/reference/').map(({ text, link }) => ({
      text: text.replace('API of ', ''),
      link,
    })),
  },
];
const performance = [
  {
    text: 'Performance',
    link: '/docs/performance/',
    items: below('/docs/performance/', (_, one) => !one.endsWith('/')),
  },
  { text: 'Lab notes', collapsed: true, items: below('/docs/lab/') },
];
const documents = [
  { text: 'Guides', items: guides.map(entry) },
  { text: 'Coming from', items: below('/docs/coming-from-') },
  {
    text: 'Packages',
    collapsed: true,
    items: below('/packages/', (title) => title.startsWith('@mercer/')),
  },
  {
    text: 'More',
    collapsed: true,
    items: [
      '/docs/',
      '/docs/platforms.html',
      '/docs/architecture.html',
      '/CONTRIBUTING.html',
      '/SECURITY.html',
    ].map(entry),
  },
];

export default defineConfig({
  title: 'Mercer',
  description:
    'Kernel machines on the GPU and the CPU for Node programs: distances, kernel matrices, symbolic matrices, solvers, training.',
  lang: 'en',
  head: [['link', { rel: 'icon', href: '/favicon.svg' }]],
  srcDir: '../../build/site-source',
  outDir: '../../build/site',
  cacheDir: '../../build/site-cache',
  // scripts/site/check.mjs looks at links, in the pages as they are written.
  ignoreDeadLinks: true,
  metaChunk: true,
  markdown: {
    anchor: { slugify: slug },
    toc: { slugify: slug },
    theme: { light: 'github-light', dark: 'github-dark' },
    languageAlias: { cuda: 'cpp' },
  },
  vite: {
    build: { chunkSizeWarningLimit: 4000 },
    // Whether scripts/site/build.mjs had WebAssembly to run programs with.
    define: { __PROGRAMS_RUN__: JSON.stringify(process.env.MERCER_SITE_RUNS !== '0') },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            boostDocument: (/** @type {string} */ id) =>
              id.startsWith('/docs/adr/') || id.startsWith('/docs/lab/') ? 0.5 : 1,
          },
        },
      },
    },
    outline: { level: [2, 3] },
    nav: [
      {
        text: 'Guides',
        link: '/guide/first-steps.html',
        activeMatch: '^/guide/|^/docs/(derivatives|coming|kernels)',
      },
      { text: 'Examples', link: '/examples/', activeMatch: '^/examples/' },
      { text: 'Playground', link: '/playground.html' },
      { text: 'API', link: '/reference/', activeMatch: '^/reference/' },
      { text: 'Performance', link: '/docs/performance/', activeMatch: '^/docs/(performance|lab)/' },
      { text: 'Decisions', link: '/docs/adr/', activeMatch: '^/docs/adr/' },
    ],
    sidebar: {
      '/examples/': [
        {
          text: 'Examples',
          link: '/examples/',
          items: below('/examples/', (_, one) => one !== '/examples/'),
        },
      ],
      '/reference/': reference,
      '/docs/performance/': performance,
      '/docs/lab/': performance,
      '/docs/adr/': [
        {
          text: 'Decision notes',
          link: '/docs/adr/',
          items: below('/docs/adr/', (_, one) => !one.endsWith('/')),
        },
      ],
      '/': documents,
    },
  },
});
