/** The deployments that changed last, with their statuses. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { Card, count, html } from '../view.ts';
import type { DeploymentLine, PlatformDocument } from './document.ts';
import { Chips, moment, TONES, textOf, useFresh } from './states.ts';

export function DeploymentsCard({ document }: PageProps<PlatformDocument>): VNode {
  const { deployments, deploymentCounts } = document;
  const [search, setSearch] = useState('');
  const [activity, setActivity] = useState('');
  const [open, setOpen] = useState('');
  const words = search.toLowerCase();
  const lines = Object.values(deployments).sort((one, other) => other.seq - one.seq);
  const found = lines.filter(
    (line) =>
      (activity === '' || line.activity === activity) &&
      [line.device, line.id, line.release, line.status].join(' ').toLowerCase().includes(words),
  );
  const all = Object.values(deploymentCounts).reduce((total, number) => total + number, 0);
  const note = all > lines.length ? `${count(lines.length)} that changed last, of ${count(all)}` : count(all);
  return html`<${Card} title="Deployments" note=${note}>
    <${Chips} label="Deployments by activity" counts=${deploymentCounts} chosen=${activity} onChoice=${setActivity} />
    <div class="search"><input type="search" aria-label="Filter deployments" placeholder="device, release, status or id" value=${search}
      onInput=${(event: Event) => setSearch(textOf(event))} /></div>
    ${found.length === 0 ? html`<p class="empty">${all === 0 ? 'There is no deployment yet.' : 'No deployment shown here fits.'}</p>` : ''}
    <ol class="rows">${found.map(
      (line) => html`<${Row} key=${line.id} line=${line} open=${open === line.id}
        onToggle=${() => setOpen(open === line.id ? '' : line.id)} />`,
    )}</ol>
  <//>`;
}

function Row({ line, open, onToggle }: { line: DeploymentLine; open: boolean; onToggle(): void }): VNode {
  const { id, device, release, status, activity, error, target, changedAt } = line;
  const fresh = useFresh(`${activity} ${error} ${target}`);
  const facts: [string, string][] = [
    ['id', id],
    ['activity', activity],
    ['error', error],
    ['target', target],
    ['changed', moment(changedAt)],
  ];
  return html`<li class=${fresh ? 'fresh' : ''} data-deployment=${id} data-is=${status}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <span class="name">${device}</span><span class="code note">${release}</span>
      ${target === activity ? '' : html`<span class="note">→ ${target}</span>`}
      <span class="state end ${TONES[status] ?? ''}">${status}</span>
    </button>
    ${open ? html`<div class="detail"><dl>${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="code">${value}</dd></div>`)}</dl></div>` : ''}
  </li>`;
}
