import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import {
  ActionButton,
  announce,
  bytes,
  Card,
  clock,
  Facts,
  html,
  newest,
  noneIn,
  type PageProps,
  runAction,
  TONES,
  textTo,
  thousands,
} from '../shell.ts';
import type { DeploymentLine, DeviceLine, Exchange, PlatformDocument, RequestLine, ShownBody } from './document.ts';

interface ChipsProps {
  label: string;
  counts: Readonly<Record<string, number>>;
  chosen: string;
  onChoice(status: string): void;
}

function Chips({ label, counts, chosen, onChoice }: ChipsProps): VNode {
  const shown = Object.entries(counts).filter(([status, number]) => number > 0 || status === chosen);
  return html`<div class="chips" role="group" aria-label=${label}>${shown.map(
    ([status, number]) => html`<button type="button" key=${status} aria-pressed=${chosen === status}
      data-status=${status} class=${TONES[status] ?? ''}
      onClick=${() => onChoice(chosen === status ? '' : status)}><i></i>${status} <b>${thousands(number)}</b></button>`,
  )}</div>`;
}

function moment(timestamp: string): string {
  const at = new Date(timestamp);
  const time = at.toLocaleTimeString('en-GB', { hour12: false });
  return at.toDateString() === new Date().toDateString() ? time : `${at.toISOString().slice(0, 10)} ${time}`;
}

/** Filters lines by the member `chosen`, whose value a chip selects, and by a search in the members `texts`. */
function useFilter<L>(lines: readonly L[], counts: ChipsProps['counts'], chosen: keyof L, texts: readonly (keyof L)[]) {
  const [search, setSearch] = useState('');
  const [status, setStatus] = useState('');
  const [open, setOpen] = useState('');
  const words = search.toLowerCase();
  const textOf = (line: L) => texts.map((name) => line[name]).join(' ');
  const found = lines
    .filter((line) => status === '' || line[chosen] === status)
    .filter((line) => textOf(line).toLowerCase().includes(words));
  const all = Object.values(counts).reduce((total, number) => total + number, 0);
  const shown = `${thousands(lines.length)} that changed last, of ${thousands(all)}`;
  const note = all > lines.length ? shown : thousands(all);
  const opened = (id: string) => ({ open: open === id, onToggle: () => setOpen(open === id ? '' : id) });
  const chips = { counts, chosen: status, onChoice: setStatus };
  return { search, setSearch, setOpen, chips, found, all, note, opened };
}

export function DevicesCard({ document }: PageProps<PlatformDocument>): VNode {
  const { devices, deviceCounts, groups } = document;
  const lines = Object.values(devices).sort((one, other) => one.seq - other.seq);
  const { setOpen, found, all, ...list } = useFilter(lines, deviceCounts, 'status', ['name', 'id', 'group', 'release']);
  const shown = ({ id }: { id: string }): string => {
    setOpen(id);
    return 'shown below';
  };
  return html`<${Card} title="Devices" note=${list.note}>
    <${Chips} label="Devices by status" ...${list.chips} />
    <div class="search">
      <input type="search" aria-label="Filter devices" placeholder="name, id, group or release" value=${list.search}
        onInput=${textTo(list.setSearch)} />
      ${
        found.length === 0 && list.search !== '' && all > lines.length
          ? html`<${ActionButton} name="show" label="Find" body=${() => ({ device: list.search })} done=${shown}
          title="By its whole id or name, among all devices" />`
          : ''
      }
    </div>
    ${noneIn(found, all === 0 ? 'There is no device yet.' : 'No device shown here fits.')}
    <ol class="rows">${found.map(
      (line) => html`<${DeviceRow} key=${line.id} line=${line} groups=${groups} ...${list.opened(line.id)} />`,
    )}</ol>
  <//>`;
}

interface DeviceRowProps {
  line: DeviceLine;
  groups: PlatformDocument['groups'];
  open: boolean;
  onToggle(): void;
}

function DeviceRow({ line, groups, open, onToggle }: DeviceRowProps): VNode {
  const { id, name, status, group, release } = line;
  return html`<li data-device=${id} data-is=${status}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <${Name} name=${name} />
      ${release === null ? '' : html`<span class="code note">${release}</span>`}
      ${group === null ? '' : html`<span class="note">${group}</span>`}
      <span class="state end ${TONES[status] ?? ''}">${status}</span>
    </button>
    ${open ? html`<${DeviceDetail} line=${line} groups=${groups} />` : ''}
  </li>`;
}

