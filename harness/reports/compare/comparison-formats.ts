/** A comparison for a terminal: what differs, then what changed last, then the verdict. */

import { html, type Markup, NOTHING, reportPage } from '../../common/html.ts';
import { cutTo, type Paint, printable, wrap } from '../../common/terminal.ts';
import { sectionTitle } from '../../contract/sections.ts';
import type { Outcome } from '../../runner/types.ts';
import { OUTCOME_WORDS, plural, SYMBOLS, sentence } from '../findings.ts';
import { COLOURS } from '../pretty-findings.ts';
import {
  alikeness,
  type ChoiceRow,
  type Comparison,
  type GateVerdict,
  judgedApart,
  type RequirementRow,
} from './comparison.ts';

const MARK = 3;
/** Ids of changed checks that are named. The page has all. */
const NAMED = 12;

/** Lines for a terminal of so many columns, ready to be written. */
export function compareText(comparison: Comparison, verdict: GateVerdict, paint: Paint, columns: number): string {
  const blocks = [
    legend(comparison, paint, columns),
    requirementsThatDiffer(comparison, paint, columns),
    choicesThatDiffer(comparison, paint, columns),
    changes(comparison, paint, columns),
    closing(comparison, verdict, paint, columns),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function legend({ entries, requirements, choices }: Comparison, paint: Paint, columns: number): string[] {
  const [first] = entries;
  const about =
    `${plural(entries.length, 'report')} · ${plural(requirements.length, 'check')} · ` +
    `${plural(choices.length, 'choice')}`;
  return [
    `${paint('bold', `compare ${first?.api ?? ''}`)}  ${paint('dim', about)}`,
    ...entries.map(({ label, startedAt }, index) => {
      const when = startedAt.slice(0, 16).replace('T', ' ');
      return `  ${String(index + 1).padStart(2)}  ${when}  ${cutTo(printable(label), Math.max(20, columns - 24))}`;
    }),
  ];
}

function requirementsThatDiffer({ entries, requirements }: Comparison, paint: Paint, columns: number): string[] {
  const differing = requirements.filter(({ differs }) => differs);
  if (differing.length === 0) return [];
  const rows = differing.filter(judgedApart);
  const others = differing.length - rows.length;
  const head = entries.map((_, index) => String(index + 1).padStart(MARK)).join('');
  const marks = MARK * entries.length;
  return [
    `${paint('bold', 'Checks that differ')} ${paint('dim', String(differing.length))}`,
    ...(rows.length === 0 ? [] : [paint('dim', `  ${head}`)]),
    ...rows.map(
      ({ id, level, outcomes }) =>
        `  ${outcomes.map((outcome) => mark(outcome, paint)).join('')}  ` +
        `${cutTo(`${level.padEnd(6)} ${id}`, Math.max(20, columns - marks - 4))}`,
    ),
    ...wrap(key(rows), columns - 2).map((line) => paint('dim', `  ${line}`)),
    ...(others === 0 ? [] : [paint('dim', `  ${others} were not decided by all of them; --report html lists these`)]),
  ];
}

const mark = (outcome: Outcome | undefined, paint: Paint): string =>
  outcome === undefined ? '–'.padStart(MARK) : paint(COLOURS[outcome], SYMBOLS[outcome].padStart(MARK));

/** The symbols that are used, in words. */
function key(rows: readonly RequirementRow[]): string {
  const used = new Set(rows.flatMap(({ outcomes }) => outcomes));
  return [...used]
    .map((outcome) => (outcome === undefined ? '– has no such check' : `${SYMBOLS[outcome]} ${OUTCOME_WORDS[outcome]}`))
    .join(', ');
}

function choicesThatDiffer({ choices }: Comparison, paint: Paint, columns: number): string[] {
  const rows = choices.filter(({ differs }) => differs);
  if (rows.length === 0) return [];
  return [
    `${paint('bold', 'Choices that differ, where the specification is silent')} ${paint('dim', String(rows.length))}`,
    ...rows.flatMap((row) => [
      `  ${cutTo(printable(row.name), columns - 2)}  ${paint('dim', row.check)}`,
      ...valuesOf(row, columns - 12).map((line) => `    ${line}`),
    ]),
  ];
}

/** Each value with the numbers of those that have it. */
function valuesOf({ values }: ChoiceRow, columns: number): string[] {
  const groups = Map.groupBy(
    values.map((value, index) => ({ value, number: index + 1 })),
    ({ value }) => value ?? '– not observed',
  );
  return [...groups].map(
    ([value, entries]) => `${entries.map(({ number }) => number).join(', ')}  ${cutTo(printable(value), columns)}`,
  );
}

/** What can change from one entry to the next. */
const CHANGES = [
  { of: 'regressions', symbol: '✗', tone: 'fail', words: 'hold no longer' },
  { of: 'undecided', symbol: '?', tone: 'blocked', words: 'not decided any more' },
  { of: 'mended', symbol: '✓', tone: 'pass', words: 'hold now' },
  { of: 'behaviour', symbol: '~', tone: 'warn', words: 'answered in another way' },
] as const;

/** The changes from the last entry but one to the last, each with the names of what changed; none without any. */
const changesIn = ({ changes }: Comparison): ((typeof CHANGES)[number] & { names: string[] })[] =>
  CHANGES.map((change) => ({
    ...change,
    names: changes[change.of].map((row) => printable('id' in row ? row.id : row.name)),
  })).filter(({ names }) => names.length > 0);

function changes(comparison: Comparison, paint: Paint, columns: number): string[] {
  const { length } = comparison.entries;
  const said = changesIn(comparison).flatMap(({ symbol, words, names }) => {
    const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
    return wrap(`${symbol} ${words}: ${names.slice(0, NAMED).join(', ')}${more}`, columns - 4).map((line, index) =>
      index === 0 ? `  ${line}` : `    ${line}`,
    );
  });
  return said.length === 0 ? [] : [paint('bold', `From ${length - 1} to ${length}`), ...said];
}

function closing(comparison: Comparison, verdict: GateVerdict, paint: Paint, columns: number): string[] {
  return [
    paint('dim', '─'.repeat(Math.min(columns, 72))),
    ...wrap(`${paint(['bold', COLOURS[verdict.tone]], verdict.word)}  ${alikeness(comparison)}`, columns),
    ...wrap(`exit ${verdict.code}: ${verdict.meaning}`, columns).map((line) => paint('dim', line)),
  ];
}

// A comparison as one HTML file. It loads nothing and needs no script.

/** Characters of a label at the head of a column, and of a value. */
const LABEL = 60;
const VALUE = 400;

/** Text of the page. */
export function comparePage(comparison: Comparison, verdict: GateVerdict, version: string): string {
  const { entries, requirements, choices } = comparison;
  const api = entries[0]?.api ?? '';
  const title = `${verdict.word}: ${api}, ${plural(entries.length, 'report')}`;
  const main = html`${banner(comparison, verdict)}
${changed(comparison)}
${requirementTable('Checks that differ', differing(requirements), comparison, true)}
${choiceTable('Choices that differ, where the specification is silent', differing(choices), comparison, true)}
${requirementTable('Checks with one outcome', same(requirements), comparison, false)}
${choiceTable('Choices that are the same', same(choices), comparison, false)}
<footer>muster ${version}</footer>`;
  return reportPage(title, main, { style: new URL('./comparison-page.css', import.meta.url) });
}

const differing = <T extends { differs: boolean }>(rows: readonly T[]): T[] => rows.filter(({ differs }) => differs);
const same = <T extends { differs: boolean }>(rows: readonly T[]): T[] => rows.filter(({ differs }) => !differs);

function banner(comparison: Comparison, { word, tone, code, meaning }: GateVerdict): Markup {
  const reports = comparison.entries.map(({ label, startedAt, api }) => {
    const about = `${api} · ${startedAt.slice(0, 16).replace('T', ' ')}`;
    return html`<li><b>${printable(label)}</b> <span class="soft">${about}</span></li>`;
  });
  return html`<div class="banner ${tone}"><h1>${word}</h1>
<p>Exit ${code}: ${printable(meaning)}.</p><p>${alikeness(comparison)}.</p>
<ol>${reports}</ol></div>`;
}

function changed(comparison: Comparison): Markup {
  const found = changesIn(comparison);
  const { length } = comparison.entries;
  if (found.length === 0) return NOTHING;
  const list = found.map(
    ({ tone, words, names }) =>
      html`<dt class="${tone}">${sentence(words)}</dt><dd>${names.map((name) => html`<code>${name}</code> `)}</dd>`,
  );
  return html`<h2>From ${length - 1} to ${length}</h2><dl>${list}</dl>`;
}

/** A table behind a summary; `open` shows it at once. */
function folded(heading: string, count: number, open: boolean, table: Markup): Markup {
  if (count === 0) return NOTHING;
  return html`<details ${open ? html`open` : NOTHING}>
<summary><h2>${heading} <span class="soft">${count}</span></h2></summary>
<div class="wide" tabindex="0" role="region" aria-label="${heading}">${table}</div></details>
`;
}

function requirementTable(
  heading: string,
  rows: readonly RequirementRow[],
  compared: Comparison,
  open: boolean,
): Markup {
  const body = rows.map(({ id, level, section, requirement, outcomes }) => {
    const words = requirement === '' ? NOTHING : html`<p>${printable(requirement)}</p>`;
    return html`<tr id="${id}"><th scope="row"><code>${id}</code>
<span class="soft">${level} · ${section} ${sectionTitle(section)}</span>${words}</th>${outcomes.map(outcomeCell)}</tr>`;
  });
  return folded(heading, rows.length, open, table('Check', compared, body));
}

const outcomeCell = (outcome: Outcome | undefined): Markup =>
  outcome === undefined
    ? html`<td class="soft">– no such check</td>`
    : html`<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${OUTCOME_WORDS[outcome]}</td>`;

function choiceTable(heading: string, rows: readonly ChoiceRow[], compared: Comparison, open: boolean): Markup {
  const cell = (value: string | undefined): Markup =>
    value === undefined ? html`<td class="soft">– not observed</td>` : html`<td>${cutTo(printable(value), VALUE)}</td>`;
  const body = rows.map(
    ({ name, check, values }) => html`<tr><th scope="row">${cutTo(printable(name), VALUE)}
<span class="soft"><code>${check}</code></span></th>${values.map(cell)}</tr>`,
  );
  return folded(heading, rows.length, open, table('Asked', compared, body));
}

function table(first: string, { entries }: Comparison, body: readonly Markup[]): Markup {
  const heads = entries.map(
    ({ label }, index) =>
      html`<th scope="col">${index + 1} <span class="soft">${cutTo(printable(label), LABEL)}</span></th>`,
  );
  return html`<table><thead><tr><th scope="col">${first}</th>${heads}</tr></thead><tbody>${body}</tbody></table>`;
}
