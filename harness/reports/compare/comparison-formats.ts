import { html, type Markup, NOTHING, reportPage } from '../../common/html.ts';
import { cutTo, hanging, type Paint, printable, width, wrap } from '../../common/terminal.ts';
import { sectionTitle } from '../../contract/sentences.ts';
import { comparableText } from '../../runner/causes.ts';
import type { Outcome } from '../../runner/types.ts';
import { COLOURS, OUTCOME_WORDS, plural, SYMBOLS, sentence } from '../findings.ts';
import { closing, paragraphs } from '../pretty-findings.ts';
import {
  type Changes,
  type ChoiceRow,
  type Comparison,
  type GateVerdict,
  judgedApart,
  type RequirementRow,
  shareOf,
} from './comparison.ts';
import type { Said } from './entries.ts';

const ROW = 56;
const HEAD = 8;
const SAYS = 22;
const NAMED = 6;
const REASONS = 3;

export function compareText(comparison: Comparison, verdict: GateVerdict, paint: Paint, columns: number): string {
  const { word, tone, share, code, meaning } = verdict;
  const conclusion = wrap(`${paint(['bold', COLOURS[tone]], word)}  ${share}`, columns);
  return paragraphs([
    legend(comparison, paint, columns),
    requirementsThatDiffer(comparison, paint, columns),
    choicesThatDiffer(comparison, paint, columns),
    ...comparison.steps.map((step) => {
      const said = changesIn(step).flatMap(({ symbol, words, names }) => {
        const more = names.length > NAMED ? ` and ${names.length - NAMED} more (--report html)` : '';
        return wrap(`${symbol} ${words}: ${names.slice(0, NAMED).join(', ')}${more}`, columns - 4).map((line, index) =>
          index === 0 ? `  ${line}` : `    ${line}`,
        );
      });
      const heading = wrap(headingOf(comparison, step), columns).map((line) => paint('bold', line));
      if (comparison.steps.length === 1) return said.length === 0 ? [] : [...heading, ...said];
      return [...heading, paint('dim', `  ${shareOf(step)}`), ...said];
    }),
    closing(conclusion, code, meaning, { paint, columns }),
  ]);
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
  const rows = requirements.filter(judgedApart);
  if (rows.length === 0) return [];
  const room = Math.floor((columns - ROW) / entries.length);
  const heads = entries.map(({ label }, index) =>
    room < HEAD ? String(index + 1) : cutTo(`${index + 1}: ${printable(label)}`, room),
  );
  const cell = Math.max(...heads.map(width)) + 2;
  const key = [...new Set(rows.flatMap(({ outcomes }) => outcomes))].map((outcome) =>
    outcome === undefined ? '– not in its report' : `${SYMBOLS[outcome]} ${OUTCOME_WORDS[outcome]}`,
  );
  return [
    `${paint('bold', 'Checks that differ')} ${paint('dim', String(rows.length))}`,
    paint('dim', `  ${heads.map((head) => head.padEnd(cell)).join('')}`.trimEnd()),
    ...rows.flatMap(({ id, level, outcomes, findings }) => [
      `  ${outcomes.map((outcome) => mark(outcome, paint, cell)).join('')}` +
        cutTo(`${level.padEnd(6)} ${id}`, Math.max(20, columns - cell * entries.length - 2)),
      ...findingLines(findings, paint, columns),
    ]),
    ...wrap(key.join(', '), columns - 2).map((line) => paint('dim', `  ${line}`)),
  ];
}

const mark = (outcome: Outcome | undefined, paint: Paint, cell: number): string =>
  outcome === undefined ? '–'.padEnd(cell) : paint(COLOURS[outcome], SYMBOLS[outcome].padEnd(cell));

const SAID = [
  ['expected', 'expected'],
  ['actual', 'actual'],
  ['reason', 'reason'],
  ['consequence_of', 'may follow from'],
] as const;

const fieldsOf = (said: Said | undefined): [label: string, text: string][] =>
  SAID.flatMap(([name, label]) => {
    const text = said?.[name];
    return text === undefined ? [] : [[label, cutTo(printable(text), VALUE)]];
  });

