/** Where the platform serves, its whole state back to the start or to a snapshot, and what was done by hand. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { ActionButton, Card, clock, html } from '../view.ts';
import type { PlatformDocument } from './document.ts';
import { textOf } from './states.ts';

export function StateCard({ document }: PageProps<PlatformDocument>): VNode {
  const { addresses, dialect, snapshots } = document;
  const [name, setName] = useState('before');
  const facts: [string, string][] = [
    ...Object.entries(addresses).map(([term, value]): [string, string] => [term.replaceAll('_', ' '), value]),
    ['dialect', dialect],
  ];
  return html`<${Card} title="State">
    <dl>${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd class="code">${value}</dd></div>`)}</dl>
    <div class="buttons"><${ActionButton} name="reset" label="Reset to the start" tone="danger"
      title="State as at the start; plans are dropped, snapshots stay" /></div>
    <div class="buttons">
      <label class="inline grow">Snapshot<input value=${name} onInput=${(event: Event) => setName(textOf(event))} /></label>
      <${ActionButton} name="snapshot" label="Take" body=${() => ({ name })} disabled=${name === ''} />
    </div>
    ${snapshots.length === 0 ? '' : html`<ol class="rows snapshots">${snapshots.map((one) => html`<${Snapshot} key=${one} name=${one} />`)}</ol>`}
  <//>`;
}

const Snapshot = ({ name }: { name: string }): VNode => html`<li class="plan" data-snapshot=${name}>
  <span class="code">${name}</span>
  <span class="buttons">
    <${ActionButton} name="restore" label="Restore" body=${() => ({ name })} />
    <${ActionButton} name="drop" label="Drop" body=${() => ({ name })} title=${`Drop snapshot ${name}`} />
  </span>
</li>`;

/** Deeds that are drawn. */
const SHOWN = 100;

export function DeedsCard({ document }: PageProps<PlatformDocument>): VNode {
  const rows = document.deeds.slice(-SHOWN).reverse();
  return html`<${Card} title="Done by hand">
    ${rows.length === 0 ? html`<p class="empty">Nothing yet.</p>` : ''}
    <ol class="rows">${rows.map(({ at, what }) => html`<li key=${`${at}${what}`}><time>${clock(at)}</time><span>${what}</span></li>`)}</ol>
  <//>`;
}
