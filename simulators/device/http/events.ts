/** `GET /events` (specification sections 4.1 and 6). */
import { Subscriber } from '../stream/subscriber.ts';
import { refuse } from './answers.ts';
import type { Exchange } from './routes.ts';

export function serveEvents({ agent, request, response, query }: Exchange): void {
  const { http, stream: rules } = agent.behaviour;
  const header = request.headers['last-event-id'];
  const cursor = rules.chooseCursor({
    after: query.getAll('after'),
    lastEventId: Array.isArray(header) ? header[0] : header,
  });
  if (cursor === 'malformed') {
    refuse(response, http, {
      status: 400,
      code: 'invalid_cursor',
      message: 'the cursor is not an event id; send a non-negative integer as after, or as Last-Event-ID',
    });
    return;
  }
  const { events: log } = agent;
  const after = rules.resolveCursor(cursor, { earliest: log.earliest, latest: log.latest });
  if (after === 'expired') {
    refuse(response, http, {
      status: 410,
      code: 'cursor_expired',
      message: 'the cursor is older than the earliest retained event',
      params: { earliest_id: log.earliest, latest_id: log.latest },
    });
    return;
  }
  const chunked = request.httpVersion !== '1.0';
  response.writeHead(200, {
    'Content-Type': rules.contentType,
    'Cache-Control': 'no-store',
    ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { Connection: 'close' }),
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  // From here on frames are written to the socket itself, each encoded once for all subscribers.
  response.flushHeaders();
  const filter = rules.parseTypes(query.getAll('types'));
  const open = (): void => {
    const subscriber = new Subscriber(agent.stream, request.socket, { after, filter, chunked });
    agent.stream.fanOut.enrol(subscriber);
    subscriber.open();
  };
  if (response.socket) open();
  // Pipelined behind another answer: the socket is this response's once that one is through.
  else response.once('socket', () => process.nextTick(open));
}
