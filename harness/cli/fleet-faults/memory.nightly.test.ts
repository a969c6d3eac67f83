import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { useFleetRuns } from '../testing/muster.ts';

const MEMORY = '/sys/fs/cgroup/memory';
const fleets = useFleetRuns();

/** Control group of 90 MiB, enough for the main process but not for a worker. */
const GROUP = join(MEMORY, `muster-test-${process.pid}`);

it('a fleet names the container’s memory limit when it kills a worker', async (context) => {
  if (process.getuid?.() !== 0 || !existsSync(join(MEMORY, 'cgroup.procs'))) context.skip('needs root and cgroup v1');
  mkdirSync(GROUP);
  onTestFinished(() => rmdirSync(GROUP));
  writeFileSync(join(GROUP, 'memory.limit_in_bytes'), String(90 * 2 ** 20));
  const words = fleets.words('  - { do: hold, for: 5s }\n', { platform: undefined, robots: '1000', uplink: 'none' });
  const fleet = fleets.start([...words, '--force']);
  // Workers inherit the group of the main process.
  writeFileSync(join(GROUP, 'cgroup.procs'), String(fleet.child.pid ?? 0));
  const { code, stdout } = await fleet.ended;
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /worker 1 is lost: .* ended: SIGKILL; likely cause: the memory limit of this container \(cgroup\), 90 MiB/,
  );
  expect(code).toBe(2);
  expect(fleets.result()).toMatchObject({ complete: false, outcome: 'INCOMPLETE' });
});
