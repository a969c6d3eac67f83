/** Stopping and starting the agent, which may come back at another address. */
import type { HttpClient } from '../../../harness/client/http.ts';
import type { Device } from './context.ts';

/** Points the context to where the agent is now, and gives back the client for it. */
export async function relocate(context: { -readonly [name in keyof Device]: Device[name] }): Promise<HttpClient> {
  const { transport, http } = context;
  const moved = await transport.relocate(http.recorder.redactor);
  if (moved === transport) return http;
  context.transport = moved;
  context.http = moved.client(http.recorder).with({ timeoutMs: context.patienceMs, signal: context.signal });
  return context.http;
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
