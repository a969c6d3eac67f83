/** Blocks of an event stream from its bytes, by the decisions of a behaviour. */
import type { Block, StreamBehaviour } from './behaviour.ts';

export interface BlockReader {
  /** Blocks that are complete with these bytes. */
  add(bytes: Buffer): Block[];
  /** Blocks that the end of the stream completes. */
  end(): Block[];
  /** The last event id, with those that counted at once. */
  readonly id: string;
  /** From the retry field, milliseconds. */
  readonly retryMs: number | undefined;
}

/** `id`: the last event id of the streams before. */
export function blockReader(behaviour: StreamBehaviour, id: string): BlockReader {
  let [committed, next, event, retryMs] = [id, id, '', undefined as number | undefined];
  let data: string[] = [];
  const complete = (): Block[] => {
    const block = { id: next, event, data: behaviour.join(data) };
    const wanted = behaviour.isDispatched(block, data);
    committed = next;
    event = '';
    data = [];
    return wanted ? [block] : [];
  };
  const take = (line: string): Block[] => {
    if (line === '') return complete();
    const found = behaviour.field(line);
    if (found === undefined) return [];
    const { name, value } = found;
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id') {
      next = behaviour.idOf(value, next);
      if (behaviour.idAtOnce) committed = next;
    } else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value);
    return [];
  };
  return {
    add: (bytes) => behaviour.lines(behaviour.decode(bytes)).flatMap(take),
    end: () => (behaviour.atEnd === 'dispatch' ? [...behaviour.lines('\n').flatMap(take), ...complete()] : []),
    get id() {
      return committed;
    },
    get retryMs() {
      return retryMs;
    },
  };
}
