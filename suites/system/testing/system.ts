/** A platform and a device whose connections can be cut, while its agent goes on running. For tests. */
import { KEY, startWorkspace } from '../../../harness/tools/matrix/simulated.ts';
import type { TestSystem } from './run.ts';

export async function startSystem(
  differences: Parameters<typeof startWorkspace>[0],
): Promise<TestSystem & AsyncDisposable> {
  const workspace = await startWorkspace(differences);
  const { platform, socket, control, deviceId, links } = workspace;
  return {
    ...{ platformUrl: platform.url, apiKey: KEY, socket, control, deviceId },
    offline: async () => {
      for (const link of links) link.cut();
    },
    online: async () => {
      for (const link of links) link.restore();
    },
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
  };
}
