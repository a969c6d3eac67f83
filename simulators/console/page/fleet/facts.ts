/** Where a run stands: its phase and what is left, its thresholds, its phases, and what went wrong. */
import type { VNode } from 'preact';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, count, html } from '../view.ts';
import { duration } from './charts.ts';
import type { FleetDocument, Standing } from './document.ts';

/** `1:05`. */
const minutes = (ms: number): string => {
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
};

const TONES: Readonly<Record<string, string>> = { PASSED: 'good', FAILED: 'bad', INCOMPLETE: 'warn' };

export function RunCard({ document }: PageProps<FleetDocument>): VNode {
  const { phase, elapsedMs, remainingMs, paused, ending, seconds, links } = document;
  const last = seconds.at(-1);
  const note =
    ending === null
      ? html`<span class="state ${paused ? 'warn' : 'good'}" data-phase=${phase}>${paused ? 'paused' : phase}</span>`
      : html`<span class="state ${TONES[ending.outcome] ?? ''}" data-outcome=${ending.outcome}>${ending.outcome}</span>`;
  return html`<${Card} title="Run" className="run" note=${note}>
    ${remainingMs === null ? '' : html`<progress max=${Math.max(elapsedMs + remainingMs, 1)} value=${elapsedMs} aria-label="Progress of the scenario"></progress>`}
    <dl>
      <div><dt>elapsed</dt><dd>${minutes(elapsedMs)}</dd></div>
      ${remainingMs === null ? '' : html`<div><dt>to go</dt><dd>${ending === null ? `about ${minutes(remainingMs)}` : 'nothing'}</dd></div>`}
      <div><dt>roll-outs</dt><dd>${count(last?.reached ?? 0)} of ${count(last?.attempts ?? 0)} reached, ${count(last?.missed ?? 0)} missed</dd></div>
      ${ending === null ? '' : html`<div><dt>generator</dt><dd>${ending.verdict}</dd></div>${ending.out === undefined ? '' : html`<div><dt>results</dt><dd class="code">${ending.out}</dd></div>`}`}
      ${links.map(({ label, url }) => html`<div key=${url}><dt>beside it</dt><dd><a href=${url} target="_blank" rel="noreferrer">${label}</a></dd></div>`)}
    </dl>
    ${ending === null ? '' : html`<ul class="plain">${ending.reasons.map((reason) => html`<li key=${reason}>${reason}</li>`)}</ul>`}
    <div class="buttons">${
      paused
        ? html`<${ActionButton} name="resume" label="Go on" tone="main" />`
        : html`<${ActionButton} name="pause" label="Pause before the next phase" disabled=${ending !== null} title="The robots stay as they are" />`
    }</div>
  <//>`;
}

export function ThresholdsCard({ document }: PageProps<FleetDocument>): VNode {
  const { thresholds, ending } = document;
  const missed = thresholds.filter(({ ok, value }) => !ok && value !== undefined).length;
  return html`<${Card} title="Thresholds" note=${missed === 0 ? 'as they stand' : `${missed} missed`}>
    ${thresholds.length === 0 ? html`<p class="empty">None was given.</p>` : ''}
    <ul class="standings">${thresholds.map(
      (one) => html`<li key=${one.expr}>
      <span class="code">${one.expr}</span><span class="state ${toneOf(one, ending !== null)}">${shownValue(one)}</span></li>`,
    )}</ul>
  <//>`;
}

const toneOf = ({ ok, value }: Standing, ended: boolean): string =>
  ok ? 'good' : value === undefined && !ended ? '' : 'bad';

function shownValue({ expr, value }: Standing): string {
  if (value === undefined) return 'nothing yet';
  if (/\.count/.test(expr)) return count(value);
  if (/\.rate.*%$/.test(expr)) return `${(100 * value).toFixed(2)} %`;
  return /\.rate/.test(expr) ? `${value.toFixed(1)}/s` : duration(value);
}

export function BandsCard({ document }: PageProps<FleetDocument>): VNode {
  const bands = document.bands.toSorted((one, other) => one.from - other.from);
  return html`<${Card} title="Phases" note="seconds">
    ${bands.length === 0 ? html`<p class="empty">None has begun.</p>` : ''}
    <ol class="rows">${bands.map(
      ({ label, from, to, byHand }) => html`<li key=${`${from}${label}`}>
      <time>${(from / 1000).toFixed(1)} – ${to === undefined ? 'now' : (to / 1000).toFixed(1)}</time><span>${label}</span>${byHand === true ? html` <i class="kind variant">by hand</i>` : ''}
    </li>`,
    )}</ol>
  <//>`;
}

export function TroubleCard({ document }: PageProps<FleetDocument>): VNode {
  const { trouble } = document;
  return html`<${Card} title="Trouble" note=${trouble.length === 0 ? 'none' : count(trouble.length)}>
    ${trouble.length === 0 ? html`<p class="empty">Nothing went wrong.</p>` : ''}
    <ul class="plain">${trouble.map((line) => html`<li key=${line}>${line}</li>`)}</ul>
  <//>`;
}