const findingLines = (findings: RequirementRow['findings'], paint: Paint, columns: number): string[] =>
  grouped(findings, (said) => JSON.stringify(comparableText(said ?? {}))).flatMap(([numbers, said]) =>
    fieldsOf(said).flatMap(([label, text], index) => {
      const numbered = `${(index === 0 ? numbers : '').padEnd(numbers.length)}  ${label}`;
      return hanging(paint('dim', numbered), wrap(text, Math.max(30, columns - SAYS - 4)), 4, SAYS);
    }),
  );

const grouped = <T>(values: readonly T[], as: (value: T) => string): [numbers: string, value: T][] => {
  const numberedValues = values.map((value, index) => ({ value, number: index + 1 }));
  return [...Map.groupBy(numberedValues, ({ value }) => as(value)).values()].flatMap((alike) =>
    alike.slice(0, 1).map(({ value }) => [alike.map(({ number }) => number).join(', '), value]),
  );
};

function choicesThatDiffer({ choices }: Comparison, paint: Paint, columns: number): string[] {
  const rows = choices.filter(({ differs }) => differs);
  if (rows.length === 0) return [];
  return [
    `${paint('bold', 'Choices that differ, where the specification is silent')} ${paint('dim', String(rows.length))}`,
    ...rows.flatMap(({ name, check, values }) => {
      const given = values.map((value) => value ?? '– not observed');
      return [
        `  ${cutTo(printable(name), columns - 2)}  ${paint('dim', check)}`,
        ...grouped(given, String).map(([numbers, value]) => `    ${numbers}  ${cutTo(printable(value), columns - 12)}`),
      ];
    }),
  ];
}

const CHANGES = [
  { of: 'regressions', symbol: '✗', tone: 'fail', words: 'hold no longer' },
  { of: 'undecided', symbol: '?', tone: 'blocked', words: 'not decided any more', lacks: 0 },
  { of: 'undecidedBefore', symbol: '?', tone: 'blocked', words: 'not decided before', lacks: -1 },
  { of: 'inOneSet', symbol: '+', tone: 'warn', words: 'in one requirement set alone' },
  { of: 'mended', symbol: '✓', tone: 'pass', words: 'hold now' },
  { of: 'behaviour', symbol: '~', tone: 'warn', words: 'answered in another way' },
] as const satisfies { of: keyof Changes; lacks?: 0 | -1; [shown: string]: unknown }[];

const changesIn = (step: Changes): { symbol: string; tone: string; words: string; names: string[] }[] =>
  CHANGES.flatMap(({ of, symbol, tone, words, ...change }) => {
    const rows: readonly (RequirementRow | ChoiceRow)[] = step[of];
    const whyOf = (row: RequirementRow | ChoiceRow): string =>
      'lacks' in change && 'id' in row ? ` (${whyOpen(row, step.to + change.lacks)})` : '';
    const reasons = [...Map.groupBy(rows, whyOf)].sort(([, a], [, b]) => b.length - a.length);
    const others = reasons.slice(REASONS).flatMap(([, members]) => members);
    return [...reasons.slice(0, REASONS), [' (for other reasons)', others] as const]
      .filter(([, members]) => members.length > 0)
      .map(([why, members]) => ({
        symbol,
        tone,
        words: words + why,
        names: members.map((row) => printable('id' in row ? row.id : row.name)),
      }));
  });

function whyOpen({ outcomes, findings }: RequirementRow, index: number): string {
  const outcome = outcomes[index];
  return outcome === undefined ? 'not in its report' : printable(findings[index]?.reason ?? OUTCOME_WORDS[outcome]);
}

const headingOf = ({ entries }: Comparison, { to }: Changes): string =>
  `From ${[entries[to - 1], entries[to]].map((entry) => cutTo(printable(entry?.label ?? ''), LABEL)).join(' to ')}`;

const LABEL = 60;
const VALUE = 400;

