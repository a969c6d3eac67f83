/** Images that cannot be had. The long tests build one and run it. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../client/redact.ts';
import { openDeviceTarget } from '../targets/open-device.ts';

const there = spawnSync('docker', ['info'], { stdio: 'ignore' }).status === 0;

test('an image that does not exist is reported', async (context) => {
  if (!there) context.skip('no Docker on this machine');
  await using target = await openDeviceTarget({
    redactor: new Redactor(),
    startMs: 60_000,
    image: 'muster-test-none:none',
  });
  expect(target.unreachable).toMatch(/--image muster-test-none:none: /);
});

test('without Docker nothing is decided, and the report says what to do instead', async (context) => {
  // Where Docker is, its socket is covered up for one process.
  const hidden = ['--mount', 'sh', '-c', 'mount --bind /dev/null /var/run/docker.sock && exec "$0" "$@"'];
  if (there && process.getuid?.() !== 0) context.skip('there is Docker, and only root can hide it');
  const command = [
    process.execPath,
    join(import.meta.dirname, './main.ts'),
    'check',
    'device',
    '--image',
    'muster-test:none',
  ];
  const [program = '', ...words] = there ? ['unshare', ...hidden, ...command] : command;
  const { status, stdout } = spawnSync(program, words, { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /--image needs Docker, and no container runtime answers .*--command LINE or --socket PATH/,
  );
  expect(status).toBe(2);
});
