/** An SVG badge of a run, for a README. It claims no more than the run showed. */
import { html, type Markup } from '../../common/html.ts';
import { printable } from '../../common/terminal.ts';
import type { Report } from '../../runner/types.ts';
import { verdict } from '../groups.ts';

const TONES = {
  CONFORMANT: '#1a7f4b',
  'NO FAILURE FOUND': '#5b7f1a',
  INCOMPLETE: '#9a6200',
  'NOT CONFORMANT': '#c3292b',
};
const WORDS = {
  CONFORMANT: 'conformant',
  'NO FAILURE FOUND': 'partly checked',
  INCOMPLETE: 'incomplete',
  'NOT CONFORMANT': 'not conformant',
};
const HEIGHT = 20;

/** The badge as an SVG document. */
export function badge(report: Report): string {
  const { word, meaning } = verdict(report);
  const left = `muster ${report.api}`;
  const profile = report.profile === 'full' ? '' : ` (${report.profile})`;
  const right = `${WORDS[word]}${profile} ${report.requirements_version}`;
  const [first, second] = [widthOf(left), widthOf(right)];
  const title = printable(`${left}: ${right} (${meaning})`);
  const label = (text: string, from: number, wide: number): Markup =>
    html`<text x="${from + wide / 2}" y="14" textLength="${wide - 12}">${text}</text>`;
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${first + second}" height="${HEIGHT}" role="img" aria-label="${title}">
<title>${title}</title>
<clipPath id="r"><rect width="${first + second}" height="${HEIGHT}" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="${first}" height="${HEIGHT}" fill="#3b4048"/><rect x="${first}" width="${second}" height="${HEIGHT}" fill="${TONES[word]}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">${label(left, 0, first)}${label(right, first, second)}</g>
</svg>
`.markup;
}

/** By the average width of a letter; `textLength` makes it exact. */
const widthOf = (text: string): number => Math.round(text.length * 6.6) + 12;
