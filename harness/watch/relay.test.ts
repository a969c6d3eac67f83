import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratch } from '../../simulators/common/testing/scratch.ts';
import { Relay } from './relay.ts';
import { Stage } from './testing/transcripts.ts';
import { expectTransparent, KINDS } from './testing/transparency.ts';

test.each(KINDS)('on %s each side sees the same bytes, in the same order, and the same ends', async (kind) => {
  await expectTransparent(kind, 100);
});

test('a fault of what looks at the traffic is told once, and the traffic goes on', async () => {
  using home = scratch();
  await using stage = await Stage.open({ path: join(home.path, 'far') });
  const faults: unknown[] = [];
  const fail = (): never => {
    throw new Error('a fault');
  };
  await using _ = await Relay.open({
    listen: { path: join(home.path, 'near') },
    upstream: () => ({ place: { path: join(home.path, 'far') } }),
    tap: { opened: () => {}, bytes: fail, ended: fail, refused: fail },
    faulty: (error) => faults.push(error),
  });
  const saw = await stage.play(
    [
      { who: 'client', what: 'send', bytes: Buffer.from('one') },
      { who: 'server', what: 'send', bytes: Buffer.from('two') },
    ],
    { path: join(home.path, 'near') },
  );
  expect(Buffer.from(saw.client.bytes, 'base64').toString()).toBe('two');
  expect(faults).toHaveLength(1);
});
