/** How often each status occurs, and the mark of a line that has just changed. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, html } from '../view.ts';

/** The colour of a status of a device or a deployment. */
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

interface ChipsProps {
  label: string;
  counts: Readonly<Record<string, number>>;
  chosen: string;
  onChoice(status: string): void;
}

/** Buttons with the number of each status; one shows only that status. */
export function Chips({ label, counts, chosen, onChoice }: ChipsProps): VNode {
  const shown = Object.entries(counts).filter(([status, number]) => number > 0 || status === chosen);
  return html`<div class="chips" role="group" aria-label=${label}>${shown.map(
    ([
      status,
      number,
    ]) => html`<button type="button" key=${status} aria-pressed=${chosen === status} data-status=${status}
      class=${TONES[status] ?? ''} onClick=${() => onChoice(chosen === status ? '' : status)}><i></i>${status} <b>${count(number)}</b></button>`,
  )}</div>`;
}

const FRESH_MS = 2_000;

/** Whether a value changed within the last two seconds; not at first. */
export function useFresh(value: string): boolean {
  const [fresh, setFresh] = useState(false);
  const before = useRef(value);
  useEffect(() => {
    if (before.current === value) return undefined;
    before.current = value;
    setFresh(true);
    const timer = setTimeout(() => setFresh(false), FRESH_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return fresh;
}

/** The text that a person types to find a line. */
export const textOf = (event: Event): string => (event.target as HTMLInputElement).value;

/** `12:03:04` of an RFC 3339 timestamp, with the day when it is another one. */
export function moment(timestamp: string): string {
  const at = new Date(timestamp);
  const time = at.toLocaleTimeString('en-GB', { hour12: false });
  return at.toDateString() === new Date().toDateString() ? time : `${at.toISOString().slice(0, 10)} ${time}`;
}
