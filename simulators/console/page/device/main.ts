import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import {
  ActionButton,
  bytes,
  Card,
  Choice,
  clock,
  DeedsCard,
  Facts,
  html,
  newest,
  noneIn,
  openPage,
  type PageProps,
  TONES,
  textTo,
  thousands,
} from '../shell.ts';
import type { Deployment, DeviceDocument, SeenFrame } from './document.ts';

function AgentCard({ document }: PageProps<DeviceDocument>): VNode {
  const { agent, pid, addresses, retention, heartbeatSeconds } = document;
  const keeps = retention === null ? {} : { keeps: `${retention} events` };
  const facts = { ...addresses, ...keeps, heartbeat: `every ${heartbeatSeconds} s` };
  const up = agent === 'up';
  const state = up ? `up, process ${pid}` : 'down';
  const note = html`<span class="state ${up ? 'good' : 'bad'}" data-agent=${agent}>${state}</span>`;
  return html`<${Card} title="Agent" note=${note}>
    <${Facts} facts=${facts} />
    <div class="buttons">
      <${ActionButton} name="restart" label="Restart" disabled=${!up} title="SIGTERM, then a new process" />
      <${ActionButton} name="kill" label="Kill" tone="danger" disabled=${!up} title="SIGKILL" />
      <${ActionButton} name="start" label="Start" disabled=${up} />
    </div>
  <//>`;
}

function CurrentCard({ document }: PageProps<DeviceDocument>): VNode {
  const { current, agent } = document;
  if (current === null)
    return html`<${Card} title="Current deployment"><p class="empty">None. Deploy one below.</p><//>`;
  const { id, status, activity_status, error_status, target_status, release_id, created_at, description } = current;
  const facts = {
    id,
    release: release_id,
    activity: activity_status,
    error: error_status,
    target: target_status,
    created: created_at,
    ...(description !== '' && { description }),
  };
  const note = html`<span class="state ${TONES[status] ?? ''}">${status}</span>`;
  return html`<${Card} title="Current deployment" note=${note}>
    <${Facts} data-current=${id} facts=${facts} />
    <div class="buttons">
      <${ActionButton} name="remove" label="Remove" tone="danger" body=${() => ({ id })} disabled=${agent !== 'up'} />
    </div>
  <//>`;
}

const ACTIVITIES = ['deployed', 'queued', 'staged', 'removing', 'archived', 'drifted'];
const ERRORS = ['none', 'retrying', 'failed'];

function DriveCard({ document }: PageProps<DeviceDocument>): VNode {
  const [filepath, setFilepath] = useState('/etc/robot/speed.json');
  const [content, setContent] = useState('{"max_speed":2}');
  const [error, setError] = useState('none');
  const [activity, setActivity] = useState('deployed');
  const [events, setEvents] = useState('10');
  const down = document.agent !== 'up';
  const deployment = () => {
    return { config_instances: [{ filepath, content }], activity_status: activity, error_status: error };
  };
  const deployed = ({ id, status }: Deployment): string => `${id} is ${status}`;
  return html`<${Card} title="Drive">
    <label>Config file<input class="code" value=${filepath} onInput=${textTo(setFilepath)} /></label>
    <label>Content<textarea class="code" rows="2" value=${content} onInput=${textTo(setContent)}></textarea></label>
    <div class="pair">
      <label>Activity<${Choice} value=${activity} values=${ACTIVITIES} onChoice=${setActivity} /></label>
      <label>Error<${Choice} value=${error} values=${ERRORS} onChoice=${setError} /></label>
    </div>
    <div class="buttons">
      <${ActionButton} name="deploy" label="Deploy" tone="main" body=${deployment} done=${deployed} disabled=${down} />
    </div>
    <div class="buttons">
      <label class="inline">Events<input type="number" min="1" value=${events} onInput=${textTo(setEvents)} /></label>
      <${ActionButton} name="publish" label="Publish" body=${() => ({ count: Number(events) })} disabled=${down} />
      <${ActionButton} name="compact" label="Compact" disabled=${down} title="Keeps 80 % of the events" />
      <${ActionButton} name="cut" label="Cut streams" tone="danger" disabled=${down}
        title="Breaks every open event stream"
        done=${({ streams }: { streams: number }) => `${streams} streams cut`} />
    </div>
  <//>`;
}

const MOST_EVENTS = 80;

function LogCard({ document }: PageProps<DeviceDocument>): VNode {
  const { log, events, retention } = document;
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const most = retention === null ? '' : ` of at most ${thousands(retention)}`;
  const note = log.count === 0 ? 'empty' : `${thousands(log.count)}${most} events, ${bytes(log.bytes)}`;
  return html`<${Card} title="Event log" note=${note}>
    <${Extent} document=${document} />
    <ol class="rows log">${newest(events, MOST_EVENTS).map(({ id, type, json }) => {
      const compacted = id < log.earliest;
      const open = chosen === id;
      return html`<li key=${id} class=${compacted ? 'compacted' : ''}>
        <button type="button" class="row" aria-expanded=${open} onClick=${() => setChosen(open ? undefined : id)}>
          <b class="number">${id}</b><span class="code">${type}</span>
          <span class="note to">${compacted ? 'compacted' : 'retained'}</span>
        </button>
        ${open ? html`<pre tabindex="0">${JSON.stringify(JSON.parse(json), null, 2)}</pre>` : ''}
      </li>`;
    })}</ol>
  <//>`;
}

