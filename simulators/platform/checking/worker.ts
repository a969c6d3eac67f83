/** A thread that checks: one job at a time, `{job}` in, `{refused}` or `{failed}` out. */
import { parentPort } from 'node:worker_threads';
import type { CheckJob, Refused } from './job.ts';
import { check } from './rules.ts';

/** What a worker says: first that it is up, then one answer for each job. */
export type WorkerMessage = { up: true } | { refused: Refused | undefined } | { failed: string };

const answer = (message: WorkerMessage): void => parentPort?.postMessage(message);

parentPort?.on('message', (job: CheckJob) => {
  try {
    answer({ refused: check(job) });
  } catch (error) {
    answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
// What every first check loads and compiles is no part of the first job.
check({ kind: 'schema', schema: { format: 'json', documents: [{ name: '', data: '{}' }] } });
answer({ up: true });
