/** What is written to the sockets of subscribers, as frames, and who they are. */
import type { Socket } from 'node:net';
import type { Opened, SeenFrame, SeenListener } from '../seen.ts';

/** Characters of a frame that are told. */
const LONGEST_FRAME = 4_000;

/** Reads along with what subscribers get. */
export class Wire {
  readonly #most: number;
  readonly #now: () => number;
  readonly #open = new Map<Socket, { number: number; listener: SeenListener }>();
  #frames: SeenFrame[] = [];
  /** The bytes written last, which several subscribers share, and the frames in them. */
  #last: { bytes: Buffer; frames: SeenFrame[] } | undefined;
  #next = 1;

  /** `most`: frames that are kept between two calls of `take`; `now`: milliseconds since 1970. */
  constructor(most: number, now: () => number) {
    this.#most = most;
    this.#now = now;
  }

  opened(socket: Socket, { client = 'unnamed', after, types }: Opened): void {
    const listener: SeenListener = { client, since: this.#now(), after, frames: 0, waiting: 0 };
    if (types !== undefined) listener.types = [...types];
    this.#open.set(socket, { number: this.#next++, listener });
    socket.once('close', () => this.#open.delete(socket));
  }

  sent(socket: Socket, bytes: Buffer): void {
    const open = this.#open.get(socket);
    if (open === undefined) return;
    const shared = this.#last?.bytes === bytes ? this.#last.frames : undefined;
    const frames = shared ?? framesIn(bytes).map((frame) => ({ ...frame, at: this.#now(), to: [] as number[] }));
    if (shared === undefined) {
      this.#last = { bytes, frames };
      this.#frames.push(...frames.slice(-this.#most));
      if (this.#frames.length > this.#most) this.#frames = this.#frames.slice(-this.#most);
    }
    for (const frame of frames) {
      frame.to.push(open.number);
      if (frame.id !== undefined) open.listener.last = frame.id;
    }
    open.listener.frames += frames.length;
  }

  /** Streams that are open, by number. */
  listeners(): Record<string, SeenListener> {
    const rows = [...this.#open].map(([socket, { number, listener }]) => {
      return [number, { ...listener, waiting: socket.writableLength }] as const;
    });
    return Object.fromEntries(rows);
  }

  /** Frames since the last call. */
  take(): SeenFrame[] {
    this.#last = undefined;
    return this.#frames.splice(0);
  }
}

type Frame = Pick<SeenFrame, 'id' | 'type' | 'text'>;

function framesIn(bytes: Buffer): Frame[] {
  const texts = body(bytes).split('\n\n');
  return texts.flatMap((text) => {
    if (text.trim() === '') return [];
    const [, id] = /^id: ?(.*)$/m.exec(text) ?? [];
    const [, type] = /^event: ?(.*)$/m.exec(text) ?? [];
    return { ...(id !== undefined && { id }), ...(type !== undefined && { type }), text: text.slice(0, LONGEST_FRAME) };
  });
}

/** The text in HTTP chunks; as it is where it is not in chunks. */
function body(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n', at);
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (end < 0 || !/^[0-9a-f]+$/i.test(bytes.toString('latin1', at, end))) return bytes.toString();
    text += bytes.toString('utf8', end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
  return text;
}
