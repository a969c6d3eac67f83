/** Who listens to the device's event stream, and the frames that they get, as they are written. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { bytes, Card, clock, count, html } from '../view.ts';
import type { DeviceDocument, SeenFrame } from './document.ts';

export function ListenersCard({ document }: PageProps<DeviceDocument>): VNode {
  const rows = Object.entries(document.listeners);
  return html`<${Card} title="Listeners" note=${`${rows.length} open`}>
    ${rows.length === 0 ? html`<p class="empty">Nobody listens. <code>curl -N --unix-socket ${document.addresses['socket'] ?? 'SOCKET'} http://localhost/v0.2/events</code></p>` : html`<${Listeners} document=${document} />`}
  <//>`;
}

function Listeners({ document }: PageProps<DeviceDocument>): VNode {
  return html`<div class="scroll" tabindex="0"><table>
    <thead><tr><th>no.</th><th>client</th><th>since</th><th class="number">after</th><th>types</th><th class="number">last id</th><th class="number">frames</th><th class="number">waiting</th></tr></thead>
    <tbody>${Object.entries(document.listeners).map(
      ([number, { client, since, after, types, last, frames, waiting }]) => html`<tr key=${number}>
        <td>${number}</td><td class="code">${client}</td><td>${clock(since)}</td><td class="number">${after}</td>
        <td>${types?.join(', ') ?? 'all'}</td><td class="number">${last ?? '–'}</td><td class="number">${count(frames)}</td>
        <td class="number">${bytes(waiting)}</td></tr>`,
    )}</tbody>
  </table></div>`;
}

/** Frames that are drawn. */
const SHOWN = 60;

export function StreamCard({ document }: PageProps<DeviceDocument>): VNode {
  const [comments, setComments] = useState(true);
  const [open, setOpen] = useState<SeenFrame | undefined>(undefined);
  const frames = document.frames.filter(({ type }) => comments || type !== undefined);
  const note = html`<label class="inline"><input type="checkbox" checked=${comments} onChange=${() => setComments(!comments)} />heartbeats</label>`;
  return html`<${Card} title="Stream" note=${note}>
    ${frames.length === 0 ? html`<p class="empty">Nothing was sent yet.</p>` : ''}
    <ol class="rows frames">${frames
      .slice(-SHOWN)
      .reverse()
      .map(
        (frame) => html`<li key=${`${frame.at}.${frame.id}.${frame.text.length}`}>
        <button type="button" class="row" aria-expanded=${open === frame} onClick=${() => setOpen(open === frame ? undefined : frame)}>
          <time>${clock(frame.at)}</time>
          <b class="number">${frame.id ?? ''}</b>
          <span class=${frame.type === undefined ? 'note' : 'code'}>${frame.type ?? frame.text}</span>
          <span class="note to">to ${frame.to.join(', ')}</span>
        </button>
        ${open === frame ? html`<pre tabindex="0">${frame.text}</pre>` : ''}
      </li>`,
      )}</ol>
  <//>`;
}
