/** The devices that changed last, each with what can be done to it. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, count, html } from '../view.ts';
import type { DeviceLine, PlatformDocument } from './document.ts';
import { Chips, moment, TONES, textOf, useFresh } from './states.ts';

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, number) => total + number, 0);

export function DevicesCard({ document }: PageProps<PlatformDocument>): VNode {
  const { devices, deviceCounts, groups } = document;
  const [search, setSearch] = useState('');
  const [status, setStatus] = useState('');
  const [open, setOpen] = useState('');
  const words = search.toLowerCase();
  const lines = Object.values(devices).sort((one, other) => one.seq - other.seq);
  const found = lines.filter(
    (line) =>
      (status === '' || line.status === status) &&
      [line.name, line.id, line.group, line.release].join(' ').toLowerCase().includes(words),
  );
  const all = sum(deviceCounts);
  const note = all > lines.length ? `${count(lines.length)} that changed last, of ${count(all)}` : count(all);
  const shown = ({ id }: { id: string }): string => {
    setOpen(id);
    return 'shown below';
  };
  return html`<${Card} title="Devices" note=${note}>
    <${Chips} label="Devices by status" counts=${deviceCounts} chosen=${status} onChoice=${setStatus} />
    <div class="search">
      <input type="search" aria-label="Filter devices" placeholder="name, id, group or release" value=${search}
        onInput=${(event: Event) => setSearch(textOf(event))} />
      ${
        found.length === 0 && search !== '' && all > lines.length
          ? html`<${ActionButton} name="show" label="Find" body=${() => ({ device: search })} done=${shown} title="By its whole id or name, among all devices" />`
          : ''
      }
    </div>
    ${found.length === 0 ? html`<p class="empty">${all === 0 ? 'There is no device yet.' : 'No device shown here fits.'}</p>` : ''}
    <ol class="rows">${found.map(
      (line) => html`<${Row} key=${line.id} line=${line} groups=${groups} open=${open === line.id}
        onToggle=${() => setOpen(open === line.id ? '' : line.id)} />`,
    )}</ol>
  <//>`;
}

interface RowProps {
  line: DeviceLine;
  groups: PlatformDocument['groups'];
  open: boolean;
  onToggle(): void;
}

function Row({ line, groups, open, onToggle }: RowProps): VNode {
  const { id, name, status, group, release } = line;
  const fresh = useFresh(`${status} ${release} ${group}`);
  return html`<li class=${fresh ? 'fresh' : ''} data-device=${id} data-is=${status}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <span class="name">${name}</span>
      ${release === null ? '' : html`<span class="code note">${release}</span>`}
      ${group === null ? '' : html`<span class="note">${group}</span>`}
      <span class="state end ${TONES[status] ?? ''}">${status}</span>
    </button>
    ${open ? html`<${Detail} line=${line} groups=${groups} />` : ''}
  </li>`;
}

function Detail({ line, groups }: Pick<RowProps, 'line' | 'groups'>): VNode {
  const { id, status, agent, groupId, standIn, connectedAt, changedAt } = line;
  const [chosen, setChosen] = useState(groupId ?? '');
  const archived = status === 'archived';
  const facts: [string, string][] = [
    ['id', id],
    ['agent', standIn ? 'none; online by hand' : (agent ?? 'not provisioned')],
    ['connected', connectedAt === null ? 'never' : moment(connectedAt)],
    ['changed', moment(changedAt)],
  ];
  const body = (): object => ({ id });
  return html`<div class="detail">
    <dl>${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="code">${value}</dd></div>`)}</dl>
    <div class="buttons">
      <${ActionButton} name="online" label="Put online" body=${body} disabled=${archived || status === 'online'} title="Answers pings, without an agent" />
      <${ActionButton} name="offline" label="Put offline" body=${body} disabled=${archived || status !== 'online'} title="Its agent is disconnected, and may come back" />
      <${ActionButton} name="archive" label="Archive" tone="danger" body=${body} disabled=${archived} />
    </div>
    ${
      groups.length === 0
        ? ''
        : html`<div class="buttons">
      <label class="inline">Group<select value=${chosen} onChange=${(event: Event) => setChosen(textOf(event))}>
        <option value="">none</option>
        ${groups.map((group) => html`<option key=${group.id} value=${group.id}>${group.name}</option>`)}
      </select></label>
      <${ActionButton} name="group" label="Move" body=${() => ({ id, group_id: chosen === '' ? null : chosen })} disabled=${chosen === (groupId ?? '')} />
    </div>`
    }
  </div>`;
}