const NAME_END = 6;

const Name = ({ name }: { name: string }): VNode =>
  html`<span class="name" title=${name}
    ><span>${name.slice(0, -NAME_END)}</span><span>${name.slice(-NAME_END)}</span></span>`;

function DeviceDetail({ line, groups }: Pick<DeviceRowProps, 'line' | 'groups'>): VNode {
  const { id, status, agent, groupId, standIn, connectedAt, changedAt } = line;
  const [chosen, setChosen] = useState(groupId ?? '');
  const archived = status === 'archived';
  const facts = {
    id,
    agent: standIn ? 'none; online by hand' : (agent ?? 'not provisioned'),
    connected: connectedAt === null ? 'never' : moment(connectedAt),
    changed: moment(changedAt),
  };
  const body = (): object => ({ id });
  return html`<div class="detail">
    <${Facts} facts=${facts} />
    <div class="buttons">
      <${ActionButton} name="online" label="Put online" body=${body} disabled=${archived || status === 'online'}
        title="Answers pings, without an agent" />
      <${ActionButton} name="offline" label="Put offline" body=${body} disabled=${archived || status !== 'online'}
        title="Its agent is disconnected, and may come back" />
      <${ActionButton} name="archive" label="Archive" tone="danger" body=${body} disabled=${archived} />
    </div>
    ${
      groups.length === 0
        ? ''
        : html`<div class="buttons">
      <label class="inline">Group<select value=${chosen} onChange=${textTo(setChosen)}>
        <option value="">none</option>
        ${groups.map((group) => html`<option key=${group.id} value=${group.id}>${group.name}</option>`)}
      </select></label>
      <${ActionButton} name="group" label="Move" disabled=${chosen === (groupId ?? '')}
        body=${() => ({ id, group_id: chosen === '' ? null : chosen })} />
    </div>`
    }
  </div>`;
}

export function DeploymentsCard({ document }: PageProps<PlatformDocument>): VNode {
  const { deployments, deploymentCounts } = document;
  const lines = Object.values(deployments).sort((one, other) => other.seq - one.seq);
  const texts = ['device', 'id', 'release', 'status'] as const;
  const { found, all, ...list } = useFilter(lines, deploymentCounts, 'activity', texts);
  return html`<${Card} title="Deployments" note=${list.note}>
    <${Chips} label="Deployments by activity" ...${list.chips} />
    <div class="search"><input type="search" aria-label="Filter deployments"
      placeholder="device, release, status or id" value=${list.search} onInput=${textTo(list.setSearch)} /></div>
    ${noneIn(found, all === 0 ? 'There is no deployment yet.' : 'No deployment shown here fits.')}
    <ol class="rows">${found.map(
      (line) => html`<${DeploymentRow} key=${line.id} line=${line} ...${list.opened(line.id)} />`,
    )}</ol>
  <//>`;
}

function DeploymentRow({ line, open, onToggle }: { line: DeploymentLine; open: boolean; onToggle(): void }): VNode {
  const { id, device, release, status, activity, error, target, changedAt } = line;
  const facts = { id, activity, error, target, changed: moment(changedAt) };
  return html`<li data-deployment=${id} data-is=${status}>
    <button type="button" class="row" aria-expanded=${open} onClick=${onToggle}>
      <${Name} name=${device} /><span class="code note">${release}</span>
      ${target === activity ? '' : html`<span class="note">→ ${target}</span>`}
      <span class="state end ${TONES[status] ?? ''}">${status}</span>
    </button>
    ${open ? html`<div class="detail"><${Facts} facts=${facts} /></div>` : ''}
  </li>`;
}

const MOST_REQUESTS = 100;
const SLOW_MS = 1_000;

