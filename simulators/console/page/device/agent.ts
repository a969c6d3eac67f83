/** Whether the agent is up and where it serves, and the deployment that is current. */
import type { VNode } from 'preact';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, html } from '../view.ts';
import type { DeviceDocument } from './document.ts';

export function AgentCard({ document }: PageProps<DeviceDocument>): VNode {
  const { agent, pid, addresses, retention, heartbeatSeconds } = document;
  const facts: [string, string][] = [
    ...Object.entries(addresses),
    ['keeps', `${retention} events`],
    ['heartbeat', `every ${heartbeatSeconds} s`],
  ];
  const up = agent === 'up';
  const note = html`<span class="state ${up ? 'good' : 'bad'}" data-agent=${agent}>${up ? `up, process ${pid}` : 'down'}</span>`;
  return html`<${Card} title="Agent" note=${note}>
    <dl>${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="code">${value}</dd></div>`)}</dl>
    <div class="buttons">
      <${ActionButton} name="restart" label="Restart" disabled=${!up} title="SIGTERM, then a new process" />
      <${ActionButton} name="kill" label="Kill" tone="danger" disabled=${!up} title="SIGKILL" />
      <${ActionButton} name="start" label="Start" disabled=${up} />
    </div>
  <//>`;
}

const TONES: Readonly<Record<string, string>> = {
  deployed: 'good',
  queued: 'busy',
  staged: 'busy',
  removing: 'busy',
  retrying: 'warn',
  failed: 'bad',
};

export function CurrentCard({ document }: PageProps<DeviceDocument>): VNode {
  const { current, agent } = document;
  if (current === null) {
    return html`<${Card} title="Current deployment"><p class="empty">None. Deploy one below.</p><//>`;
  }
  const { id, status, activity_status, error_status, target_status, release_id, created_at, description } = current;
  const facts: [string, string][] = [
    ['id', id],
    ['release', release_id],
    ['activity', activity_status],
    ['error', error_status],
    ['target', target_status],
    ['created', created_at],
    ...(description === '' ? [] : ([['description', description]] as [string, string][])),
  ];
  const note = html`<span class="state ${TONES[status] ?? ''}">${status}</span>`;
  return html`<${Card} title="Current deployment" note=${note}>
    <dl data-current=${id}>${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd class="code">${value}</dd></div>`)}</dl>
    <div class="buttons">
      <${ActionButton} name="remove" label="Remove" tone="danger" body=${() => ({ id })} disabled=${agent !== 'up'} />
    </div>
  <//>`;
}
