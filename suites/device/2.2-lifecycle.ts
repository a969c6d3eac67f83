/** Section 2.2: what failed and archived mean for the device. */

import type { Deployment } from '../../harness/contract/deployment.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { currentDeployment } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { type ConfigFile, configFile, configRoot, contentOf } from './support/files.ts';
import { eventually } from './support/patience.ts';

const failed = requirement({
  id: 'device.deployment.failed',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'A failed deployment ends archived and is no longer on the device; it may pass through removing.',
});

const removed = requirement({
  id: 'device.deployment.removed',
  level: 'SHOULD',
  section: '2.2',
  since: '2026-11-21',
  text: 'A removed deployment is archived: it is not shown as deployed any more, and its config files are gone.',
});

/** Drives a deployment to failed, as far as control can. */
async function fail(context: Device, files: ConfigFile[]): Promise<Deployment> {
  try {
    const made = await context.control.deploy({ error_status: 'failed', config_instances: files });
    if ((made as { error_status?: unknown }).error_status === 'failed') return made;
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
  }
  return context.notApplicable('control cannot drive a deployment to failed');
}

/** What the device shows of that deployment as long as it is active; undefined once it is archived or not shown. */
async function stillActive(context: Device, id: string): Promise<string | undefined> {
  const body = await currentDeployment(context);
  if (body?.['id'] !== id || body['activity_status'] === 'archived') return undefined;
  return `activity_status ${body['activity_status']}, error_status ${body['error_status']}`;
}

async function mustLeave(context: Device, id: string, files: ConfigFile[], what: string): Promise<void> {
  let last: string | undefined;
  const gone = await eventually(context, async () => {
    last = await stillActive(context, id);
    return last === undefined ? true : undefined;
  });
  context.must(gone === true, {
    expected: `the ${what} deployment ${id} archived, or not shown as current any more`,
    actual: `${last} ${context.patienceMs / 1000} s later`,
  });
  if (!context.capabilities.has('files')) return;
  const root = configRoot(context);
  let left: ConfigFile | undefined;
  const clean = await eventually(context, () => {
    left = files.find((file) => contentOf(root, file) !== undefined);
    return left === undefined ? true : undefined;
  });
  context.must(clean === true, {
    expected: `no config file of the ${what} deployment ${id} on the device`,
    actual: `${left?.filepath} is still there`,
  });
}

export default [
  check(failed, { needs: ['drive'], sharing: 'exclusive' }, async (context: Device) => {
    const files = [configFile(context, '{"a":1}'), configFile(context, '{"b":2}')];
    const { id, activity_status: answered } = await fail(context, files);
    // Control may set the state that it is asked for, whatever the agent would have made of the failure: then nobody is to blame.
    if (answered === 'deployed' && (await stillActive(context, id)) !== undefined) {
      const left = await eventually(context, async () =>
        (await stillActive(context, id)) === undefined ? true : undefined,
      );
      context.should(left === true, {
        expected: `the failed deployment ${id} archived, or not shown as current any more`,
        actual: `${await stillActive(context, id)} ${context.patienceMs / 1000} s later, as control was asked for`,
      });
      if (left === undefined) return;
    }
    await mustLeave(context, id, files, 'failed');
  }),

  check(removed, { needs: ['drive'], sharing: 'exclusive' }, async (context: Device) => {
    const files = [configFile(context, '{"c":3}')];
    const { id } = await context.control.deploy({ config_instances: files });
    await context.control.remove(id);
    await mustLeave(context, id, files, 'removed');
    const after = await currentDeployment(context);
    context.note(`after a removal the current deployment is ${after === undefined ? '404' : after['activity_status']}`);
  }),
];
