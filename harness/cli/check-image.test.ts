import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { Redactor } from '../common/redact.ts';
import { openDeviceTarget } from '../targets/open-device.ts';
import { MAIN, needsDocker, withoutDocker } from './testing/muster.ts';

test('an image that does not exist is reported', async (context) => {
  needsDocker(context);
  await using target = await openDeviceTarget({
    redactor: new Redactor(),
    startMs: 60_000,
    image: 'muster-test-none:none',
  });
  expect(target.unreachable).toMatch(/--image muster-test-none:none: /);
});

test.for<[string, string]>([
  ['device', '--command LINE or --socket PATH'],
  ['client', 'run the client without a container: --command LINE'],
])('check %s --image without Docker decides nothing and suggests an alternative', ([api, instead], context) => {
  const under = withoutDocker(context);
  const [program = '', ...words] = [...under, process.execPath, MAIN, 'check', api, '--image', 'muster-test:none'];
  const { status, stdout } = spawnSync(program, words, { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } });
  const text = stdout.replaceAll(/\s+/g, ' ');
  expect(text).toMatch(/--image needs Docker, and no container runtime answers /);
  expect(text).toContain(instead);
  expect(status).toBe(2);
});
