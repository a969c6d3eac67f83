/** Tests that an extra event shows whether a silent stream has lost an event. */
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import type { CheckResult } from '../../../harness/runner/types.ts';
import { publish, readUpTo } from './drive.ts';
import { frame, openTarget, runOn } from './testing/device.ts';

async function readTwo(send: (id: number, write: () => void) => void): Promise<CheckResult> {
  const streams = new Set<ServerResponse>();
  let newest = 0;
  const target = await openTarget(
    (request, response) => {
      if (request.method !== 'GET' || request.url?.endsWith('/events') !== true) return void response.end('{}');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.add(response);
    },
    async (count) => {
      const first_id = newest + 1;
      newest += count;
      for (let id = first_id; id <= newest; id += 1)
        send(id, () => {
          for (const stream of streams) stream.write(frame(id));
        });
      return { first_id, last_id: newest };
    },
  );
  return runOn(target, async (t, streams) => {
    const live = await streams.open();
    await readUpTo(live, await publish(t, 2));
  });
}

it('finds an event lost once a later one has come', async () => {
  expect(await readTwo((id, write) => id !== 2 && write())).toMatchObject({
    outcome: 'fail',
    expected: 'the published events 1 to 2, on an open stream',
    actual: 'event 3, which was published after them, and not 2',
  });
});

it('passes a late event that comes before the one published as a probe', async () => {
  let late: () => void = () => {};
  const result = await readTwo((id, write) => {
    if (id === 2) late = write;
    else {
      if (id > 2) late();
      write();
    }
  });
  expect(result).toMatchObject({ outcome: 'pass' });
});
