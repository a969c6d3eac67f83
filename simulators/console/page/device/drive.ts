/** What can be done to a device, and what was done. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, clock, html } from '../view.ts';
import type { Deployment, DeviceDocument } from './document.ts';

const ACTIVITIES = ['deployed', 'queued', 'staged', 'removing', 'archived', 'drifted'];
const ERRORS = ['none', 'retrying', 'failed'];

const textOf = (event: Event): string => (event.target as HTMLInputElement).value;

export function DriveCard({ document }: PageProps<DeviceDocument>): VNode {
  const [filepath, setFilepath] = useState('/etc/robot/speed.json');
  const [content, setContent] = useState('{"max_speed":2}');
  const [error, setError] = useState('none');
  const [activity, setActivity] = useState('deployed');
  const [events, setEvents] = useState('10');
  const down = document.agent !== 'up';
  const deployment = () => ({
    config_instances: [{ filepath, content }],
    activity_status: activity,
    error_status: error,
  });
  const deployed = ({ id, status }: Deployment): string => `${id} is ${status}`;
  return html`<${Card} title="Drive">
    <label>Config file<input class="code" value=${filepath} onInput=${(event: Event) => setFilepath(textOf(event))} /></label>
    <label>Content<textarea class="code" rows="2" value=${content} onInput=${(event: Event) => setContent(textOf(event))}></textarea></label>
    <div class="pair">
      <label>Activity<${Choice} value=${activity} values=${ACTIVITIES} onChoice=${setActivity} /></label>
      <label>Error<${Choice} value=${error} values=${ERRORS} onChoice=${setError} /></label>
    </div>
    <div class="buttons"><${ActionButton} name="deploy" label="Deploy" tone="main" body=${deployment} done=${deployed} disabled=${down} /></div>
    <div class="buttons">
      <label class="inline">Events<input type="number" min="1" value=${events} onInput=${(event: Event) => setEvents(textOf(event))} /></label>
      <${ActionButton} name="publish" label="Publish" body=${() => ({ count: Number(events) })} disabled=${down} />
      <${ActionButton} name="compact" label="Compact" disabled=${down} title="Keeps 80 % of the events" />
      <${ActionButton} name="cut" label="Cut streams" tone="danger" disabled=${down} title="Breaks every open event stream"
        done=${({ streams }: { streams: number }) => `${streams} streams cut`} />
    </div>
  <//>`;
}

function Choice({
  value,
  values,
  onChoice,
}: {
  value: string;
  values: readonly string[];
  onChoice(value: string): void;
}): VNode {
  return html`<select value=${value} onChange=${(event: Event) => onChoice(textOf(event))}>
    ${values.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
  </select>`;
}

/** Rows of a list that are drawn. */
const SHOWN = 100;

export function DeedsCard({ document }: PageProps<DeviceDocument>): VNode {
  const rows = document.deeds.slice(-SHOWN).reverse();
  return html`<${Card} title="What happened">
    ${rows.length === 0 ? html`<p class="empty">Nothing yet.</p>` : ''}
    <ol class="rows">${rows.map(({ at, what }) => html`<li key=${`${at}${what}`}><time>${clock(at)}</time><span>${what}</span></li>`)}</ol>
  <//>`;
}
