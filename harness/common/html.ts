/** A template tag that escapes interpolated values unless they are markup already. */

import { readFileSync } from 'node:fs';
import { printable } from './terminal.ts';

/** Text that is safe to write into a page as it is. */
export interface Markup {
  readonly markup: string;
}

type Part = string | number | Markup | readonly Markup[] | undefined;

/** Escapes what would be read as markup between tags, in HTML, XML and Markdown. */
export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Escapes what would end an attribute too, whichever quotes it stands in. */
export const escapeAttribute = (text: string): string =>
  escapeText(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Template tag: html`<p title="${title}">${text}</p>`. `undefined` is left out; lists of markup are joined. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return { markup: strings.map((text, index) => text + render(parts[index])).join('') };
}

/** Trusts a text as markup: for style sheets and scripts of our own, never for what a target or a user wrote. */
export const trusted = (markup: string): Markup => ({ markup });

/** No markup at all. */
export const NOTHING: Markup = { markup: '' };

function render(part: Part): string {
  if (part === undefined) return '';
  if (isMarkup(part)) return part.markup;
  return typeof part === 'object' ? part.map(render).join('') : escapeAttribute(printable(String(part)));
}

const isMarkup = (part: unknown): part is Markup => typeof part === 'object' && part !== null && 'markup' in part;

/** The colours of every page, light and dark: a name for each, and the tone of each outcome. */
export const PALETTE = new URL('./palette.css', import.meta.url);

/** What the style sheets of all reports begin with. */
const REPORT_STYLE = [PALETTE, new URL('./report.css', import.meta.url)];

const COMMENTS_AND_BREAKS = /\/\*.*?\*\/|\n\s*/gs;

/** Style sheets of our own as one, without what only their readers need. Read when a page is made, and not before. */
export const styleOf = (...files: readonly URL[]): Markup =>
  trusted(
    files
      .map((file) => readFileSync(file, 'utf8'))
      .join('')
      .replaceAll(COMMENTS_AND_BREAKS, ' '),
  );

/** A script of our own. Read when a page is made, and not before. */
export const scriptOf = (file: URL): Markup => trusted(readFileSync(file, 'utf8'));

/** A report as one HTML file that loads nothing. `style` adds to what all reports have; `script` is of our own. */
export function reportPage(
  title: string,
  main: Markup,
  { style, script }: { style: URL | readonly URL[]; script?: URL },
): string {
  const scripts = script === undefined ? '' : " script-src 'unsafe-inline';";
  const policy = `default-src 'none'; style-src 'unsafe-inline';${scripts} base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}"><title>${title}</title>
<style>${styleOf(...REPORT_STYLE, ...[style].flat())}</style></head><body><main>
${main}
</main>${script === undefined ? NOTHING : html`<script>${scriptOf(script)}</script>`}</body></html>
`.markup;
}