function Extent({ document }: PageProps<DeviceDocument>): VNode {
  const { earliest, latest, count: retained } = document.log;
  if (latest === 0) return html`<p class="empty">No event was stored yet.</p>`;
  const gone = Math.max(0, earliest - 1);
  const share = (100 * gone) / latest;
  const kept = retained === 0 ? 'none is retained' : `${thousands(earliest)} to ${thousands(latest)} retained`;
  const text = `Ids 1 to ${thousands(latest)}: ${kept}, ${thousands(gone)} compacted`;
  return html`<div class="extent">
    <svg viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label=${text}>
      <rect class="gone" x="0" y="0" width=${share} height="4" />
      <rect class="kept" x=${share} y="0" width=${100 - share} height="4" />
    </svg>
    <p class="note" data-earliest=${earliest} data-latest=${latest}>${text}</p>
  </div>`;
}

function ListenersCard({ document }: PageProps<DeviceDocument>): VNode {
  const rows = Object.entries(document.listeners);
  const command = `curl -N --unix-socket ${document.addresses['socket'] ?? 'SOCKET'} http://localhost/v0.2/events`;
  const table = html`<div class="scroll" tabindex="0"><table>
    <thead><tr>
      <th>no.</th><th>client</th><th>since</th><th class="number">after</th>
      <th>types</th><th class="number">last id</th><th class="number">frames</th>
      <th class="number">waiting</th></tr></thead>
    <tbody>${rows.map(
      ([number, { client, since, after, types, last, frames, waiting }]) => html`<tr key=${number}>
        <td>${number}</td><td class="code">${client}</td><td>${clock(since)}</td><td class="number">${after}</td>
        <td>${types?.join(', ') ?? 'all'}</td><td class="number">${last ?? '–'}</td>
        <td class="number">${thousands(frames)}</td>
        <td class="number">${bytes(waiting)}</td></tr>`,
    )}</tbody>
  </table></div>`;
  return html`<${Card} title="Listeners" note=${`${rows.length} open`}>
    ${rows.length === 0 ? html`<p class="empty">Nobody listens. <code>${command}</code></p>` : table}
  <//>`;
}

function StreamCard({ document }: PageProps<DeviceDocument>): VNode {
  const [comments, setComments] = useState(true);
  const [open, setOpen] = useState<SeenFrame | undefined>(undefined);
  const frames = document.frames.filter(({ type }) => comments || type !== undefined);
  const note = html`<label class="inline">
    <input type="checkbox" checked=${comments} onChange=${() => setComments(!comments)} />heartbeats
  </label>`;
  return html`<${Card} title="Stream" note=${note}>
    ${noneIn(frames, 'Nothing was sent yet.')}
    <ol class="rows frames">${newest(frames, 60).map(
      (frame) => html`<li key=${`${frame.at}.${frame.id}.${frame.text.length}`}>
        <button type="button" class="row" aria-expanded=${open === frame}
          onClick=${() => setOpen(open === frame ? undefined : frame)}>
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

function SwitchCard({ document }: PageProps<DeviceDocument>): VNode {
  const { deviations, switchedOn } = document;
  const [search, setSearch] = useState('');
  const [wanted, setWanted] = useState<readonly string[] | undefined>(undefined);
  const chosen = wanted ?? switchedOn;
  const words = search.toLowerCase();
  const found = deviations.filter(({ name, describe }) => `${name} ${describe}`.toLowerCase().includes(words));
  const toggle = (name: string): void =>
    setWanted(chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]);
  const done = (): string => {
    setWanted(undefined);
    return 'the agent was started again';
  };
  return html`<${Card} title="Defects and variants" note=${`${switchedOn.length} on`}>
    <label>Find<input type="search" value=${search} placeholder="heartbeat, cursor, …"
      onInput=${textTo(setSearch)} /></label>
    <ul class="choices" tabindex="0" aria-label="Defects and variants">${found.map(
      ({ name, kind, describe }) => html`<li key=${name}><label class="inline">
        <input type="checkbox" name=${name} checked=${chosen.includes(name)} onChange=${() => toggle(name)} />
        <span><b class="code">${name}</b> <i class="kind ${kind}">${kind}</i><br />
          <span class="note">${describe}</span></span>
      </label></li>`,
    )}</ul>
    <div class="buttons"><${ActionButton} name="switch" label="Switch and restart" body=${() => ({ names: chosen })}
      done=${done} disabled=${wanted === undefined || document.agent !== 'up'}
      title="An agent decides at its start how it behaves" /></div>
  <//>`;
}

function DevicePage({ document }: PageProps<DeviceDocument>): VNode {
  return html`<div class="columns">
    <div class="side">
      <${AgentCard} document=${document} />
      <${CurrentCard} document=${document} />
      <${DriveCard} document=${document} />
      <${SwitchCard} document=${document} />
    </div>
    <div class="wide">
      <${ListenersCard} document=${document} />
      <${StreamCard} document=${document} />
      <${LogCard} document=${document} />
      <${DeedsCard} title="What happened" deeds=${document.deeds} />
    </div>
  </div>`;
}

openPage<DeviceDocument>(DevicePage, ({ deviceId }) => `Device ${deviceId}`);
