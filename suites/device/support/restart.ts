/** Stopping and starting the agent. On loopback it may come back on another port, with another token. */
import { readFile } from 'node:fs/promises';
import { HttpClient } from '../../../harness/client/http.ts';
import { type DiscoveryFile, discoveryFile } from '../../../harness/contract/discovery.ts';
import type { Device } from './context.ts';

/** Points the context to where the agent is now, as the discovery file names it, and gives back the client for it. */
export async function relocate(context: { -readonly [name in keyof Device]: Device[name] }): Promise<HttpClient> {
  const { transport, http } = context;
  if (transport.kind !== 'loopback') return http;
  const found = await readDiscovery(transport.discovery);
  if (found === undefined || (found.port === transport.port && found.token === transport.token)) return http;
  http.recorder.redactor.add(found.token);
  context.transport = { ...transport, port: found.port, token: found.token };
  context.http = new HttpClient({
    endpoint: { origin: `http://127.0.0.1:${found.port}` },
    basePath: http.basePath,
    headers: { authorization: `Bearer ${found.token}` },
    recorder: http.recorder,
    timeoutMs: context.patienceMs,
    signal: context.signal,
  });
  return context.http;
}

/** Undefined when the file is no discovery file: that is for the check of its requirement to say. */
async function readDiscovery(path: string): Promise<DiscoveryFile | undefined> {
  try {
    const found: unknown = JSON.parse(await readFile(path, 'utf8'));
    return discoveryFile.is(found) ? found : undefined;
  } catch {
    return undefined;
  }
}

export async function restart(
  context: Device,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
  whileDown?: () => Promise<void>,
): Promise<HttpClient> {
  await context.control.stop(signal);
  try {
    await whileDown?.();
  } finally {
    await context.control.start();
  }
  return relocate(context);
}
