/** A syncer between a platform and a device in memory, where a test can make any operation fail. */
import { ApiError } from '../../../common/platform-http.ts';
import { MemoryPlatform } from '../../../platform/agent/testing/memory-platform.ts';
import { PlatformError } from '../../../platform/ports.ts';
import { type DeploymentSource, Syncer } from '../sync.ts';
import { ManualTime } from './manual-time.ts';
import { MemoryDevice } from './memory-device.ts';

export type Operation = 'list' | 'contents' | 'report';

/** `state.trouble` gives the error with which an operation fails, before it takes effect or after. */
export function syncSetup() {
  const time = new ManualTime();
  const platform = new MemoryPlatform(time);
  const { id } = platform.provision(platform.provisioningToken(), {
    name: 'r',
    agent_version: 'v1',
    public_key_pem: '',
    fingerprint: '',
  });
  const device = new MemoryDevice();
  const downloads: string[] = [];
  const state: { trouble: (operation: Operation, when: 'before' | 'after') => Error | undefined } = {
    trouble: () => undefined,
  };
  const attempt = async <T>(operation: Operation, act: () => T): Promise<T> => {
    const before = state.trouble(operation, 'before');
    if (before) throw before;
    try {
      const result = act();
      const after = state.trouble(operation, 'after');
      if (after) throw after;
      return result;
    } catch (error) {
      throw error instanceof PlatformError ? new ApiError(error.status, error.code, error.message) : error;
    }
  };
  const source: DeploymentSource = {
    list: () =>
      attempt('list', () => {
        const activity = ['queued', 'deployed'];
        return structuredClone(platform.deployments(id, { activity, limit: 1000, offset: 0 }).items);
      }),
    contents: (instances) =>
      attempt('contents', () =>
        instances.map((instance) => {
          downloads.push(instance.id);
          return platform.content(id, instance.id).data;
        }),
      ),
    report: (deploymentId, report) =>
      attempt('report', () => {
        platform.report(id, deploymentId, report);
      }),
  };
  const never = new AbortController().signal;
  const restarted = () => new Syncer(device, source, time);
  const syncer = restarted();
  return { time, platform, device, downloads, state, syncer, restarted, id, sync: () => syncer.run(never), never };
}
