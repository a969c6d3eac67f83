/** The requests to the platform as they come, and each with its answer. */
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../follow.ts';
import type { PageProps } from '../shell.ts';
import { ActionButton, bytes, Card, clock, count, html, say } from '../view.ts';
import type { Exchange, PlatformDocument, RequestLine, ShownBody } from './document.ts';
import { textOf } from './states.ts';

/** Requests that are drawn. */
const SHOWN = 100;
/** Milliseconds from which on an answer is slow. */
const SLOW_MS = 1_000;

interface RequestsProps extends PageProps<PlatformDocument> {
  /** Plan something for that route. */
  onPlan(route: string): void;
}

interface Held {
  /** While it stands still: the requests as they were. */
  requests: readonly RequestLine[];
}

export function RequestsCard({ document, onPlan }: RequestsProps): VNode {
  const { requests, requestCount } = document;
  const [search, setSearch] = useState('');
  const [failed, setFailed] = useState(false);
  const [held, setHeld] = useState<Held | undefined>(undefined);
  const [open, setOpen] = useState<Exchange | undefined>(undefined);
  const words = search.toLowerCase().split(/\s+/);
  const found = (held?.requests ?? requests).filter(
    (line) => (!failed || toneOf(line) === 'bad' || toneOf(line) === 'warn') && fits(line, words),
  );
  const toggle = async (number: number): Promise<void> => {
    if (open?.line.number === number) return setOpen(undefined);
    try {
      setOpen(await act<Exchange>('exchange', { number }));
    } catch (error) {
      say(error instanceof Error ? error.message : String(error), 'wrong');
    }
  };
  const note =
    requestCount > requests.length
      ? `the last ${count(requests.length)} of ${count(requestCount)}`
      : count(requestCount);
  return html`<${Card} title="Requests" note=${html`<span data-requests=${requestCount}>${note}</span>`}>
    <div class="search">
      <input type="search" aria-label="Filter requests" placeholder="POST /deployments 409 everglades" value=${search}
        onInput=${(event: Event) => setSearch(textOf(event))} />
      <label class="inline"><input type="checkbox" checked=${failed} onChange=${() => setFailed(!failed)} />failed</label>
      <button type="button" aria-pressed=${held !== undefined} onClick=${() => setHeld(held === undefined ? { requests } : undefined)}>${held === undefined ? 'Hold' : 'Follow'}</button>
      <${ActionButton} name="clear" label="Clear" />
    </div>
    ${found.length === 0 ? html`<p class="empty">${requests.length === 0 ? 'No request yet.' : 'No request fits.'}</p>` : ''}
    <ol class="rows requests">${found
      .slice(-SHOWN)
      .reverse()
      .map(
        (
          line,
        ) => html`<${Row} key=${line.number} line=${line} exchange=${open?.line.number === line.number ? open : undefined}
        onToggle=${() => void toggle(line.number)} onPlan=${onPlan} />`,
      )}</ol>
    ${found.length > SHOWN ? html`<p class="note">${count(found.length - SHOWN)} older ones that fit are not drawn: filter to see them.</p>` : ''}
  <//>`;
}

/** Each word must occur somewhere. */
const fits = ({ method, url, route, version, key, status }: RequestLine, words: readonly string[]): boolean => {
  const text = [method, url, route, version, key, status ?? 'cut'].join(' ').toLowerCase();
  return words.every((word) => text.includes(word));
};

function toneOf({ status }: RequestLine): string {
  if (status === null || status >= 500) return 'bad';
  return status >= 400 ? 'warn' : 'good';
}

interface RowProps {
  line: RequestLine;
  exchange: Exchange | undefined;
  onToggle(): void;
  onPlan(route: string): void;
}

function Row({ line, exchange, onToggle, onPlan }: RowProps): VNode {
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
    ${exchange === undefined ? '' : html`<${Detail} exchange=${exchange} onPlan=${onPlan} />`}
  </li>`;
}

function Detail({ exchange, onPlan }: { exchange: Exchange; onPlan(route: string): void }): VNode {
  const { line, requestHeaders, requestBody, responseHeaders, responseBody } = exchange;
  const plan = (): void => {
    onPlan(`${line.method} ${line.route}`);
    globalThis.document.querySelector('#plan-route')?.scrollIntoView({ block: 'center' });
    globalThis.document.querySelector<HTMLInputElement>('#plan-route')?.focus();
  };
  return html`<div class="detail exchange">
    <div><h3>Request</h3><${Headers} pairs=${requestHeaders} /><${Body} body=${requestBody} none="No body, or nobody read it." /></div>
    <div><h3>Answer</h3><${Headers} pairs=${responseHeaders} /><${Body} body=${responseBody} none="No body." /></div>
    ${line.route === null ? '' : html`<div class="buttons"><button type="button" data-plan-route onClick=${plan}>Plan for ${line.method} ${line.route}</button></div>`}
  </div>`;
}

const Headers = ({ pairs }: { pairs: readonly [string, string][] }): VNode =>
  html`<dl>${pairs.map(([name, value], index) => html`<div key=${index}><dt>${name}</dt><dd class="code">${value}</dd></div>`)}</dl>`;

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
