import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { publish, readUpTo } from './drive.ts';
import { frame, openTarget, runOn } from './testing/device.ts';

it('a missing event counts as lost once a later one arrives', async () => {
  const open = new Set<ServerResponse>();
  let newest = 0;
  const target = await openTarget(
    (request, response) => {
      if (request.method !== 'GET' || request.url?.endsWith('/events') !== true) return void response.end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      open.add(response);
    },
    async (count) => {
      const first_id = newest + 1;
      newest += count;
      for (let id = first_id; id <= newest; id += 1) if (id !== 2) for (const stream of open) stream.write(frame(id));
      return { first_id, last_id: newest };
    },
  );
  const result = await runOn(target, async (t, streams) => {
    const live = await streams.open();
    await readUpTo(live, await publish(t, 2));
  });
  expect(result).toMatchObject({
    outcome: 'fail',
    expected: 'the published events 1 to 2, on an open stream',
    actual: 'event 3, which was published after them, and not 2',
  });
});
