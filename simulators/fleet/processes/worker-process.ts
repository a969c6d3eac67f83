import { flushCompileCache } from 'node:module';
import { RobotWorker } from '../worker/robot-worker.ts';
import type { WorkerCall, WorkerNotice } from '../worker/worker.ts';
import { ALIVE_EVERY_MS, type Call, type Reply, SIGN_OF_LIFE } from './workers.ts';

let worker: RobotWorker | undefined;

function send(message: Reply | WorkerNotice | typeof SIGN_OF_LIFE): void {
  if (process.connected) process.send?.(message, () => {});
}

function resultOf({ method, args }: WorkerCall): Promise<unknown> | undefined {
  if (method === 'configure') worker = new RobotWorker(args[0], send);
  if (worker === undefined) throw new Error('this worker has no configuration');
  switch (method) {
    case 'configure':
      return undefined;
    case 'runCanary':
      return worker.runCanary(...args);
    case 'prepare':
      return worker.prepare();
    case 'runPhase':
      return worker.runPhase(...args);
    case 'soFar':
      return worker.soFar();
    case 'grow':
      return worker.grow(...args);
    case 'finish':
      return worker.finish();
    case 'snapshot':
      return worker.snapshot();
    case 'memory':
      return worker.memory();
    case 'stop':
      return worker.stop(...args);
  }
}

async function answer(asked: Call): Promise<void> {
  try {
    send({ reply: asked.call, result: await resultOf(asked) });
    if (asked.method === 'prepare') flushCompileCache();
  } catch (error) {
    send({ reply: asked.call, error: error instanceof Error ? error.message : String(error) });
  }
}

send(SIGN_OF_LIFE);
setInterval(send, ALIVE_EVERY_MS, SIGN_OF_LIFE).unref();
process.on('message', (message) => void answer(message as Call));
// Removes the robots' files, because a killed coordinator cannot.
process.on('disconnect', async () => {
  await worker?.stop('abandon').catch(() => {});
  worker?.removeFiles();
  process.exit();
});
// Ignores interrupts, which a terminal sends to every process; only the coordinator reacts.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
// Ends at the next turn of the event loop, so that no file is half written.
process.on('SIGUSR2', () => process.exit());
