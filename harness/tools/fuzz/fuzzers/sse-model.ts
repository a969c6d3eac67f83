/** The WHATWG standard's interpretation of an event stream, step by step over the whole text: a model to compare readers with. */

/** An event that a client dispatches. */
export interface Dispatched {
  id: string;
  event: string;
  data: string;
}

/** What a client dispatches for these bytes when nothing follows them. */
export function dispatchedOf(bytes: Uint8Array): Dispatched[] {
  // Decoding strips one byte order mark. A line that does not end is no line.
  const lines = new TextDecoder('utf-8').decode(bytes).split(/\r\n|\n|\r/);
  lines.pop();
  const events: Dispatched[] = [];
  let data = '';
  let event = '';
  let id = '';
  for (const line of lines) {
    if (line === '') {
      if (data !== '') events.push({ id, event: event || 'message', data: data.slice(0, -1) });
      data = '';
      event = '';
      continue;
    }
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data += `${value}\n`;
    if (name === 'event') event = value;
    if (name === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}
