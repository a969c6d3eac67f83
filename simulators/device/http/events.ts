/** `GET /events` (specification sections 4.1 and 6). */
import { Subscriber } from '../stream/subscriber.ts';
import { type Exchange, refuse } from './exchange.ts';
import { takeOver } from './hub.ts';

/** Refuses a bad or expired cursor, or hands the connection over to a subscriber. */
export function serveEvents({ agent, request, response, query }: Exchange): void {
  const { http, stream: rules } = agent.behaviour;
  const { log } = agent.stream;
  const header = request.headers['last-event-id'];
  const cursor = rules.chooseCursor({
    after: query.getAll('after'),
    lastEventId: Array.isArray(header) ? header[0] : header,
  });
  if (cursor === 'malformed') {
    refuse(request, response, http, {
      status: 400,
      code: 'invalid_cursor',
      message: 'the cursor is not an event id; send a non-negative integer as after, or as Last-Event-ID',
    });
    return;
  }
  const retained = { earliest: log.earliest, latest: log.latest };
  const after = rules.resolveCursor(cursor, retained);
  if (after === 'expired') {
    refuse(request, response, http, {
      status: 410,
      code: 'cursor_expired',
      message: 'the cursor is older than the earliest retained event',
      params: { earliest_id: retained.earliest, latest_id: retained.latest },
    });
    return;
  }
  const filter = rules.parseTypes(query.getAll('types'));
  const chunked = request.httpVersion !== '1.0';
  response.writeHead(200, {
    ...rules.headers,
    ...(chunked ? { 'Transfer-Encoding': 'chunked' } : { Connection: 'close' }),
  });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  // From here on frames go directly to the socket, each encoded once for all subscribers.
  response.flushHeaders();
  takeOver(request.socket);
  agent.stream.onOpen?.(request.socket, { client: request.headers['user-agent'], after, types: filter });
  const session = rules.session({ after, filter, retained });
  // Made in this tick: the cursor was checked against the log as it is now.
  const subscriber = new Subscriber(agent.stream, request.socket, { after, filter, chunked, session });
  const open = (): void => {
    if (!request.socket.destroyed) subscriber.open();
  };
  if (response.socket) open();
  // Pipelined behind another answer: this response gets the socket when that one is finished.
  else response.once('socket', () => process.nextTick(open));
}
