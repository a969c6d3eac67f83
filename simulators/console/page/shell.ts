/** Frame that all pages share: title, state of the connection, and messages. */

import htm from 'htm';
import { type ComponentType, h, render, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { changed, type Deed, type Message } from './document.ts';

/** `ended`: the process has ended, so that the page no longer reconnects. */
type Connection = 'connecting' | 'live' | 'reconnecting' | 'ended';

/** Maximum wait before a change is drawn, even on a hidden page without animation frames. */
const LONGEST_WAIT_MS = 250;

function follow<D extends object>(onDocument: (document: D) => void, onConnection: (connection: Connection) => void) {
  let document: D | undefined;
  let drawing = false;
  let frame = 0;
  let timer = 0;
  const source = new EventSource('./events');
  const draw = (): void => {
    drawing = false;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    if (document !== undefined) onDocument(document);
  };
  source.onopen = () => onConnection('live');
  source.onmessage = ({ data }: MessageEvent<string>) => {
    const message = JSON.parse(data) as Message;
    if ('whole' in message) document = message.whole as D;
    else if (document !== undefined) document = changed(document, message.changes);
    if (drawing) return;
    drawing = true;
    frame = requestAnimationFrame(draw);
    timer = setTimeout(draw, LONGEST_WAIT_MS);
  };
  source.addEventListener('end', () => {
    source.close();
    onConnection('ended');
  });
  source.onerror = () => onConnection(source.readyState === EventSource.CLOSED ? 'ended' : 'reconnecting');
}

/** Rejects with the server's error message. */
export async function runAction<R = unknown>(name: string, body: object = {}): Promise<R> {
  const response = await fetch(`./actions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as R & { error?: { message: string } };
  if (!response.ok) throw new Error(answer.error?.message ?? `the console answered ${response.status}`);
  return answer;
}

/** Values become text, never markup. */
export const html = (htm as unknown as typeof htm.default).bind<VNode>(h) as (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => VNode;

let saidSoFar = 0;

export function announce(text: string, tone: SaidText['tone'] = 'done'): void {
  saidSoFar += 1;
  globalThis.dispatchEvent(new CustomEvent<SaidText>('said', { detail: { number: saidSoFar, text, tone } }));
}

interface ActionProps {
  name: string;
  label: string;
  body?: () => object;
  tone?: 'main' | 'danger';
  disabled?: boolean;
  title?: string;
  done?: (answer: never) => string;
}

export function ActionButton({ name, label, body, tone, disabled = false, title, done }: ActionProps): VNode {
  const [busy, setBusy] = useState(false);
  const click = async (): Promise<void> => {
    setBusy(true);
    try {
      const answer = await runAction(name, body?.() ?? {});
      announce(done === undefined ? `${label}: done` : done(answer as never));
    } catch (error) {
      announce(`${label}: ${error instanceof Error ? error.message : String(error)}`, 'wrong');
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class=${tone ?? ''} disabled=${disabled || busy} title=${title}
    data-action=${name} onClick=${() => void click()}>${label}</button>`;
}

export const TONES: Readonly<Record<string, string>> = {
  online: 'good',
  deployed: 'good',
  activating: 'busy',
  queued: 'busy',
  staged: 'busy',
  removing: 'busy',
  retrying: 'warn',
  drifted: 'warn',
  failed: 'bad',
};

interface CardProps {
  title: string;
  note?: unknown;
  className?: string;
  children?: unknown;
}

export function Card({ title, note, className = '', children }: CardProps): VNode {
  const id = `card-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return html`<section class="card ${className}" aria-labelledby=${id}>
    <header><h2 id=${id}>${title}</h2>${note === undefined ? '' : html`<span class="note">${note}</span>`}</header>
    ${children}
  </section>`;
}

type Fact = readonly [term: string, value: string];

export function Facts({ facts, ...rest }: { facts: Readonly<Record<string, string>> | readonly Fact[] }): VNode {
  const pairs = (Array.isArray(facts) ? facts : Object.entries(facts)) as readonly Fact[];
  return html`<dl ...${rest}>${pairs.map(
    ([term, value], at) => html`<div key=${at}><dt>${term}</dt><dd class="code">${value}</dd></div>`,
  )}</dl>`;
}

export const newest = <T>(list: readonly T[], most: number): T[] => list.slice(-most).reverse();

export const noneIn = (list: readonly unknown[], text: string): VNode | '' =>
  list.length === 0 ? html`<p class="empty">${text}</p>` : '';

export const textTo =
  (take: (text: string) => void) =>
  (event: Event): void =>
    take((event.target as HTMLInputElement).value);

interface ChoiceProps {
  value: string;
  values: readonly string[];
  /** For screen readers, needed without a surrounding `label`. */
  label?: string;
  onChoice(value: string): void;
}

export const Choice = ({ value, values, label, onChoice }: ChoiceProps): VNode =>
  html`<select aria-label=${label} value=${value} onChange=${textTo(onChoice)}>
    ${values.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}
  </select>`;

/** Reads the colour from a temporary element, because a canvas cannot resolve `light-dark()`. */
export function colourOf(name: string): string {
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

export function followLook(element: Element, onSize: () => void, onColours: () => void): () => void {
  const sized = new ResizeObserver(onSize);
  sized.observe(element);
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', onColours);
  return () => {
    sized.disconnect();
    dark.removeEventListener('change', onColours);
  };
}

export function DeedsCard({ title, deeds }: { title: string; deeds: readonly Deed[] }): VNode {
  const rows = newest(deeds, 100);
  return html`<${Card} title=${title}>
    ${noneIn(rows, 'Nothing yet.')}
    <ol class="rows">${rows.map(
      ({ at, what }) => html`<li key=${`${at}${what}`}><time>${clock(at)}</time><span>${what}</span></li>`,
    )}</ol>
  <//>`;
}

export const clock = (ms: number): string => {
  const at = new Date(ms);
  return `${at.toLocaleTimeString('en-GB', { hour12: false })}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};

const COUNT = new Intl.NumberFormat('en');
export const thousands = (value: number): string => COUNT.format(value);

export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}

export interface PageProps<D> {
  document: D;
}

export function openPage<D extends object>(Page: ComponentType<PageProps<D>>, heading: (document: D) => string): void {
  const Shell = (): VNode => {
    const [value, setValue] = useState<D | undefined>(undefined);
    const [connection, setConnection] = useState<Connection>('connecting');
    useEffect(() => follow<D>((next) => setValue(() => next), setConnection), []);
    return html`
    <header class="bar">
      <span class="brand">Muster</span>
      <h1>${value === undefined ? '' : heading(value)}</h1>
      <span class="connection ${connection}" role="status"><i></i>${connection}</span>
    </header>
    <main>${value === undefined ? html`<p class="empty">Connecting…</p>` : h(Page, { document: value })}</main>
    <${Said} />`;
  };
  render(h(Shell, {}), document.body);
}

const SAID_MS = { done: 6_000, wrong: 20_000 };
const MOST_SAID = 4;

interface SaidText {
  /** Key, so that screen readers do not repeat messages when an older one disappears. */
  number: number;
  text: string;
  tone: keyof typeof SAID_MS;
}

function Said(): VNode {
  const [said, setSaid] = useState<readonly SaidText[]>([]);
  useEffect(() => {
    const onSaid = (event: Event): void => {
      const { detail } = event as CustomEvent<SaidText>;
      setSaid((before) => [...before.slice(1 - MOST_SAID), detail]);
      setTimeout(() => setSaid((before) => before.filter((one) => one !== detail)), SAID_MS[detail.tone]);
    };
    addEventListener('said', onSaid);
    return () => removeEventListener('said', onSaid);
  }, []);
  return html`<div class="messages" role="status" aria-live="polite">${said.map(
    (one) => html`<p key=${one.number} class="said ${one.tone}">${one.text}</p>`,
  )}</div>`;
}
