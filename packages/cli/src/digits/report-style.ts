/** The style sheet of the digits report; heat levels are classes because the content policy forbids inline styles. */
export const REPORT_STYLE = `
:root { --ink: #1c2330; --soft: #5b6675; --line: #dfe4ea; --ground: #ffffff; --panel: #f6f8fa; --accent: #2f6fd0; --bad: #b3261e; --heat: 47, 111, 208; --miss: 200, 60, 50; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #9aa5b4; --line: #333c48; --ground: #14181e; --panel: #1c222a; --accent: #79a8f5; --bad: #ff8a80; --heat: 90, 140, 230; --miss: 230, 90, 80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 40px 24px 80px; max-width: 1040px; color: var(--ink); background: var(--ground); font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: 0 0 14px; font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; }
h2 { margin: 48px 0 8px; font-size: 21px; }
h3 { margin: 24px 0 8px; font-size: 16px; }
p { margin: 0 0 16px; max-width: 44em; }
.soft, caption, figcaption { color: var(--soft); }
.small { font-size: 14px; }
code { padding: 1px 5px; border-radius: 4px; background: var(--panel); font: 14px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.runs { width: 100%; margin: 16px 0; }
.runs th, .runs td { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
.runs th { color: var(--soft); font-size: 14px; font-weight: 600; }
.runs .n { text-align: right; }
.runs tr.best td { font-weight: 600; }
.confusion { margin: 12px 0; }
.confusion caption { padding-bottom: 8px; text-align: left; font-size: 14px; }
.confusion th, .confusion td { width: 44px; height: 36px; text-align: center; font-size: 14px; }
.confusion th { color: var(--soft); font-weight: 600; }
.confusion td { border: 2px solid var(--ground); border-radius: 6px; background: var(--panel); }
.confusion td.zero { color: transparent; }
HEAT
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(132px, 1fr)); gap: 12px; margin: 16px 0; padding: 0; list-style: none; }
.gallery li { padding: 10px; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); font-size: 14px; text-align: center; }
.gallery img { width: 52px; height: 52px; border-radius: 4px; image-rendering: pixelated; background: #000; }
.gallery .pair { display: flex; justify-content: center; gap: 6px; margin-bottom: 6px; }
.gallery .said { color: var(--bad); font-weight: 600; }
.gallery .votes { color: var(--soft); font-size: 13px; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; }
svg text { fill: var(--ink); font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
svg .soft { fill: var(--soft); }
svg .bar { fill: var(--accent); }
svg .curve { fill: none; stroke: var(--accent); stroke-width: 2; }
svg .dot { fill: var(--accent); }
svg .marked { fill: var(--bad); }
svg .axis { stroke: var(--line); }
footer { margin-top: 56px; padding-top: 16px; border-top: 1px solid var(--line); }
@media (max-width: 600px) {
  body { padding: 24px 16px 48px; }
  .confusion th, .confusion td { width: 30px; height: 30px; font-size: 12px; }
  .runs, .runs tbody, .runs tr, .runs td { display: block; }
  .runs tr { padding: 8px 0; border-bottom: 1px solid var(--line); }
  .runs tr.heads { display: none; }
  .runs td { display: flex; justify-content: space-between; gap: 12px; padding: 2px 0; border: 0; }
  .runs td::before { content: attr(data-head); color: var(--soft); font-weight: 400; }
  svg text { font-size: 20px; }
  svg .y-label { display: none; }
}
@media print { .gallery li { break-inside: avoid; } }
`.replace('HEAT', heatClasses());

/** Number of heat levels above zero. */
export const HEAT_LEVELS = 10;

function heatClasses(): string {
  const levels = Array.from({ length: 10 }, (_, i) => i + 1);
  return levels
    .flatMap((level) => [
      `.confusion td.hit${level} { background: rgba(var(--heat), ${(level / 10) * 0.8 + 0.1}); }`,
      `.confusion td.miss${level} { background: rgba(var(--miss), ${(level / 10) * 0.7 + 0.12}); }`,
    ])
    .join('\n');
}
