/** Report as one HTML file, which loads nothing and needs no script. */
import { readableDuration } from '../../common/durations.ts';
import { html, type Markup, NOTHING, reportPage } from '../../common/html.ts';
import { clause } from '../html.ts';
import {
  countsOf,
  inPercent,
  isFinding,
  isKilled,
  type MutationReport,
  type MutationState,
  type MutationSubject,
  STATE_WORDS,
} from './report.ts';
import { lastWords, sinceLines } from './since.ts';

const TONES: Readonly<Record<MutationState, string>> = {
  killed: 'pass',
  timed_out: 'pass',
  accepted: 'pass',
  survived: 'fail',
  brittle: 'warn',
  known: 'known',
  never_asked: 'blocked',
  blocked: 'blocked',
  not_run: 'na',
};

const STYLE = ['../compare/comparison-page.css', './mutation-page.css'].map((file) => new URL(file, import.meta.url));

const OPEN: readonly MutationState[] = ['brittle', 'survived'];
const ORDER: readonly MutationState[] = [
  ...OPEN,
  ...(['known', 'never_asked', 'blocked', 'not_run', 'timed_out', 'killed', 'accepted'] as const),
];

export function mutationPage(report: MutationReport): string {
  const { side, score } = report;
  const title = `mutate ${side}: ${score === undefined ? 'no score' : inPercent(score)}`;
  const main = html`${banner(report, title)}
${sectionTable(report)}
${ORDER.map((state) => subjectTable(state, report))}
<footer>muster ${report.muster}</footer>`;
  return reportPage(title, main, { style: STYLE });
}

function banner(report: MutationReport, title: string): Markup {
  const { api, command, first_run: first, asked, exit_code: code, meaning, duration_ms: ms, seed, repeat } = report;
  const tone = code === 0 ? 'pass' : code === 1 ? 'fail' : 'blocked';
  const wrote = first.wrote === undefined ? NOTHING : html`<pre>${first.wrote}</pre>`;
  return html`<div class="banner ${tone}"><h1>${title}</h1>
<p>Exit ${code}: ${meaning}.</p>
<p>${countsOf(report)}, of defects and variants of the ${api}, in ${readableDuration(ms)}.</p>
${sinceLines(report).map((line) => html`<p>${line}</p>`)}
<dl><dt>tests</dt><dd><code>${command}</code></dd>
<dt>first run</dt><dd>${first.how}, ${readableDuration(first.duration_ms)}${wrote}</dd>
<dt>asked</dt><dd>${asked.map(({ operation, times }) => html`<code>${operation}</code> (${times}) `)}</dd>
<dt>seed</dt><dd>${seed}</dd>
<dt>one again</dt><dd><code>${repeat} NAME</code></dd></dl></div>`;
}

function sectionTable({ sections }: MutationReport): Markup {
  const rows = sections.map(
    ({ section, title, score, killed, survived, known, brittle, never_asked: never }) =>
      html`<tr id="section-${section}"><th scope="row">${section} ${title}</th><td>${inPercent(score)}</td>
<td>${killed}</td><td>${survived}</td><td>${known}</td><td>${brittle}</td><td>${never}</td></tr>`,
  );
  const heads = ['Section', 'Score', 'Killed', 'Survived', 'Baseline', 'Brittle', 'Never asked'];
  return folded('Score by section', sections.length, true, heads, rows, 'scores');
}

function subjectTable(state: MutationState, { subjects, sections }: MutationReport): Markup {
  const all = subjects.filter((subject) => subject.state === state);
  const words = STATE_WORDS[state];
  const title = words.charAt(0).toUpperCase() + words.slice(1);
  return folded(
    title,
    all.length,
    OPEN.includes(state),
    ['Server', 'Required', 'By hand'],
    all.map((each) => row(each, sections)),
  );
}

function row(subject: MutationSubject, sections: MutationReport['sections']): Markup {
  const { name, kind, section, summary, requirements, by_hand: byHand, how, wrote, reason, state } = subject;
  const required = requirements.map(
    ({ id, text, ...of }) =>
      html`<p>${text} <span class="soft">${id}</span></p>${clause(
        of,
        sections.some(({ section: each }) => each === of.section),
      )}`,
  );
  const ended = [reason, lastWords(subject), isFinding(subject) || isKilled(subject) ? how : undefined].filter(
    (part) => part,
  );
  return html`<tr id="${name}"><th scope="row" class="outcome ${TONES[state]}"><code>${name}</code>
<span class="soft">${kind} · ${section}</span><p>${summary}</p></th>
<td>${required.length === 0 ? 'The specification leaves it open.' : required}</td>
<td><code>${byHand}</code>${ended.map((text) => html`<p class="soft">${text}</p>`)}${
    // Output of tests that passed says nothing.
    wrote === undefined || state === 'survived' ? NOTHING : html`<pre>${wrote}</pre>`
  }</td></tr>`;
}

function folded(
  heading: string,
  count: number,
  open: boolean,
  heads: readonly string[],
  rows: readonly Markup[],
  kind = 'subjects',
): Markup {
  if (count === 0) return NOTHING;
  return html`<details ${open ? html`open` : NOTHING}>
<summary><h2>${heading} <span class="soft">${count}</span></h2></summary>
<div class="wide" tabindex="0" role="region" aria-label="${heading}"><table class="${kind}"><thead><tr>${heads.map(
    (head) => html`<th scope="col">${head}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div></details>
`;
}
