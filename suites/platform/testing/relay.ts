import { type IncomingMessage, request as send } from 'node:http';
import { serve } from '../../../harness/targets/testing/places.ts';

export async function relayTo(platform: string, passes: (request: IncomingMessage) => boolean): Promise<string> {
  const { origin, pathname } = new URL(platform);
  const relay = await serve((request, response) => {
    if (!passes(request)) return;
    const { method, headers, url = '' } = request;
    const onwards = send(`${origin}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    onwards.on('error', () => response.destroy());
    request.pipe(onwards);
  });
  return `${relay}${pathname}`;
}
