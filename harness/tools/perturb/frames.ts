import { changeMember, isObject, type Json, valueAt, writtenAs } from './change.ts';
import type { Trace } from './forward.ts';
import { isWithin, type Perturbation, subjectOf } from './perturbation.ts';

interface Frame {
  id: string | undefined;
  event: string | undefined;
  envelope: Json;
}

function frameIn(block: string): Frame | undefined {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => /^(\w+): ?(.*)$/s.exec(line)?.slice(1) as [string, string])
      .filter(Boolean),
  );
  const envelope: unknown = JSON.parse(fields.get('data') ?? 'null');
  return isObject(envelope) ? { id: fields.get('id'), event: fields.get('event'), envelope } : undefined;
}

export const blockOf = ({ id, event, envelope }: Frame): string =>
  [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${JSON.stringify(envelope)}`,
  ].join('\n');

const OTHER_TYPE: Readonly<Record<string, string>> = {
  'deployment.deployed': 'deployment.removed',
  'deployment.removed': 'deployment.deployed',
};

function changedFrame({ kind, path = [] }: Perturbation, frame: Frame, before: Json | undefined): Frame {
  if (kind === 'id-altered') return { ...frame, id: String(Number(frame.id) + 1) };
  if (kind === 'id-dropped') return { ...frame, id: undefined };
  if (kind === 'event-altered') return { ...frame, event: OTHER_TYPE[frame.event ?? ''] ?? 'deployment.deployed' };
  if (kind === 'event-dropped') return { ...frame, event: undefined };
  const envelope = structuredClone(frame.envelope);
  changeMember(envelope, path, kind, valueAt(before, path));
  return { ...frame, envelope };
}

function writtenBlock({ kind }: Perturbation, block: string): string {
  const lines = block.split('\n');
  if (kind === 'comment-added') return `: note\n${block}`;
  if (kind === 'field-added') return `${block}\nnote: 1`;
  if (kind === 'unspaced') return lines.map((line) => line.replace(/^(\w+): /, '$1:')).join('\n');
  if (kind === 'line-ends') return `${block}\n\n`.replaceAll('\n', '\r\n');
  if (kind === 'fields-reversed') return lines.reverse().join('\n');
  const frame = frameIn(block);
  // Line feeds in JSON would end the field of a stream.
  if (frame === undefined || kind === 'whitespace') return block;
  const text = kind === 'data-split' ? JSON.stringify(frame.envelope, undefined, 1) : writtenAs(kind, frame.envelope);
  const data = text?.split('\n').map((line) => `data: ${line}`);
  return lines.flatMap((line) => (line.startsWith('data: ') ? (data ?? line) : line)).join('\n');
}

/** Time without an event after which a replay counts as over. */
const QUIET_MS = 50;

export class Frames {
  readonly #it: Perturbation;
  readonly #opened = Date.now();
  readonly #send: (block: string) => void;
  readonly #trace: Trace;
  readonly #counts = { replay: 0, live: 0 };
  #text = '';
  #heartbeats = 0;
  #before: Json | undefined;
  #kept: string[] = [];
  #candidate: { block: string; frame: Frame; timer: NodeJS.Timeout } | undefined;

  constructor(it: Perturbation, send: (text: string) => void, trace: Trace) {
    this.#it = it;
    this.#send = (block) => send(`${block}\n\n`);
    this.#trace = trace;
  }

  take(piece: string): void {
    const blocks = (this.#text + piece).split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.#block(block);
  }

  end(): void {
    this.#settle(true);
  }

  #block(block: string): void {
    const { kind } = this.#it;
    if (['stream', 'json'].includes(subjectOf(kind))) {
      const made = writtenBlock(this.#it, block);
      this.#trace(made === block ? 'v' : 'a');
      this.#send(made);
    } else if (block.startsWith(':')) {
      this.#heartbeats += 1;
      if (kind !== 'heartbeat-lost' || this.#heartbeats === 1) this.#send(block);
      else this.#trace('a');
    } else this.#event(block, frameIn(block));
  }

  #event(block: string, frame: Frame | undefined): void {
    if (frame === undefined) {
      this.#send(block);
      return;
    }
    const phase = Date.parse(String(frame.envelope['occurred_at'])) < this.#opened ? 'replay' : 'live';
    this.#counts[phase] += 1;
    const { place } = this.#it.cell;
    const isDue = isWithin(this.#it.cell, { phase, type: frame.event });
    this.#settle(phase === 'live');
    if (isDue && place === 'last') {
      const timer = setTimeout(() => this.#settle(true), QUIET_MS);
      this.#candidate = { block, frame, timer };
    } else if (isDue && (place === undefined || place === this.#counts[phase])) this.#change(block, frame);
    else this.#pass(block, frame);
  }

  #settle(isLast = false): void {
    if (this.#candidate === undefined) return;
    const { block, frame, timer } = this.#candidate;
    clearTimeout(timer);
    this.#candidate = undefined;
    if (isLast) this.#change(block, frame);
    else this.#pass(block, frame);
  }

  #pass(block: string, frame: Frame): void {
    const kept = this.#kept.splice(0);
    for (const each of this.#it.kind === 'late' ? [...kept, block] : [block, ...kept]) this.#send(each);
    this.#before = frame.envelope;
  }

  #change(block: string, frame: Frame): void {
    const { kind } = this.#it;
    this.#trace('v');
    if (kind === 'late' || kind === 'reordered') {
      if (this.#kept.length > 0) this.#pass(block, frame);
      else {
        this.#kept.push(block);
        this.#trace('a');
      }
      return;
    }
    const made = blockOf(changedFrame(this.#it, frame, this.#before));
    const all = kind === 'lost' ? [] : kind === 'doubled' ? [block, block] : [made === blockOf(frame) ? block : made];
    if (all.length !== 1 || all[0] !== block) this.#trace('a');
    for (const each of all) this.#send(each);
    this.#before = frame.envelope;
  }
}
