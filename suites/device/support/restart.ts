/** Stopping and starting the agent. On loopback it may come back on another port, with another token. */
import { readFile } from 'node:fs/promises';
import { HttpClient } from '../../../harness/client/http.ts';
import { discoveryFile } from '../../../harness/contract/discovery.ts';
import type { Device } from './context.ts';

/** Where the agent is now, after a restart. */
export async function reached(context: Device): Promise<HttpClient> {
  const { transport, http } = context;
  if (transport.kind !== 'loopback') return http;
  const found: unknown = JSON.parse(await readFile(transport.discovery, 'utf8'));
  if (!discoveryFile.is(found)) return context.blocked('after a restart the discovery file names no port and token');
  http.recorder.redactor.add(found.token);
  return new HttpClient({
    endpoint: { origin: `http://127.0.0.1:${found.port}` },
    basePath: http.basePath,
    headers: { authorization: `Bearer ${found.token}` },
    recorder: http.recorder,
    timeoutMs: context.patienceMs,
    signal: context.signal,
  });
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
  return reached(context);
}
