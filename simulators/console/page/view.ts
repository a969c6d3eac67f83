/** Small parts that every page uses. */
import htm from 'htm';
import { h, type VNode } from 'preact';
import { useState } from 'preact/hooks';
import { act } from './follow.ts';

/** Template tag that makes elements: html`<p>${text}</p>`. Texts are never read as markup. */
export const html = (htm as unknown as typeof htm.default).bind<VNode>(h) as (
  strings: TemplateStringsArray,
  ...values: unknown[]
) => VNode;

/** Says something for a moment, and to screen readers. */
export function say(text: string, tone: 'done' | 'wrong' = 'done'): void {
  globalThis.dispatchEvent(new CustomEvent('said', { detail: { text, tone } }));
}

interface ActionProps {
  /** Name of the action. */
  name: string;
  label: string;
  body?: () => object;
  tone?: 'main' | 'danger';
  disabled?: boolean;
  title?: string;
  /** What to say when it was done. */
  done?: (answer: never) => string;
}

/** A button that asks for an action, and says how it went. */
export function ActionButton({ name, label, body, tone, disabled = false, title, done }: ActionProps): VNode {
  const [busy, setBusy] = useState(false);
  const click = async (): Promise<void> => {
    setBusy(true);
    try {
      const answer = await act(name, body?.() ?? {});
      say(done === undefined ? `${label}: done` : done(answer as never));
    } catch (error) {
      say(`${label}: ${error instanceof Error ? error.message : String(error)}`, 'wrong');
    } finally {
      setBusy(false);
    }
  };
  return html`<button type="button" class=${tone ?? ''} disabled=${disabled || busy} title=${title}
    data-action=${name} onClick=${() => void click()}>${label}</button>`;
}

/** A named part of a page. */
export function Card({
  title,
  note,
  className = '',
  children,
}: {
  title: string;
  note?: unknown;
  className?: string;
  children?: unknown;
}): VNode {
  const id = `card-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
  return html`<section class="card ${className}" aria-labelledby=${id}>
    <header><h2 id=${id}>${title}</h2>${note === undefined ? '' : html`<span class="note">${note}</span>`}</header>
    ${children}
  </section>`;
}

/** `12:03:04.567` of a moment in milliseconds. */
export const clock = (ms: number): string => {
  const at = new Date(ms);
  return `${at.toLocaleTimeString('en-GB', { hour12: false })}.${String(at.getMilliseconds()).padStart(3, '0')}`;
};

const COUNT = new Intl.NumberFormat('en');
/** `12,345`. */
export const count = (value: number): string => COUNT.format(value);

/** `1.2 kB`. */
export function bytes(value: number): string {
  if (value < 1_000) return `${value} B`;
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)} kB`;
  return `${(value / 1_000_000).toFixed(1)} MB`;
}