export function RequestsCard({
  document,
  onPlan,
}: PageProps<PlatformDocument> & { onPlan(route: string): void }): VNode {
  const { requests, requestCount } = document;
  const [search, setSearch] = useState('');
  const [failed, setFailed] = useState(false);
  const [held, setHeld] = useState<readonly RequestLine[] | undefined>(undefined);
  const [open, setOpen] = useState<Exchange | undefined>(undefined);
  const words = search.toLowerCase().split(/\s+/);
  const found = (held ?? requests).filter(
    (line) => (!failed || toneOf(line) === 'bad' || toneOf(line) === 'warn') && fits(line, words),
  );
  const older = found.length - MOST_REQUESTS;
  const toggle = async (number: number): Promise<void> => {
    if (open?.line.number === number) return setOpen(undefined);
    try {
      setOpen(await runAction<Exchange>('exchange', { number }));
    } catch (error) {
      announce(error instanceof Error ? error.message : String(error), 'wrong');
    }
  };
  const note =
    requestCount > requests.length
      ? `the last ${thousands(requests.length)} of ${thousands(requestCount)}`
      : thousands(requestCount);
  return html`<${Card} title="Requests" note=${html`<span data-requests=${requestCount}>${note}</span>`}>
    <div class="search">
      <input type="search" aria-label="Filter requests" placeholder="POST /deployments 409 everglades" value=${search}
        onInput=${textTo(setSearch)} />
      <label class="inline">
        <input type="checkbox" checked=${failed} onChange=${() => setFailed(!failed)} />failed
      </label>
      <button type="button" aria-pressed=${held !== undefined}
        onClick=${() => setHeld(held === undefined ? requests : undefined)}>
        ${held === undefined ? 'Hold' : 'Follow'}
      </button>
      <${ActionButton} name="clear" label="Clear" />
    </div>
    ${noneIn(found, requests.length === 0 ? 'No request yet.' : 'No request fits.')}
    <ol class="rows requests">${newest(found, MOST_REQUESTS).map(
      (line) => html`<${RequestRow} key=${line.number} line=${line}
        exchange=${open?.line.number === line.number ? open : undefined}
        onToggle=${() => void toggle(line.number)} onPlan=${onPlan} />`,
    )}</ol>
    ${
      older > 0
        ? html`<p class="note">${thousands(older)} older ones that fit are not drawn: filter to see them.</p>`
        : ''
    }
  <//>`;
}

const fits = ({ method, url, route, version, key, status }: RequestLine, words: readonly string[]): boolean => {
  const text = [method, url, route, version, key, status ?? 'cut'].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
};

function toneOf({ status }: RequestLine): string {
  if (status === null || status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

interface RequestRowProps {
  line: RequestLine;
  exchange: Exchange | undefined;
  onToggle(): void;
  onPlan(route: string): void;
}

function RequestRow({ line, exchange, onToggle, onPlan }: RequestRowProps): VNode {
  const { number, at, ms, method, url, version, key, status } = line;
  return html`<li data-request=${number}>
    <button type="button" class="row" aria-expanded=${exchange !== undefined} onClick=${onToggle}>
      <time>${clock(at)}</time>
      <b class="code method">${method}</b>
      <span class="code url">${url}</span>
      <span class="note about">${version ?? 'no version'} · ${key}</span>
      <span class="number ${ms >= SLOW_MS ? 'slow' : ''}">${ms} ms</span>
      <span class="state ${toneOf(line)}">${status ?? 'cut'}</span>
    </button>
    ${exchange === undefined ? '' : html`<${ExchangeDetail} exchange=${exchange} onPlan=${onPlan} />`}
  </li>`;
}

function ExchangeDetail({ exchange, onPlan }: { exchange: Exchange; onPlan(route: string): void }): VNode {
  const { line, requestHeaders, requestBody, responseHeaders, responseBody } = exchange;
  const plan = (): void => {
    onPlan(`${line.method} ${line.route}`);
    globalThis.document.querySelector('#plan-route')?.scrollIntoView({ block: 'center' });
    globalThis.document.querySelector<HTMLInputElement>('#plan-route')?.focus();
  };
  return html`<div class="detail exchange">
    <div><h3>Request</h3><${Facts} facts=${requestHeaders} />
      <${Body} body=${requestBody} none="No body, or nobody read it." /></div>
    <div><h3>Answer</h3><${Facts} facts=${responseHeaders} />
      <${Body} body=${responseBody} none="No body." /></div>
    ${
      line.route === null
        ? ''
        : html`<div class="buttons">
      <button type="button" data-plan-route onClick=${plan}>Plan for ${line.method} ${line.route}</button>
    </div>`
    }
  </div>`;
}

function Body({ body, none }: { body: ShownBody | null; none: string }): VNode {
  if (body === null) return html`<p class="empty">${none}</p>`;
  const { text, cut } = body;
  return html`<pre tabindex="0">${cut ? text : indented(text)}</pre>
    ${cut ? html`<p class="note">The beginning of ${bytes(body.bytes)}.</p>` : ''}`;
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
