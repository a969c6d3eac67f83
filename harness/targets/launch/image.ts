/**
 * `--image IMAGE`: a container with the folder of the agent's socket mounted, or with a port mapped.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { defined } from '../../common/defined.ts';
import { UsageError } from '../../common/usage.ts';
import { acceptsControl } from '../control/http-control.ts';
import type { ImageOptions } from '../fields.ts';
import { accepts } from '../transports/transport.ts';
import { unix } from '../transports/unix.ts';
import { url } from '../transports/url.ts';
import { type ContainerPlan, type RunningContainer, runContainer } from './container.ts';
import type { Started, StartOptions } from './started.ts';

/** Where an image is expected to put its socket unless the options name another path. */
const DEFAULT_SOCKET = '/run/muster/agent.sock';

/** Starts an agent, with its socket or with a mapped port. Throws StartFailed; UsageError for a control in another folder. */
export const startDeviceImage = (options: StartOptions, image: ImageOptions): Promise<Started> =>
  image.port === undefined ? startOnSocket(options, image) : startOnPort(options, image, image.port);

/** Starts a target with a mapped port, which changes when the container is started again: so there is no restart. */
export async function startOnPort(options: StartOptions, image: ImageOptions, port: number): Promise<Started> {
  const container = await runContainer({ ...planOf(options, image), port });
  const place = { host: container.host(), port: container.mappedPort() };
  try {
    await container.until(`served port ${port}`, () => accepts(place));
  } catch (error) {
    await container.remove();
    throw error;
  }
  return {
    kind: 'image',
    at: { transport: url, address: `http://${place.host}:${place.port}` },
    ran: { of: 'image', digest: container.digest },
    files: container.files,
    diagnostics: () => container.logs(),
    close: () => container.remove(),
  };
}

async function startOnSocket(options: StartOptions, image: ImageOptions): Promise<Started> {
  const inside = image.socket ?? DEFAULT_SOCKET;
  if (image.control !== undefined && dirname(image.control) !== dirname(inside)) {
    throw new UsageError(`--control ${image.control}: must be in the folder of the image's socket, ${dirname(inside)}`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'));
  const socket = join(folder, basename(inside));
  const removeFolder = (): void => rmSync(folder, { recursive: true, force: true });
  let container: RunningContainer;
  try {
    container = await runContainer({
      ...planOf(options, image),
      mounts: [{ source: folder, target: dirname(inside) }],
    });
  } catch (error) {
    removeFolder();
    throw error;
  }
  const close = async (): Promise<void> => {
    await container.remove().finally(removeFolder);
  };
  const control = image.control === undefined ? undefined : join(folder, basename(image.control));
  const untilServing = async (signal?: AbortSignal): Promise<void> => {
    await container.until(`served ${inside}`, () => unix.accepts(socket), signal);
    if (control !== undefined)
      await container.until(`served its control API at ${image.control}`, () => acceptsControl(control), signal);
  };
  try {
    await untilServing();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'image',
    at: { transport: unix, address: socket },
    ...defined({ control }),
    restart: {
      stop: (signal) => container.kill(signal),
      start: async (signal) => {
        await container.start();
        await untilServing(signal);
      },
      endedByItself: () => container.endedByItself(),
    },
    ran: { of: 'image', digest: container.digest },
    files: container.files,
    diagnostics: () => container.logs(),
    close,
  };
}

const planOf = (
  { timeoutMs, notify, signal }: StartOptions,
  { name, args, user, env }: ImageOptions,
): ContainerPlan => ({
  ...{ timeoutMs, notify, signal },
  ...{ image: name, args, user, env },
});
