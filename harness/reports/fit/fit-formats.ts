/** Renders the answer of `muster fit` for a terminal, as an HTML page and as JSON. */
import { html, reportPage } from '../../common/html.ts';
import { type Paint, printable, wrap } from '../../common/terminal.ts';
import { SYMBOLS } from '../findings.ts';
import { COLOURS } from '../pretty-findings.ts';
import type { Answer } from './evidence.ts';
import type { Fit, Pair, Piece } from './fit.ts';

const OUTCOME_OF = { yes: 'pass', no: 'fail', unknown: 'undecided' } as const satisfies Record<Answer, string>;
const WORDS: Record<Answer, string> = { yes: 'FITS', no: 'DOES NOT FIT', unknown: 'NOT KNOWN TO FIT' };

const DIGITS = 12;

const labelOf = ({ role, name, version, digest }: Piece): string => {
  const build = version === undefined && digest !== undefined ? digest.slice(0, 'sha256:'.length + DIGITS) : version;
  return printable([role, name, build].filter((part) => part !== undefined).join(' '));
};

const pairOf = ({ pieces }: Pair): string => pieces.map(labelOf).join(' with ');

export function fitText({ pairs, answer, code, meaning }: Fit, paint: Paint, columns: number): string {
  const lines = pairs.flatMap((pair) => {
    const outcome = OUTCOME_OF[pair.answer];
    const why = wrap(printable(pair.why), columns - 4).map((line) => paint('dim', `    ${line}`));
    return [`${paint(COLOURS[outcome], SYMBOLS[outcome])} ${pairOf(pair)}`, ...why];
  });
  const word = paint(['bold', COLOURS[OUTCOME_OF[answer]]], WORDS[answer]);
  return `${[...lines, '', word, paint('dim', `exit ${code}: ${meaning}`)].join('\n')}\n`;
}

export function fitPage({ pairs, answer, code, meaning }: Fit, version: string): string {
  const rows = pairs.map((pair) => {
    const outcome = OUTCOME_OF[pair.answer];
    return html`<tr><th scope="row">${pairOf(pair)}</th>
<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${WORDS[pair.answer].toLowerCase()}</td>
<td>${pair.why}</td></tr>`;
  });
  const main = html`<div class="banner ${OUTCOME_OF[answer]}"><h1>${WORDS[answer]}</h1>
<p>Exit ${code}: ${meaning}.</p></div>
<div class="wide" tabindex="0" role="region" aria-label="Pairs"><table>
<thead><tr><th scope="col">Pair</th><th scope="col">Answer</th><th scope="col">Decided by</th></tr></thead>
<tbody>${rows}</tbody></table></div>
<footer>muster ${version}</footer>`;
  return reportPage(`${WORDS[answer]}: ${meaning}`, main, {
    style: new URL('../compare/comparison-page.css', import.meta.url),
  });
}

export const fitJson = ({ pairs, answer, code, meaning }: Fit) => ({ answer, exit_code: code, meaning, pairs });
