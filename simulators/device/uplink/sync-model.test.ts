import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError, NetworkError } from '../../common/platform-http.ts';
import { DeployError } from '../ports.ts';
import { type Operation, syncSetup } from './testing/sync-setup.ts';

describe('after any trouble', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ kind: 'deploy' as const }) },
    fc.constant({ kind: 'archive' as const }),
    fc.constant({ kind: 'restart' as const }),
    fc.record({
      kind: fc.constant('sync' as const),
      operation: fc.constantFrom<Operation>('list', 'contents', 'report'),
      when: fc.constantFrom('before' as const, 'after' as const),
      error: fc.constantFrom<'none' | 'network' | 'server'>('none', 'network', 'server'),
      /** How the device takes a deployment. */
      device: fc.constantFrom<'takes' | 'later' | 'never'>('takes', 'later', 'never'),
    }),
  );

  it('device and platform agree, each event happened once, and files are those of the current deployment', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const { platform, device, state, id, time, restarted, never } = syncSetup();
        let syncer = restarted();
        let latest: string | undefined;
        const run = async () => {
          await syncer.run(never).catch(() => {});
          time.advance(86_400_000);
        };
        for (const [index, each] of steps.entries()) {
          if (each.kind === 'deploy') latest = platform.deploy(id, { [`/${index}.json`]: String(index) }).id;
          else if (each.kind === 'archive' && latest) platform.archive(latest);
          else if (each.kind === 'restart') syncer = restarted();
          else if (each.kind === 'sync') {
            const error = each.error === 'network' ? new NetworkError('x') : new ApiError(503, 'x', 'x');
            const hit = (operation: Operation, when: string) => operation === each.operation && when === each.when;
            state.trouble = (...at) => (each.error !== 'none' && hit(...at) ? error : undefined);
            const refusal = new DeployError('x', each.device === 'later');
            device.beforeDeploy = () => (each.device === 'takes' ? undefined : refusal);
            await run();
          }
        }
        state.trouble = () => undefined;
        device.beforeDeploy = () => undefined;
        for (let pass = 0; pass < 3; pass++) await run();

        const stored = latest === undefined ? undefined : platform.stored(latest);
        const current = stored?.target_status === 'deployed' && stored.error_status === 'none' ? [stored.id] : [];
        expect(device.active().map(({ id: active }) => active)).toEqual(current);
        expect([...device.files.keys()]).toEqual(current.length ? [stored?.config_instances?.[0]?.filepath] : []);
        expect(new Set(device.events).size).toBe(device.events.length);
        for (const { id: each, activity_status } of platform.deployments(id, { activity: [], limit: 99, offset: 0 })
          .items) {
          expect(activity_status).toBe(current.includes(each) ? 'deployed' : 'archived');
        }
      }),
      { numRuns: 1000 },
    );
  });
});
