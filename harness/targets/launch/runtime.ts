/** Docker, for whatever is started from an image: how it is reached, and what it says of an image. */
import type { ContainerRuntimeClient } from 'testcontainers';
import { StartFailed } from './started.ts';

export type Docker = ContainerRuntimeClient['container']['dockerode'];
export type DockerContainer = ReturnType<Docker['getContainer']>;

/** Throws StartFailed where there is none. `instead`: what can be done without it, in words. */
export async function containerRuntime(
  instead: string,
): Promise<{ testcontainers: typeof import('testcontainers'); client: ContainerRuntimeClient }> {
  // Loaded when an image is asked for: it is the largest dependency.
  const testcontainers = await import('testcontainers');
  const client = await testcontainers.getContainerRuntimeClient().catch((error: unknown) => {
    throw new StartFailed(
      `--image needs Docker, and no container runtime answers (${reasonOf(error)}). Start Docker and try \`docker info\`, set DOCKER_HOST, or ${instead}`,
      { cause: error },
    );
  });
  return { testcontainers, client };
}

/** `sha256:…` of an image: in its registry when it came from one, otherwise of the image itself. */
export const digestOfImage = ({ RepoDigests, Id }: { RepoDigests?: string[]; Id: string }): string =>
  RepoDigests?.[0]?.split('@')[1] ?? Id;

export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
