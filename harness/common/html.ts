/** Builds HTML by a template tag that escapes every interpolated text. */

import { readFileSync } from 'node:fs';
import { printable } from './terminal.ts';

export interface Markup {
  readonly markup: string;
}

type Part = string | number | Markup | readonly Markup[] | undefined;

export const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export const escapeAttribute = (text: string): string =>
  escapeText(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;');

/** Omits `undefined`, joins lists of markup, and escapes text. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Markup {
  return { markup: strings.map((text, index) => text + render(parts[index])).join('') };
}

/** Marks text as safe HTML: only for Muster's style sheets and scripts, never for text of a target or user. */
export const trusted = (markup: string): Markup => ({ markup });

export const NOTHING: Markup = { markup: '' };

function render(part: Part): string {
  if (part === undefined) return '';
  if (typeof part !== 'object') return escapeAttribute(printable(String(part)));
  return 'markup' in part ? part.markup : part.map(render).join('');
}

const REPORT_STYLE = ['./palette.css', './report.css'].map((file) => new URL(file, import.meta.url));
const COMMENTS_AND_BREAKS = /\/\*.*?\*\/|\n\s*/gs;

/** Builds one HTML file without external resources; `script` must be a file of Muster. */
export function reportPage(title: string, main: Markup, { style, script }: { style: URL; script?: URL }): string {
  const styles = [...REPORT_STYLE, style].map((file) => readFileSync(file, 'utf8')).join('');
  const scripts = script === undefined ? '' : " script-src 'unsafe-inline';";
  const policy = `default-src 'none'; style-src 'unsafe-inline';${scripts} base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}"><title>${title}</title>
<style>${trusted(styles.replaceAll(COMMENTS_AND_BREAKS, ' '))}</style></head><body><main>
${main}
</main>${script === undefined ? NOTHING : html`<script>${trusted(readFileSync(script, 'utf8'))}</script>`}</body></html>
`.markup;
}
