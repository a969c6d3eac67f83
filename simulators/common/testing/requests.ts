/** Requests for tests, also on unix sockets and with headers that `fetch` forbids. */
import { once } from 'node:events';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { jsonOf } from '../../../harness/common/lenient.ts';

export async function send(options: http.RequestOptions, body?: unknown) {
  // Ignores errors, because a server may answer and close the connection before it has read the whole body.
  const request = http.request({ agent: false, ...options }).on('error', () => {});
  request.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const { statusCode: status = 0, headers } = response;
  const said = await text(response);
  return { status, headers, text: said, json: jsonOf(said) };
}

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
