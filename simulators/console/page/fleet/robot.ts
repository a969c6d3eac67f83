/** One robot: its current deployment, and its event log as it grows. */
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../follow.ts';
import { Card, html } from '../view.ts';
import type { RobotDetail } from './document.ts';

const EVERY_MS = 1_000;
const FIELDS = ['id', 'status', 'activity_status', 'error_status', 'target_status', 'release_id', 'created_at'];

interface RobotProps {
  index: number;
  /** Whether the run is over, so that there is nobody to ask. */
  ended: boolean;
  onClose(): void;
}

export function RobotCard({ index, ended, onClose }: RobotProps): VNode {
  const [robot, setRobot] = useState<RobotDetail | undefined>(undefined);
  useEffect(() => {
    if (ended) return undefined;
    let timer = 0;
    let closed = false;
    const look = async (): Promise<void> => {
      const seen = await act<RobotDetail>('robot', { index }).catch(() => undefined);
      if (closed) return;
      if (seen !== undefined) setRobot(seen);
      timer = setTimeout(() => void look(), EVERY_MS);
    };
    void look();
    return () => {
      closed = true;
      clearTimeout(timer);
    };
  }, [index, ended]);
  const close = html`<button type="button" class="quiet" onClick=${onClose}>Close</button>`;
  if (robot === undefined)
    return html`<${Card} title="Robot" className="robot" note=${close}><p class="empty">Looking…</p><//>`;
  const { name, socket, up, deployment, events } = robot;
  return html`<${Card} title="Robot" className="robot" note=${close}>
    <p class="robot-head"><b>${name}</b> <span class="state ${up ? 'good' : 'bad'}" data-robot=${up ? 'up' : 'down'}>${up ? 'serves' : 'down'}</span></p>
    <p class="note code">curl -N --unix-socket ${socket} http://localhost/v0.2/events</p>
    <div class="halves">
      <div>
        <h3>Deployment</h3>
        ${
          deployment === null
            ? html`<p class="empty">None is current.</p>`
            : html`<dl data-deployment=${deployment['id']}>${FIELDS.map(
                (field) =>
                  html`<div key=${field}><dt>${field.replace('_status', '').replace('_', ' ')}</dt><dd class="code">${String(deployment[field])}</dd></div>`,
              )}</dl>`
        }
      </div>
      <div>
        <h3>Stream and log</h3>
        ${events.length === 0 ? html`<p class="empty">No event is stored.</p>` : ''}
        <ol class="rows">${events.toReversed().map(
          ({ id, type, at, deployment: of }) => html`<li key=${id} class="event">
          <b class="number">${id}</b><time>${at.slice(11, 23)}</time><span class="code">${type}</span><span class="note code">${of}</span>
        </li>`,
        )}</ol>
      </div>
    </div>
  <//>`;
}
