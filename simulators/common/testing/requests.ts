/** Requests for tests, also on unix sockets and with headers that `fetch` forbids. */
import http from 'node:http';
import { jsonIn } from '../malformed.ts';

interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  text: string;
  json: unknown;
}

/** On a connection of its own. A `body` other than text is sent as JSON. */
export function send(options: http.RequestOptions, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ agent: false, ...options }, (response) => {
      const { statusCode: status = 0, headers } = response;
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('error', reject).once('end', () => resolve({ status, headers, text, json: jsonIn(text) }));
    });
    request.once('error', reject);
    request.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  });
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
