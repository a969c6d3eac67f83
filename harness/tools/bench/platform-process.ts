/** A server of the platform bench, in a process of its own: Muster's platform, or the bare floor. Speaks over IPC. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { simulatePlatform } from '../../../simulators/platform/index.ts';

export interface StartPlatform {
  kind: 'platform';
  devices: number;
  key: string;
}
/** Answers every request with a body of that many bytes. */
export interface StartFloor {
  kind: 'floor';
  bytes: number;
}
export type Instruction = StartPlatform | StartFloor | { kind: 'memory' };
export type Answer = { port: number; startMs: number } | { rss: number };

const answer = (message: Answer): void => void process.send?.(message);

process.on('message', async (instruction: Instruction): Promise<void> => {
  const start = performance.now();
  if (instruction.kind === 'memory') return answer({ rss: process.memoryUsage().rss });
  if (instruction.kind === 'platform') {
    const { devices, key } = instruction;
    const platform = await simulatePlatform({ devices, seed: 1, mqtt: false, keys: [{ key, scopes: 'all' }] });
    return answer({ port: Number(new URL(platform.url).port), startMs: performance.now() - start });
  }
  const body = 'x'.repeat(instruction.bytes);
  const headers = { 'content-type': 'application/json', 'content-length': instruction.bytes };
  const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
  server.listen(0, '127.0.0.1', () =>
    answer({ port: (server.address() as AddressInfo).port, startMs: performance.now() - start }),
  );
});