export function comparePage(comparison: Comparison, verdict: GateVerdict, version: string): string {
  const { entries, steps } = comparison;
  const { word, tone, share, code, meaning } = verdict;
  const title = `${word}, ${share}: ${entries[0]?.api ?? ''}, ${plural(entries.length, 'report')}`;
  const reports = entries.map(({ label, startedAt, api }) => {
    const about = `${api} · ${startedAt.slice(0, 16).replace('T', ' ')}`;
    return html`<li><b>${printable(label)}</b> <span class="soft">${about}</span></li>`;
  });
  const main = html`<div class="banner ${tone}"><h1>${word}: ${share}</h1>
<p>Exit ${code}: ${printable(meaning)}.</p>
<ol>${reports}</ol></div>
${steps.map((step) => changed(comparison, step))}
${requirementTable('Checks that differ', comparison, true)}
${choiceTable('Choices that differ, where the specification is silent', comparison, true)}
${requirementTable('Checks with one outcome', comparison, false)}
${choiceTable('Choices that are the same', comparison, false)}
<footer>muster ${version}</footer>`;
  return reportPage(title, main, { style: new URL('./comparison-page.css', import.meta.url) });
}

function changed(comparison: Comparison, step: Changes): Markup {
  const found = changesIn(step);
  if (found.length === 0 && comparison.steps.length === 1) return NOTHING;
  const list = found.map(
    ({ tone, words, names }) =>
      html`<dt class="${tone}">${sentence(words)}</dt><dd>${names.map((name) => html`<code>${name}</code> `)}</dd>`,
  );
  return html`<h2>${headingOf(comparison, step)}</h2><p class="soft">${shareOf(step)}</p><dl>${list}</dl>`;
}

function requirementTable(heading: string, comparison: Comparison, differs: boolean): Markup {
  const rows = comparison.requirements.filter((row) => row.differs === differs);
  const body = rows.map(({ id, level, section, requirement, outcomes, findings }) => {
    const words = requirement === '' ? NOTHING : html`<p>${printable(requirement)}</p>`;
    return html`<tr id="${id}"><th scope="row"><code>${id}</code>
<span class="soft">${level} · ${section} ${sectionTitle(section)}</span>${words}</th>
${outcomes.map((outcome, index) => outcomeCell(outcome, findings[index]))}</tr>`;
  });
  return table(heading, 'Check', comparison, body, differs);
}

const outcomeCell = (outcome: Outcome | undefined, said: Said | undefined): Markup =>
  outcome === undefined
    ? html`<td class="soft">– not in its report</td>`
    : html`<td class="outcome ${outcome}"><b>${SYMBOLS[outcome]}</b> ${OUTCOME_WORDS[outcome]}${fieldsOf(said).map(
        ([label, text]) => html`<p><span class="soft">${label}</span> ${text}</p>`,
      )}</td>`;

function choiceTable(heading: string, comparison: Comparison, differs: boolean): Markup {
  const rows = comparison.choices.filter((row) => row.differs === differs);
  const cell = (value: string | undefined): Markup =>
    value === undefined ? html`<td class="soft">– not observed</td>` : html`<td>${cutTo(printable(value), VALUE)}</td>`;
  const body = rows.map(
    ({ name, check, values }) => html`<tr><th scope="row">${cutTo(printable(name), VALUE)}
<span class="soft"><code>${check}</code></span></th>${values.map(cell)}</tr>`,
  );
  return table(heading, 'Asked', comparison, body, differs);
}

function table(heading: string, first: string, compared: Comparison, rows: readonly Markup[], open: boolean): Markup {
  if (rows.length === 0) return NOTHING;
  const heads = compared.entries.map(
    ({ label }, index) =>
      html`<th scope="col">${index + 1} <span class="soft">${cutTo(printable(label), LABEL)}</span></th>`,
  );
  const head = html`<thead><tr><th scope="col">${first}</th>${heads}</tr></thead>`;
  const whole = html`<table>${head}<tbody>${rows}</tbody></table>`;
  return html`<details ${open ? html`open` : NOTHING}>
<summary><h2>${heading} <span class="soft">${rows.length}</span></h2></summary>
<div class="wide" tabindex="0" role="region" aria-label="${heading}">${whole}</div></details>
`;
}
