/** `--image IMAGE` as a device: the folder of its socket mounted, or its port mapped. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../common/usage-error.ts';
import type { ImageOptions } from '../options.ts';
import { accepts } from '../transports/reach.ts';
import { type ContainerPlan, runContainer } from './docker.ts';
import type { Started, StartOptions } from './started.ts';

/** Where an image is expected to put its socket unless told otherwise. */
export const DEFAULT_IMAGE_SOCKET = '/run/muster/agent.sock';

export async function startDeviceImage(options: StartOptions & { image: ImageOptions }): Promise<Started> {
  const { image } = options;
  const plan: ContainerPlan = {
    ...options,
    image: image.name,
    port: image.port,
    args: image.args,
    user: image.user,
    env: image.env,
  };
  return image.port === undefined ? onSocket(plan, image) : onPort(plan);
}

async function onSocket(plan: ContainerPlan, image: ImageOptions): Promise<Started> {
  const inside = image.socket ?? DEFAULT_IMAGE_SOCKET;
  if (image.control !== undefined && dirname(image.control) !== dirname(inside)) {
    throw new UsageError(`--control ${image.control}: must be in the folder of the image's socket, ${dirname(inside)}`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'));
  const socket = join(folder, basename(inside));
  const forget = (): void => rmSync(folder, { recursive: true, force: true });
  let container: Awaited<ReturnType<typeof runContainer>>;
  try {
    container = await runContainer({ ...plan, mounts: [{ source: folder, target: dirname(inside) }] });
  } catch (error) {
    forget();
    throw error;
  }
  const close = async (): Promise<void> => {
    await container.remove().finally(forget);
  };
  const serving = (): Promise<void> => container.until(`it served ${inside}`, () => accepts({ path: socket }));
  try {
    await serving();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'image',
    address: { socket },
    ...(image.control === undefined ? {} : { control: join(folder, basename(image.control)) }),
    restart: {
      stop: (signal) => container.kill(signal),
      start: async () => {
        await container.start();
        await serving();
      },
    },
    ...(container.digest === undefined ? {} : { digest: container.digest }),
    diagnostics: () => container.logs(),
    close,
  };
}

/** Also how a platform is started. A mapped port changes when a container is started again, so there is no restart. */
export async function onPort(plan: ContainerPlan): Promise<Started> {
  const container = await runContainer(plan);
  const place = { host: container.host(), port: container.mappedPort() };
  try {
    await container.until(`it served port ${plan.port}`, () => accepts(place));
  } catch (error) {
    await container.remove();
    throw error;
  }
  return {
    kind: 'image',
    address: { url: `http://${place.host}:${place.port}` },
    ...(container.digest === undefined ? {} : { digest: container.digest }),
    diagnostics: () => container.logs(),
    close: () => container.remove(),
  };
}
