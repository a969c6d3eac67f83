import { expect, test } from 'vitest';
import { serveControl } from '../../simulators/device/control/server.ts';
import { simulateDevice } from '../../simulators/device/index.ts';
import { muster, reportIn, typed, useFolder } from './testing/muster.ts';

const at = useFolder();
const SAID = 'the stream ended in order, with its last chunk, which a killed process cannot send';

test.concurrent.each([
  ['a kill', false],
  ['an end in order', true],
])('the crash check notes an orderly end on SIGKILL, but not a kill: %s', async (name, soft) => {
  const place = (file: string): string => at(`${name.replaceAll(' ', '-')}.${file}`);
  await using device = await simulateDevice({ dir: place('robot'), socket: place('sock') });
  const stop = device.stop.bind(device);
  if (soft) device.stop = () => stop('SIGTERM');
  await using _ = await serveControl(device, { path: place('control') });
  const target = typed`--socket ${place('sock')} --control ${place('control')}`;
  const words = typed`check device ${target} --only device.log.crash --fast --report json=${place('json')}`;
  const { code } = await muster(...words);
  expect(code).toBe(0);
  const crash = reportIn(place('json')).checks.find(({ id }) => id === 'device.log.crash');
  expect(crash?.outcome).toBe('pass');
  expect((crash?.observations ?? []).some((text) => text.includes(SAID))).toBe(soft);
});
