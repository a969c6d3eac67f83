/** What surrounds every page: its title, whether it is live, light or dark, and what was said last. */
import { type ComponentType, h, render, type VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Connection, follow } from './follow.ts';
import { html } from './view.ts';

/** What a page's component gets. */
export interface PageProps<D> {
  document: D;
}

/** Draws a page: `Page` gets the document each time it changes; `heading` says what is looked at. */
export function openPage<D extends object>(Page: ComponentType<PageProps<D>>, heading: (document: D) => string): void {
  applyTheme(storedTheme());
  render(h(Shell<D>, { Page, heading }), document.body);
}

const CONNECTION: Readonly<Record<Connection, string>> = {
  connecting: 'connecting',
  live: 'live',
  lost: 'reconnecting',
  ended: 'ended',
};

function Shell<D extends object>({
  Page,
  heading,
}: {
  Page: ComponentType<PageProps<D>>;
  heading: (document: D) => string;
}): VNode {
  const [value, setValue] = useState<D | undefined>(undefined);
  const [connection, setConnection] = useState<Connection>('connecting');
  useEffect(() => follow<D>((next) => setValue(() => next), setConnection), []);
  return html`
    <header class="bar">
      <span class="brand">Muster</span>
      <h1>${value === undefined ? '' : heading(value)}</h1>
      <span class="connection ${connection}" role="status"><i></i>${CONNECTION[connection]}</span>
      <${ThemeButton} />
    </header>
    <main>${value === undefined ? html`<p class="empty">Connecting…</p>` : h(Page, { document: value })}</main>
    <${Said} />`;
}

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const storedTheme = (): Theme => THEMES.find((theme) => theme === localStorage.getItem('theme')) ?? 'auto';

function applyTheme(theme: Theme): void {
  document.documentElement.dataset['theme'] = theme;
  // Canvases are drawn in colours of their own, and have to be told.
  globalThis.dispatchEvent(new Event('theme'));
}

function ThemeButton(): VNode {
  const [theme, setTheme] = useState(storedTheme);
  const next = (): void => {
    const chosen = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
    localStorage.setItem('theme', chosen);
    applyTheme(chosen);
    setTheme(chosen);
  };
  return html`<button type="button" class="quiet" onClick=${next} aria-label="Theme: ${theme}">◐ ${theme}</button>`;
}

const SAID_MS = 6_000;

interface SaidText {
  text: string;
  tone: string;
}

function Said(): VNode {
  const [said, setSaid] = useState<SaidText | undefined>(undefined);
  useEffect(() => {
    let timer = 0;
    const onSaid = (event: Event): void => {
      setSaid((event as CustomEvent<SaidText>).detail);
      clearTimeout(timer);
      timer = setTimeout(() => setSaid(undefined), SAID_MS);
    };
    addEventListener('said', onSaid);
    return () => removeEventListener('said', onSaid);
  }, []);
  return html`<div class="said ${said?.tone ?? ''}" role="status" aria-live="polite">${said?.text ?? ''}</div>`;
}
