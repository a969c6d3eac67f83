/** For tests of a console. */

/** The first message of an event stream, which has the whole document. */
export async function firstMessage(url: string): Promise<string> {
  const stop = new AbortController();
  const response = await fetch(url, { signal: stop.signal });
  let text = '';
  for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += part;
    if (/^data: .*\n\n/m.test(text)) break;
  }
  stop.abort();
  return text;
}
