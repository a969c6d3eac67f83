/** What a person can do to a running fleet. All of it is in the result, as done by hand. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, html } from '../view.ts';
import type { FleetDocument } from './document.ts';

const textOf = (event: Event): string => (event.target as HTMLInputElement).value;

export function DriveCard({ document }: PageProps<FleetDocument>): VNode {
  const [share, setShare] = useState('10%');
  const [over, setOver] = useState('5s');
  const [robots, setRobots] = useState('10');
  const over_ = document.ending !== null;
  const body = () => ({ share, over });
  const begun = ({ begun: what }: { begun: string }): string => `begun: ${what}`;
  const button = (name: string, label: string, title: string, tone?: string): VNode =>
    html`<${ActionButton} name=${name} label=${label} body=${body} done=${begun} disabled=${over_} title=${title} tone=${tone} />`;
  return html`<${Card} title="By hand" note="kept in the result">
    <div class="pair">
      <label>Share of robots<input value=${share} onInput=${(event: Event) => setShare(textOf(event))} /></label>
      <label>Duration<input value=${over} onInput=${(event: Event) => setOver(textOf(event))} /></label>
    </div>
    <div class="buttons even">
      ${button('rollout', 'Roll out', 'A new release to the share, spread over the duration', 'main')}
      ${button('storm', 'Reconnect', 'The share drops its connections, spread over the duration')}
      ${button('partition', 'Partition', 'The share is cut off from the platform for the duration', 'danger')}
      ${button('kill', 'Kill', 'The share is killed and starts again after the duration', 'danger')}
    </div>
    <div class="buttons">
      <label class="inline">Robots<input type="number" min="1" value=${robots} onInput=${(event: Event) => setRobots(textOf(event))} /></label>
      <${ActionButton} name="scale" label="Add" body=${() => ({ count: Number(robots), over })} done=${begun} disabled=${over_} title="More robots, started over the duration" />
    </div>
  <//>`;
}
