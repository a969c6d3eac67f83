/** Section 2.2: how a device treats failed and archived deployments. */
import { pollWithin } from '../../harness/common/waiting.ts';
import type { Deployment } from '../../harness/contract/device-api.ts';
import { byOracle } from './oracle/checks.ts';
import { CURRENT_SHOWN, type Device, recordSuccess, recordTimeout, timeoutMs, type WaitKind } from './support/check.ts';
import { type ConfigFile, configFile, configRoot, findConfigFile } from './support/disk.ts';
import { ignoreRefusal } from './support/drive.ts';
import { currentDeployment } from './support/requests.ts';
import { section } from './support/section.ts';

export const { requirement, check, checks } = section({ section: '2.2', since: '2026-11-21' });

const failed = requirement({
  id: 'device.deployment.failed',
  level: 'MUST',
  clause: 'a fatal error occurred, the deployment is archived and, if it was deployed, removed from the device',
  text: 'A failed deployment ends archived and is no longer on the device; it may pass through removing.',
});
check(failed, { needs: ['drive'], premises: CURRENT_SHOWN }, async (t: Device) => {
  const files = [configFile('{"a":1}'), configFile('{"b":2}')];
  // Deploys first: a device that never shows a deployment must not pass.
  await deployShown(t);
  const made = await t.control.deploy({ error_status: 'failed', config_instances: files }).catch(ignoreRefusal);
  if (made?.error_status !== 'failed') return t.notApplicable('control cannot drive a deployment to failed');
  const { id, activity_status: answered } = made;
  // Only warns about a failed deployment that stays deployed, because control may have forced its state.
  if (answered === 'deployed' && (await activeState(t, id)) !== undefined) {
    const left = await happens(
      t,
      'the failed deployment to leave',
      async () => (await activeState(t, id)) === undefined,
      { within: t.patienceMs / 2 },
    );
    t.should(left, {
      expected: `the failed deployment ${id} archived, or not shown as current any more`,
      actual: `${await activeState(t, id)} ${t.patienceMs / 2000} s later, as control was asked for`,
    });
    if (!left) return;
  }
  await expectInactive(t, id, files, 'failed');
});

async function deployShown(t: Device, files: readonly ConfigFile[] = []): Promise<Deployment> {
  const made = await t.control.deploy({ config_instances: [...files] });
  const shown = (await currentDeployment(t))?.['id'];
  if (shown !== made.id) t.blocked(`the device does not show ${made.id}, which was deployed, as current`);
  return made;
}

const removed = requirement({
  id: 'device.deployment.removed',
  level: 'SHOULD',
  clause: 'Kept for history; cannot be deployed and is not active on the device.',
  text: 'A removed deployment is archived: it is not shown as deployed any more, and its config files are gone.',
});
check(removed, { needs: ['drive'], premises: [...CURRENT_SHOWN, 'device.events.written-first'] }, async (t: Device) => {
  const files = [configFile('{"c":3}')];
  const { id } = await deployShown(t, files);
  if (t.capabilities.has('files'))
    // Missing files only block this check; device.events.written-first reports them.
    for (const file of files)
      if ((await findConfigFile(t, configRoot(t), file)).length === 0)
        t.blocked(`${file.filepath} is not below config_root, though its deployment is deployed`);
  await t.control.remove(id);
  await expectInactive(t, id, files, 'removed');
  const after = await currentDeployment(t);
  t.observe('the current deployment after a removal', after === undefined ? '404' : String(after['activity_status']));
});

async function expectInactive(t: Device, id: string, files: readonly ConfigFile[], what: string): Promise<void> {
  let state: string | undefined;
  const since = performance.now();
  const inactive = await happens(t, `the ${what} deployment to leave`, async () => {
    state = await activeState(t, id);
    return state === undefined;
  });
  t.must(inactive, {
    expected: `the ${what} deployment ${id} archived, or not shown as current any more`,
    actual: `${state}, ${Math.round(performance.now() - since)} ms later`,
  });
  if (!t.capabilities.has('files')) return;
  const root = configRoot(t);
  let left: ConfigFile | undefined;
  const gone = async (): Promise<boolean> => {
    left = undefined;
    for (const file of files) if ((await findConfigFile(t, root, file)).length > 0) left ??= file;
    return left === undefined;
  };
  const clean = await happens(t, `the files of the ${what} deployment to go`, gone, { wait: 'files' });
  t.must(clean, {
    expected: `no config file of the ${what} deployment ${id} on the device`,
    actual: `${left?.filepath} is still there`,
  });
}

async function activeState(t: Device, id: string): Promise<string | undefined> {
  const body = await currentDeployment(t);
  if (body?.['id'] !== id || body['activity_status'] === 'archived') return undefined;
  return `activity_status ${body['activity_status']}, error_status ${body['error_status']}`;
}

async function happens(
  t: Device,
  what: string,
  happened: () => Promise<boolean> | boolean,
  { wait = 'state', within }: { wait?: WaitKind; within?: number } = {},
): Promise<boolean> {
  const times = { timeoutMs: within ?? timeoutMs(t, wait), firstPauseMs: 5, growth: 2, longestPauseMs: 100 };
  const started = performance.now();
  const found = await pollWithin(what, async () => (await happened()) || undefined, { ...times, signal: t.signal });
  if (found === true) recordSuccess(t, wait, performance.now() - started);
  else if (within === undefined) recordTimeout(t, wait);
  return found ?? false;
}

check(removed, ...byOracle(removed, { aspect: 'restart', needs: ['restart'], least: 'removals' }));
