/** The event log: what is retained, and what was compacted away. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { PageProps } from '../shell.ts';
import { bytes, Card, count, html } from '../view.ts';
import type { DeviceDocument, SeenEvent } from './document.ts';

/** Events that are drawn. */
const SHOWN = 80;

export function LogCard({ document }: PageProps<DeviceDocument>): VNode {
  const { log, events, retention } = document;
  const [open, setOpen] = useState<number | undefined>(undefined);
  const note =
    log.count === 0 ? 'empty' : `${count(log.count)} of at most ${count(retention)} events, ${bytes(log.bytes)}`;
  return html`<${Card} title="Event log" note=${note}>
    <${Extent} document=${document} />
    <ol class="rows log">${events
      .slice(-SHOWN)
      .reverse()
      .map(
        (event) => html`<${Row} key=${event.id} event=${event} compacted=${event.id < log.earliest}
        open=${open === event.id} onToggle=${() => setOpen(open === event.id ? undefined : event.id)} />`,
      )}</ol>
  <//>`;
}

/** All ids that were ever given out, and which of them are retained. */
function Extent({ document }: PageProps<DeviceDocument>): VNode {
  const { earliest, latest, count: retained } = document.log;
  if (latest === 0) return html`<p class="empty">No event was stored yet.</p>`;
  const gone = Math.max(0, earliest - 1);
  const share = (100 * gone) / latest;
  const text = `Ids 1 to ${count(latest)}: ${retained === 0 ? 'none is retained' : `${count(earliest)} to ${count(latest)} retained`}, ${count(gone)} compacted`;
  return html`<div class="extent">
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${text}>
      <rect class="gone" x="0" y="0" width=${share} height="4" /><rect class="kept" x=${share} y="0" width=${100 - share} height="4" />
    </svg>
    <p class="note" data-earliest=${earliest} data-latest=${latest}>${text}</p>
  </div>`;
}

function Row({
  event,
  compacted,
  open,
  onToggle,
}: {
  event: SeenEvent;
  compacted: boolean;
  open: boolean;
  onToggle(): void;
}): VNode {
  return html`<li class=${compacted ? 'compacted' : ''}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <b class="number">${event.id}</b><span class="code">${event.type}</span>
      <span class="note to">${compacted ? 'compacted' : 'retained'}</span>
    </button>
    ${open ? html`<pre tabindex="0">${JSON.stringify(JSON.parse(event.json), null, 2)}</pre>` : ''}
  </li>`;
}
