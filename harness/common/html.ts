/** A template tag that escapes interpolated values unless they are markup already. */

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
export const PALETTE = `
:root{color-scheme:light dark;
--ground:light-dark(#f6f7f9,#14161a);--card:light-dark(#fff,#1c1f25);--line:light-dark(#e0e3e8,#2e333c);
--ink:light-dark(#1a1d23,#e6e8ec);--soft:light-dark(#5c6370,#9aa2b1);--code:light-dark(#f0f2f5,#12141a);
--pass:light-dark(#1a7f4b,#4cc38a);--fail:light-dark(#c3292b,#ff6b6b);--warn:light-dark(#9a6200,#e8b04b);
--blocked:light-dark(#a33a9b,#e58fe0);--known:light-dark(#1f6f9f,#6cb8e8);--na:light-dark(#69707d,#7f8897)}
.pass{--tone:var(--pass)}.fail,.fixed{--tone:var(--fail)}.warn{--tone:var(--warn)}.blocked{--tone:var(--blocked)}\
.known{--tone:var(--known)}.not_applicable{--tone:var(--na)}
`;

/** What the style sheets of all reports begin with. */
const REPORT_STYLE = `${PALETTE}*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{margin:0 auto;padding:1.25rem 1rem 4rem}
h1{font-size:1.7rem;line-height:1.2;margin:0}
p{margin:.35rem 0}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.86em}
code{overflow-wrap:anywhere}
.soft{color:var(--soft)}
.banner{border-left:.45rem solid var(--tone);background:var(--card);padding:1.1rem 1.25rem;\
border-radius:.5rem;box-shadow:0 1px 3px #0002}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.15rem 1rem}
dd{margin:0;overflow-wrap:anywhere}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem}
`;

/** A report as one HTML file that loads nothing. `style` adds to what all reports have; `script` is of our own. */
export function reportPage(title: string, main: Markup, { style, script }: { style: string; script?: string }): string {
  const scripts = script === undefined ? '' : " script-src 'unsafe-inline';";
  const policy = `default-src 'none'; style-src 'unsafe-inline';${scripts} base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}"><title>${title}</title>
<style>${trusted(REPORT_STYLE + style)}</style></head><body><main>
${main}
</main>${script === undefined ? NOTHING : html`<script>${trusted(script)}</script>`}</body></html>
`.markup;
}
