/** The page's side of the feed: follows the document over server-sent events, and asks for actions. */
import { changed, type Message } from './document.ts';

/** `live` follows, `lost` tries to come back, `ended`: the process has ended. */
export type Connection = 'connecting' | 'live' | 'lost' | 'ended';

/** A hidden page, or one in a starved browser, has no frames: it is drawn all the same. */
const LONGEST_WAIT_MS = 250;

/** Calls back with the document after each message, at most once a frame, and with the connection when it changes. */
export function follow<D extends object>(
  onDocument: (document: D) => void,
  onConnection: (connection: Connection) => void,
): void {
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
  source.onerror = () => onConnection(source.readyState === EventSource.CLOSED ? 'ended' : 'lost');
}

/** Asks the process for an action; rejects with its message. */
export async function act<R = unknown>(name: string, body: object = {}): Promise<R> {
  const response = await fetch(`./actions/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer = (await response.json()) as R & { error?: { message: string } };
  if (!response.ok) throw new Error(answer.error?.message ?? `the console answered ${response.status}`);
  return answer;
}
